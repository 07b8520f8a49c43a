"""Sends the notices that jobs' statuses say are pending, apart from all passes, and keeps what became of them for the next pass.

What is in memory is only a copy: after a restart, the first pass over each job hands its pending notices in again.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import field

from nestor.api.class_choice import find_class_name
from nestor.api.endpoints import SecretKey
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.notices import Sink
from nestor.kube import ApiError, RetryLater, WorkQueue, kinds
from nestor.objects import Object, status_of
from nestor.operator.notices import post
from nestor.operator.notices.due import DELIVERED, PENDING, UNDELIVERED, Address, Report, find_sinks, list_pending, update_notices
from nestor.operator.notices.event import Letter, build_request, write_letter
from nestor.operator.world.context import Context
from nestor.times import seconds_since
from nestor.values import dataclass

log = logging.getLogger(__name__)

AT_ONCE = 4
"""Notices on their way to one sink: one that is slow holds up no other."""
WORKERS = 64 * AT_ONCE
"""Enough for more sinks than there are, should all be slow: a worker that waits costs next to nothing."""
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
ATTEMPTS_WHEN_GONE = 5
"""How often a notice about a job that is deleted is tried: users can make many of them."""

Send = Callable[[post.Request], Awaitable[None]]


@dataclasses.dataclass(frozen=True, order=True)
class Key:
    """The notices about one job to one sink: they are sent one after the other."""

    class_name: str
    sink: str
    uid: str

    @property
    def lane(self) -> tuple[str, str]:
        """The sink itself: names are of one class."""
        return self.class_name, self.sink


@dataclass
class _Box:
    """What one sink is to be told of one job."""

    namespace: str
    name: str
    letters: dict[str, Letter] = field(default_factory=dict)
    """By type, in the order in which they came to be: a later one of the same type replaces the earlier."""
    failures: int = 0


class Outbox:
    """The notices of all jobs."""

    def __init__(self, context: Context, send: Send = post.post) -> None:
        self._context = context
        self._send = send
        self._boxes: dict[Key, _Box] = {}
        self._reports: dict[str, dict[Address, Report]] = {}
        """What no pass has written down yet, by the job's UID."""
        self._sending: Counter[tuple[str, str]] = Counter()
        self._call: Callable[[str, str], None] = lambda _namespace, _name: None
        self.queue: WorkQueue[Key] = WorkQueue(self._work, workers=WORKERS, name="notices", lane_of=lambda key: key.lane)

    def on_report(self, handler: Callable[[str, str], None]) -> None:
        """Call `handler` with the namespace and name of each job whose status has to say something new."""
        self._call = handler

    async def run(self) -> None:
        """Send until cancelled."""
        await self.queue.run()

    def complete(self, job: Object, status: Object) -> Object:
        """A status that is to be written, with its notices."""
        uid, sinks = job["metadata"]["uid"], find_sinks(job, self._find_class(job | {"status": status}))
        notices = update_notices(status_of(job), status, uid, sinks, self._reports.get(uid, {}))
        rest = {key: value for key, value in status.items() if key != "notices"}
        return rest | {"notices": notices} if notices else rest

    def take(self, job: Object, status: Object) -> None:
        """Send what is pending in a status that is written."""
        uid = job["metadata"]["uid"]
        pending = list_pending(status.get("notices") or ())
        self._forget_settled(uid, pending)
        job = job | {"status": status}
        policy = self._find_class(job)
        if policy is None:
            return
        for notice in pending:
            report = self._reports.get(uid, {}).get((notice["sink"], notice["id"]))
            if report is None or report.state == PENDING:
                self._put(
                    Key(find_class_name(job), notice["sink"], uid), write_letter(job, status, notice, policy.notices.source), job
                )

    def hurry(self, class_name: str) -> None:
        """The class has changed, perhaps for the better: try now what waits for its pause to end."""
        for key in self._boxes:
            if key.class_name == class_name:
                self.queue.add(key)

    def forget(self, uid: str) -> None:
        """The job is gone. What is on its way is still sent, but there is no status to tell about it."""
        self._reports.pop(uid, None)

    def _put(self, key: Key, letter: Letter, job: Object) -> None:
        """Have a letter sent, unless it is on its way already."""
        box = self._boxes.setdefault(key, _Box(job["metadata"]["namespace"], job["metadata"]["name"]))
        known = box.letters.pop(letter.type, None)
        if known is not None and known.id == letter.id:
            box.letters[letter.type] = known
            return
        box.letters[letter.type] = letter
        self.queue.add(key)

    def _forget_settled(self, uid: str, pending: list[Object]) -> None:
        """Reports that a status has taken up."""
        waiting = {(item["sink"], item["id"]) for item in pending}
        left = {address: report for address, report in self._reports.pop(uid, {}).items() if address in waiting}
        if left:
            self._reports[uid] = left

    async def _work(self, key: Key) -> float | None:
        """Send the oldest letter of a box. Tells the queue when to go on."""
        box, sink = self._boxes.get(key), self._find_sink(key)
        if box is None or sink is None or not box.letters:
            self._boxes.pop(key, None)
            return None
        letter = next(iter(box.letters.values()))
        if self._sending[key.lane] >= AT_ONCE:
            raise RetryLater(random.uniform(1, 3))
        self._sending[key.lane] += 1
        try:
            await self._deliver(letter, sink)
        except post.Undelivered as failure:
            return self._fail(key, box, letter, sink, failure)
        finally:
            self._sending[key.lane] -= 1
        log.info("notice %s delivered to sink '%s' of class '%s'", letter.id, key.sink, key.class_name)
        return self._settle(key, box, letter, Report(DELIVERED))

    async def _deliver(self, letter: Letter, sink: Sink) -> None:
        message = build_request(letter, sink)
        token, authorities = await self._read(sink.token_ref), await self._read(sink.ca_ref)
        await self._send(post.Request(sink.url, message.headers, message.body, token, authorities, sink.timeout_seconds))

    async def _read(self, ref: SecretKey | None) -> str:
        """A key of a Secret; empty if none is named. Raises `post.Undelivered`."""
        if ref is None:
            return ""
        try:
            secret = await self._context.api.find(kinds.SECRET, ref.name, self._context.settings.namespace)
            return base64.b64decode(((secret or {}).get("data") or {})[ref.key], validate=True).decode().strip()
        except (ApiError, KeyError, binascii.Error, UnicodeDecodeError) as error:
            details = f"key '{ref.key}' of Secret '{ref.name}': {error!r}"
            raise post.Undelivered("its credentials cannot be read", details=details) from error

    def _fail(self, key: Key, box: _Box, letter: Letter, sink: Sink, failure: post.Undelivered) -> float | None:
        """Try again after a pause, or give up."""
        box.failures += 1
        left = sink.give_up_after_seconds - seconds_since(letter.time)
        is_lost = failure.is_final or left <= 0 or (box.failures >= ATTEMPTS_WHEN_GONE and not self._is_there(key, box))
        log.warning(
            "notice %s to sink '%s' of class '%s' %s: %s%s",
            letter.id,
            key.sink,
            key.class_name,
            "is given up" if is_lost else f"failed ({box.failures} in a row)",
            failure.problem,
            f" ({failure.details})" if failure.details else "",
        )
        if is_lost:
            return self._settle(key, box, letter, Report(UNDELIVERED, failure.problem))
        self._report(key, box, letter, Report(PENDING, failure.problem))
        return min(find_pause(box.failures), max(left, FIRST_PAUSE_SECONDS))

    def _settle(self, key: Key, box: _Box, letter: Letter, report: Report) -> float | None:
        """Done with one letter; on to the next."""
        if box.letters.get(letter.type) is letter:
            del box.letters[letter.type]
        box.failures = 0
        self._report(key, box, letter, report)
        if box.letters:
            return 0.0
        self._boxes.pop(key, None)
        return None

    def _report(self, key: Key, box: _Box, letter: Letter, report: Report) -> None:
        """Have a pass write it down, if it is news and there is a status to write."""
        known = self._reports.get(key.uid, {})
        if known.get((key.sink, letter.id)) == report or not self._is_there(key, box):
            return
        self._reports[key.uid] = known | {(key.sink, letter.id): report}
        self._call(box.namespace, box.name)

    def _is_there(self, key: Key, box: _Box) -> bool:
        job = self._context.cache.jobs.get(box.name, box.namespace)
        return job is not None and job["metadata"].get("uid") == key.uid

    def _find_class(self, job: Object) -> NestedClassSpec | None:
        return self._context.classes.all().get(find_class_name(job))

    def _find_sink(self, key: Key) -> Sink | None:
        policy = self._context.classes.all().get(key.class_name)
        return next((sink for sink in policy.notices.sinks if sink.name == key.sink), None) if policy else None


def find_pause(failures: int) -> float:
    """Seconds before the next attempt: 1, 2, 4 … 300, give or take a fifth."""
    pause: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 10))
    return pause * random.uniform(0.8, 1.2)

"""Which notices a job owes the sinks of its class, what they say, and how they are sent.

A notice comes to be in the write of the status that brings the condition that it tells of: none is lost with the operator, and
a new sink is not told of what was before. After a restart, the first pass over each job hands its own in again.
"""

import asyncio
import base64
import logging
import random
import socket
import ssl
from collections import defaultdict
from collections.abc import Collection
from typing import Final

import aiohttp

from nestor.api import conditions, labels
from nestor.api.class_choice import find_class_name
from nestor.api.contracts import addresses
from nestor.api.job_status import MESSAGE_LIMIT, NoticeType
from nestor.api.nestedclass import Sink
from nestor.api.objects import Object, status_of
from nestor.api.times import seconds_since
from nestor.kube import ApiError, Change, RetryLater, WorkQueue, kinds
from nestor.operator.guest import Guest
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)

TIMEOUT_SECONDS, GIVE_UP_SECONDS = 10.0, 3600.0
AT_ONCE = 4
"""Requests to one sink: one that is slow holds up no other."""
WORKERS = 64 * AT_ONCE
"""Enough for more sinks than there are, should all be slow: a worker that waits costs next to nothing."""
LIMIT = 2000
"""Events for one sink that wait. Further ones wait in their jobs' statuses until the next pass over these."""

Key = tuple[str, str, str]
"""A class, the name of one of its sinks, and a job's UID. What one sink is told of one job is sent in order."""


class Outbox(Guest):
    """The notices of all jobs. Whoever writes a status has it completed before, and taken afterwards."""

    queue: WorkQueue[Key]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._events: dict[Key, dict[str, Object]] = {}
        """By ID, in the order in which they came to be."""
        self._settled: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        """Sinks and IDs of what no status leaves out yet, by the job's UID."""
        self._gates: defaultdict[tuple[str, ...], asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        self.queue = WorkQueue(self._work, workers=WORKERS, name="notices", first_delay=1)
        context.cache.jobs.on_change(self._drop_gone)

    async def run(self) -> None:
        await self.queue.run()

    def complete(self, job: Object, status: Object) -> Object:
        uid, sinks = job["metadata"]["uid"], self._find_sinks(find_class_name(job | {"status": status}))
        found = status | {"notices": update_notices(status_of(job), status, uid, sinks, self._settled.get(uid, ()))}
        return {key: value for key, value in found.items() if value or key != "notices"}

    def take(self, job: Object, status: Object) -> None:
        """Send what is due by a status that is written, unless it is on its way or settled already."""
        uid, job = job["metadata"]["uid"], job | {"status": status}
        settled = self._settled.pop(uid, set())
        for notice in sorted(status.get("notices") or (), key=lambda item: str(item["time"])):
            for sink in notice["sinks"]:
                key, id_ = (find_class_name(job), sink, uid), notice["id"]
                waiting = sum(len(events) for other, events in self._events.items() if other[:2] == key[:2])
                if (sink, id_) in settled:
                    self._settled[uid].add((sink, id_))
                elif id_ not in self._events.get(key, {}) and waiting < LIMIT:
                    self._events.setdefault(key, {})[id_] = write_event(job, notice)
                    self.queue.add(key)

    def _drop_gone(self, change: Change) -> None:
        """Where a job is gone, there is no status to tell of what is still on its way."""
        if change.new is None:
            self._settled.pop(change.latest["metadata"]["uid"], None)

    def _find_sinks(self, class_name: str) -> dict[str, Sink] | None:
        policy = self._context.classes.all().get(class_name)
        return {sink.name: sink for sink in policy.notices} if policy else None

    async def _work(self, key: Key) -> None:
        """Send a sink all that it is to be told of a job. The queue tries again after what this raises."""
        sink, gate = (self._find_sinks(key[0]) or {}).get(key[1]), self._gates[key[:2]]
        if gate.locked():
            raise RetryLater(random.uniform(1, 3))
        async with gate:
            while sink and (waiting := self._events.get(key)):
                await self._deliver(sink, event := next(iter(waiting.values())))
                del waiting[event["id"]]
        self._events.pop(key, None)

    async def _deliver(self, sink: Sink, event: Object) -> None:
        """Deliver an event, or give it up; raises if it is to be tried again."""
        problem, about = None, event["data"]
        try:
            await self._send(sink, event)
        except (aiohttp.ClientError, ApiError, LookupError, OSError, ValueError) as error:
            if seconds_since(event["time"]) < GIVE_UP_SECONDS:
                raise ConnectionError(f"{event['type']} of {event['subject']}: {error!r}") from error
            problem = f"could not deliver notice '{event['type']}' to sink '{sink.name}'; the operator's log has the error"
            log.warning("%s: %s: %r", event["subject"], problem, error)
        job = self._context.cache.jobs.get(about["name"], about["namespace"])
        if job is None or job["metadata"].get("uid") != about["uid"]:
            return
        self._settled[about["uid"]].add((sink.name, event["id"]))
        self._context.wake(kinds.NESTED_APP_JOB, about["name"], about["namespace"])
        if problem:
            await self._context.events.post(about | {"metadata": job["metadata"]}, "Warning", "NoticeUndelivered", problem)

    async def _send(self, sink: Sink, event: Object) -> None:
        headers = {"User-Agent": "nestor-operator", "Content-Type": "application/cloudevents+json"}
        secret = await self._read(sink.secret_name) if sink.secret_name else {}
        if token := secret.get("token"):
            headers |= {name: token} if (name := secret.get("header")) else {"Authorization": f"Bearer {token}"}
        tls = ssl.create_default_context(cadata=ca) if (ca := secret.get("ca.crt")) else True
        connector = aiohttp.TCPConnector(ssl=tls, socket_factory=_open, use_dns_cache=False, force_close=True)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(TIMEOUT_SECONDS)) as session,
            session.post(sink.url, json=event, headers=headers, allow_redirects=False) as answer,
        ):
            if not 200 <= answer.status < 300:
                raise ValueError(f"it answers with status {answer.status}")

    async def _read(self, name: str) -> dict[str, str]:
        """A Secret of the operator's namespace."""
        secret = await self._context.api.get(kinds.SECRET, name, self._context.settings.namespace)
        return {key: base64.b64decode(value).decode().strip() for key, value in (secret.get("data") or {}).items()}


def _open(info: aiohttp.AddrInfoType) -> socket.socket:
    """Called with the address itself, whether a name or the URL says it."""
    family, kind, protocol, _, where = info
    if reason := addresses.explain_refusal(str(where[0]), own="the operator"):
        raise PermissionError(f"{where[0]} {reason}")
    return socket.socket(family, kind, protocol)


_TYPES: Final[dict[str, dict[str, NoticeType]]] = {
    conditions.READY: {"True": "Ready"},
    conditions.SUCCEEDED: {"True": "Succeeded", "False": "Failed"},
}
_API = f"{labels.GROUP}/v1alpha1"
_FACTS = {key: key for key in ("command", "url", "startTime", "completionTime", "restarts")} | {"namespace": "hostNamespace"}


def update_notices(
    old: Object, new: Object, uid: str, sinks: Collection[str] | None, settled: Collection[tuple[str, str]]
) -> list[Object]:
    """What sinks are still to be told with the status `new`, of each type the latest. `sinks`: the names of the class's, None if
    that is not known. `settled`: sinks, and IDs of what need not be sent again.
    """
    found = {item["type"]: item for item in old.get("notices") or ()}
    for kind, types in _TYPES.items():
        now, before = (conditions.find(status.get("conditions"), kind) or {} for status in (new, old))
        told, time = types.get(now.get("status", "")), now.get("lastTransitionTime", "")
        is_news = now.get("status") != before.get("status") and (kind == conditions.SUCCEEDED or conditions.is_reached(now))
        if told is not None and is_news:
            made = {"type": told, "id": f"{uid}.{told.lower()}.{time}", "time": time, "reason": now.get("reason", "")}
            found[told] = made | {"message": now.get("message", "")[:MESSAGE_LIMIT], "sinks": list(sinks or ())}
    for item in list(found.values()):
        left = [name for name in item["sinks"] if (sinks is None or name in sinks) and (name, item["id"]) not in settled]
        found[item["type"]] = item | {"sinks": left}
    return [item for item in found.values() if item["sinks"]]


def write_event(job: Object, notice: Object) -> Object:
    """The CloudEvent, as its JSON format has it. docs/notices.md says what is in it."""
    meta, status = job["metadata"], status_of(job)
    about = {"apiVersion": _API, "kind": "NestedAppJob"} | {key: meta[key] for key in ("namespace", "name", "uid")}
    said = {"className": find_class_name(job)} | {key: notice.get(key, "") for key in ("reason", "message")}
    return {
        "specversion": "1.0",
        "id": notice["id"],
        "source": f"/apis/{_API}/namespaces/{meta['namespace']}/nestedappjobs/{meta['name']}",
        "type": f"dev.nestor.job.{notice['type'].lower()}",
        "subject": f"{meta['namespace']}/{meta['name']}",
        "time": notice["time"],
        "datacontenttype": "application/json",
        "data": about | said | {name: status[key] for key, name in _FACTS.items() if key in status},
    }

"""Finds each job's application: in the job, its snapshot, the catalog, or, by a reader's pod, in the app image."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from nestor.api import conditions
from nestor.api.contracts.reader import OUTPUT_LIMIT
from nestor.api.names import Part
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.api.times import now, seconds_since
from nestor.cluster.home import Home
from nestor.cluster.provision import ForeignObject
from nestor.kube import ApiError, Forbidden, Invalid, kinds
from nestor.kube.tasks import together
from nestor.operator import oneshot
from nestor.operator.admission import reader_pod
from nestor.operator.admission.admit import Resolved, admit
from nestor.operator.admission.app_source import AppSource, find_newer, find_source
from nestor.operator.admission.checks import check_app, check_class, check_image
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.admission.identity import Denial, JobIdentity, Refused, identify
from nestor.operator.admission.secret_parameters import LONGEST_RETRY_SECONDS, RETRY_SECONDS, find_parameters
from nestor.operator.admission.turn import Turn
from nestor.operator.lifecycle.record import has_started
from nestor.operator.oneshot import Action
from nestor.operator.world.context import Context, read_refusal
from nestor.operator.world.ownership import find_cluster

LOG_RETRY_SECONDS = 2.0
REMEDY = "push a corrected image under another tag, or set `appDef` alongside `image`, and create a new job"
CATALOG_REMEDY = "an admin can push a corrected image under another tag, or set `appDef` alongside `image` in the NestedApp"


@dataclass
class AppResolver:
    _context: Context
    _inputs: CopiedInputs
    _ensure_home: Callable[[Home, NestedClassSpec], Awaitable[object]]
    """Creates a job's own namespace, which the reader's pod needs first."""
    _take_turn: Callable[[JobIdentity], Awaitable[Turn | Denial]]
    """Asks the guests whether it is the job's turn to run."""

    async def resolve(self, job: Object) -> Resolved | Denial:
        """The job with everything it refers to, or for what it waits. Raises `Refused`."""
        known = identify(job, self._context.classes.all(), self._context.classes.default)
        cache = self._context.cache
        if not has_started(job):
            check_class(job, cache.classes.get(known.class_name), known.policy.access)
        if known.spec.app_ref is not None and (known.is_rerun_due or not has_started(job)):
            check_app(job, cache.apps.get(known.spec.app_ref.name))
        # Where reading has begun, it goes on even if the job has lost its place by it.
        source = await self._find(known, job) if self._find_reader(known) is not None else None
        if isinstance(source, Denial):
            return source
        turn = await self._take_turn(known)
        if isinstance(turn, Denial):
            return turn
        source = source or await self._find(known, job)
        if isinstance(source, Denial):
            return source
        cluster = find_cluster(cache, known.home)
        try:
            given = await find_parameters(self._context.api, known)
            return admit(known, source, cluster, self._context.host, given, turn, self._context.settings.k3s_versions)
        except Refused as refused:
            if refused.denial.retry_seconds is None:
                raise
            # For what is in its Secret: anything else is seen when it changes. Later and later, for a Secret may be large.
            said = conditions.find(conditions_of(job), conditions.ADMITTED) or {}
            age = seconds_since(said["lastTransitionTime"]) if said.get("status") == "False" else 0
            return replace(refused.denial, retry_seconds=min(LONGEST_RETRY_SECONDS, max(RETRY_SECONDS, age)))

    async def _find(self, known: JobIdentity, job: Object) -> AppSource | Denial:
        own = known.spec.app
        if not known.spec.has_app or (own and own.app_def is not None):
            return find_source(known, ())
        kept = await self._inputs.find_snapshot(known, status_of(job).get("appDigest"))
        newer = find_newer(known, kept, self._context.cache.apps) if kept and known.is_rerun_due else None
        if newer is not None:
            check_image(known, newer)
        elif kept is not None:
            pod = self._find_reader(known)  # its work is done
            if pod is not None and not is_terminating(pod):
                await self._context.api.delete(
                    kinds.POD, pod["metadata"]["name"], known.home.namespace, uid=pod["metadata"]["uid"]
                )
            return kept
        source = newer or find_source(known, self._context.cache.apps)
        if source.app_def is not None:
            return source
        return self._inputs.recall(known.uid, source) or await self._read(known, source)

    async def _read(self, known: JobIdentity, source: AppSource) -> AppSource | Denial:
        """The image's AppDef, once a reader's pod has printed it; until then, for what it waits."""
        if known.spec.suspend:
            message = f"the AppDef will be read from image '{source.image}' when the job is resumed"
            return Denial(conditions.SUSPENDED, message, status="Unknown")
        check_image(known, source)
        pod = self._find_reader(known)
        action = reader_pod.decide_reader(pod, str(source.image), now())
        if action.kind == "Read" and pod is not None:
            read, action = await self._read_log(known, source, pod)
            if read is not None:
                return read
        if action.kind in ("Create", "Replace"):
            action = await self._make_pod(known, source, action, former=pod)
        denial = _deny(source, action)
        if denial.status == "False":
            return denial
        left = reader_pod.find_patience(pod, action, now())
        if left <= 0:
            return replace(denial, is_stuck=True)
        return replace(denial, retry_seconds=min(left, math.inf if action.delay is None else action.delay))

    async def _read_log(self, known: JobIdentity, source: AppSource, pod: Object) -> tuple[AppSource | None, Action]:
        meta = pod["metadata"]
        try:
            limit = OUTPUT_LIMIT + 2  # the newline, and one more byte that reveals a longer log
            output = await self._context.api.read_log(meta["name"], meta["namespace"], reader_pod.CONTAINER, limit=limit)
            found = replace(source, app_def=reader_pod.parse_output(output))
        except reader_pod.Unreadable as error:
            return None, reader_pod.decide_again(pod, f"the output of pod '{meta['name']}' is unusable: {error}", now())
        except ApiError as error:
            # The log is asked for again, then the pod is replaced: its node may be gone.
            why = f"the log of pod '{meta['name']}' cannot be read: {error.message}"
            action = reader_pod.decide_again(pod, why, now(), reader_pod.LOG_SECONDS)
            return None, replace(action, delay=min(LOG_RETRY_SECONDS, action.delay or LOG_RETRY_SECONDS))
        self._inputs.note(known.uid, found)
        return found, Action("Read")

    async def _make_pod(self, known: JobIdentity, source: AppSource, action: Action, *, former: Object | None) -> Action:
        """The action, with the time to look again. Raises `Refused` if the host refuses the pod or something it needs."""
        home = known.home
        try:
            await self._ensure_home(known.home, known.policy)
            await together(
                self._inputs.ensure_pull_secret(known, source),
                self._inputs.ensure_pull_secrets(known),
                self._context.provisioner.ensure_own_pulls(home),
                self._context.applier.ensure(kinds.NETWORK_POLICY, reader_pod.build_policy(home)),
            )
        except (ForeignObject, Forbidden, Invalid) as error:
            again = oneshot.NEW_NAMESPACE_SECONDS
            raise Refused(conditions.PROVISIONING_FAILED, read_refusal(error), retry_seconds=again) from error
        live = self._context.cache.find(kinds.NAMESPACE, home.namespace)
        age = seconds_since(live["metadata"]["creationTimestamp"]) if live else 0.0
        body = reader_pod.build_pod(source, home, self._context.settings, known.policy.images, action.attempt)
        made = await oneshot.make(self._context.api, body, former, is_patient=False, refused_since=age)
        if made.problem:
            message = f"{_describe(source)}: {made.problem}"
            raise Refused(conditions.PROVISIONING_FAILED, message, retry_seconds=made.retry_after)
        return replace(action, delay=made.retry_after)

    def _find_reader(self, known: JobIdentity) -> Object | None:
        return self._context.cache.find(kinds.POD, known.home.child(Part.READER), known.home.namespace)


def _deny(source: AppSource, action: Action) -> Denial:
    message = _describe(source) + (f": {action.message}" if action.message else "")
    reason = action.reason or conditions.READING_APPDEF
    if action.kind != "Refuse":
        return Denial(reason, message, retry_seconds=action.delay, status="Unknown")
    if source.origin.startswith("image "):
        return Denial(reason, f"{message}; {REMEDY}", retry_seconds=action.delay)
    return Denial(reason, f"{source.blame(message)}; {CATALOG_REMEDY}", retry_seconds=action.delay)


def _describe(source: AppSource) -> str:
    return f"reading the AppDef from image '{source.image}'"

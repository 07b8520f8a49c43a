"""Finds each job's application: in the job, in what was kept of it, in the catalogue, or by a reader's pod in the app image."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from nestor.api import conditions
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.contracts.reader import OUTPUT_LIMIT
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, RetryLater, kinds
from nestor.kube.tasks import together
from nestor.objects import Object, is_terminating
from nestor.operator import appreader, runner
from nestor.operator.appreader import Action
from nestor.operator.appsource import AppSource, find_source
from nestor.operator.context import Context
from nestor.operator.known import Known, Refused, identify
from nestor.operator.resolve import Resolved, admit
from nestor.times import now, seconds_since

log = logging.getLogger(__name__)

LOG_RETRY_SECONDS = 2.0
REMEDY = "push a corrected image under another tag, or give `appDef` beside `image`, in a new job"
CATALOGUE_REMEDY = "an admin can correct the image under another tag, or give `appDef` beside `image` in the NestedApp"


class Apps:
    """Resolves jobs. `ensure_namespace` makes a job's own namespace, which a reader's pod needs before anything else is made."""

    def __init__(self, context: Context, ensure_namespace: Callable[[Known], Awaitable[Object]]) -> None:
        self._context = context
        self._api = context.api
        self._pins = context.sources.pins
        self._ensure_namespace = ensure_namespace

    async def resolve(self, job: Object) -> Resolved:
        """The job with all that it names. Raises `Refused`; with status `Unknown` while its AppDef is being read."""
        known = identify(job, self._context.classes())
        source = await self._find(known)
        cluster = self._context.world.clusters.get(known.name, known.host_namespace)
        return admit(known, source, cluster, self._context.host)

    async def _find(self, known: Known) -> AppSource:
        if known.spec.app and known.spec.app.app_def is not None:
            return find_source(known, ())
        if pinned := await self._pins.find(known):
            await self._remove_reader(known)
            return pinned
        source = find_source(known, self._context.world.apps)
        if source.app_def is not None:
            return source
        return self._pins.recall(known.uid, source) or await self._read(known, source)

    async def _read(self, known: Known, source: AppSource) -> AppSource:
        """The AppDef of the image, once a reader's pod has printed it. Raises `Refused` until then."""
        if known.spec.suspend:
            said = f"the AppDef is read from image '{source.image}' when the job is resumed"
            raise Refused(conditions.SUSPENDED, said, status="Unknown")
        shape = self._build_shape(known)
        pod = self._find_reader(known)
        action = appreader.decide_reader(pod, str(source.image), now())
        if action.kind == "Read" and pod is not None:
            read, action = await self._read_log(known, source, pod)
            if read is not None:
                return read
        if action.kind in ("Create", "Replace"):
            await self._make_pod(known, source, shape, action, former=pod)
        raise _refuse(source, action)

    async def _read_log(self, known: Known, source: AppSource, pod: Object) -> tuple[AppSource | None, Action]:
        meta = pod["metadata"]
        try:
            limit = OUTPUT_LIMIT + 2  # the end of the line, and one that tells that there is more
            output = await self._api.read_log(meta["name"], meta["namespace"], appreader.CONTAINER, limit=limit)
            found = replace(source, app_def=appreader.parse_output(output))
        except appreader.Unreadable as error:
            return None, appreader.decide_again(pod, f"what pod '{meta['name']}' printed is not usable: {error}", now())
        except ApiError as error:
            action = appreader.decide_without_log(pod, error.message, now())
            return None, replace(action, delay=min(LOG_RETRY_SECONDS, action.delay or LOG_RETRY_SECONDS))
        self._pins.note(known.uid, found)
        return found, Action("Read")

    async def _make_pod(self, known: Known, source: AppSource, shape: Shape, action: Action, *, former: Object | None) -> None:
        """Raises `Refused` where the host refuses it."""
        try:
            await self._ensure_namespace(known)
            await together(
                self._context.sources.copy_pull_secret(known, source.image_pull_secret_name, shape),
                self._context.applier.ensure(kinds.NETWORK_POLICY, appreader.build_policy(shape)),
            )
        except (ForeignObject, Forbidden, Invalid) as error:
            _check_terminating(error)
            message = getattr(error, "message", str(error))
            raise Refused(conditions.PROVISIONING_FAILED, message, retry_seconds=runner.NEW_NAMESPACE_SECONDS) from error
        if former is not None:
            log.info("%s/%s: replacing the reader's pod, attempt %d", known.namespace, known.name, action.attempt)
            uid = former["metadata"]["uid"]
            await self._api.delete(kinds.POD, shape.child(appreader.PART), shape.namespace, uid=uid, grace_seconds=0)
        body = appreader.build_pod(source, shape, action.attempt)
        try:
            await self._api.create(kinds.POD, body)
        except Conflict as conflict:
            # The cache lags behind our own write, or the old pod is still on its way out.
            if not conflict.already_exists:
                raise
            raise RetryLater(1, "the reader's former pod is ending") from None
        except (Forbidden, Invalid) as error:
            _check_terminating(error)
            raise self._refuse_pod(known, source, body, error) from error

    def _refuse_pod(self, known: Known, source: AppSource, body: Object, error: Forbidden | Invalid) -> Refused:
        """In the first moments of a namespace its service account is missing, which is nobody's business."""
        live = self._context.world.find(kinds.NAMESPACE, known.host_namespace)
        age = seconds_since(live["metadata"]["creationTimestamp"]) if live else 0.0
        message, delay = runner.decide_refused(body, error, age)
        if message is None:
            return _refuse(source, Action("Wait", delay=delay))
        log.info("%s/%s: %s", known.namespace, known.name, message)
        return Refused(conditions.PROVISIONING_FAILED, f"{_describe(source)}: {message}", retry_seconds=delay)

    async def _remove_reader(self, known: Known) -> None:
        """It has done its work."""
        pod = self._find_reader(known)
        if pod is not None and not is_terminating(pod):
            await self._api.delete(kinds.POD, pod["metadata"]["name"], known.host_namespace, uid=pod["metadata"]["uid"])

    def _find_reader(self, known: Known) -> Object | None:
        return self._context.world.find(kinds.POD, self._build_shape(known).child(appreader.PART), known.host_namespace)

    def _build_shape(self, known: Known) -> Shape:
        """Names and labels of the job's objects; of the nested cluster itself nothing is known yet."""
        return Shape(
            name=known.name,
            namespace=known.host_namespace,
            labels=known.labels,
            kubernetes_version="",
            image="",
            core_dns_image="",
            nestor_image=self._context.settings.image,
            host=self._context.host,
        )


def _refuse(source: AppSource, action: Action) -> Refused:
    """Why the job has to wait, or that its image has no AppDef."""
    said = _describe(source) + (f": {action.message}" if action.message else "")
    if action.kind != "Refuse":
        return Refused(action.reason, said, retry_seconds=action.delay, status="Unknown")
    if source.origin.startswith("image "):
        return Refused(action.reason, f"{said}; {REMEDY}", retry_seconds=action.delay)
    return Refused(action.reason, f"{source.blame(said)}; {CATALOGUE_REMEDY}", retry_seconds=action.delay)


def _describe(source: AppSource) -> str:
    return f"reading the AppDef from image '{source.image}'"


def _check_terminating(error: Exception) -> None:
    if isinstance(error, Forbidden) and error.is_terminating:
        raise RetryLater(1, error.message) from None

"""What every part of the operator needs: caches, classes, clients and settings, assembled once; and what every pass returns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import ValidationError

from nestor.api import labels
from nestor.api.appdef_versions import sort_versions
from nestor.api.class_choice import find_class_name, find_default
from nestor.api.images import complete
from nestor.api.names import host_name
from nestor.api.nestedclass import NestedClassSpec, resolve_class
from nestor.api.objects import Object, labels_of, spec_of, status_of
from nestor.cluster.exposure.routes import Route
from nestor.cluster.provision import ForeignObject, Provisioner
from nestor.cluster.pulls import OwnPulls
from nestor.cluster.shape import Host
from nestor.kube import Api, ApiError, Change, Forbidden, Informer, Invalid, Kind, RetryLater, kinds
from nestor.kube.applier import Applier
from nestor.kube.events import EventRecorder
from nestor.kube.index import Index
from nestor.kube.informer import Key
from nestor.operator.meters import Meters
from nestor.operator.settings import Settings
from nestor.operator.world.kept import find_fault
from nestor.operator.world.trim import OWN, TRIMS


class Cache:
    """All informers, each with what is read of its objects. Of others' kinds, they see objects with our label, and all Ingresses,
    because others claim hosts too. Of nodes and certificate requests, those of backends.
    """

    def __init__(self, api: Api, namespace: str = "nestor-system") -> None:
        """`namespace`: the operator's own."""
        own = {kind: Informer(api, kind, trim=TRIMS[kind]) for kind in OWN}
        self.jobs, self.clusters, self.classes, self.apps, self.backends = own.values()
        ours = f"{labels.MANAGED_BY}=nestor"
        watched = (kinds.POD, kinds.SERVICE, kinds.STATEFUL_SET, kinds.ENDPOINT_SLICE, kinds.PERSISTENT_VOLUME_CLAIM)
        self.informers = own | {kind: Informer(api, kind, labels=ours, trim=TRIMS[kind]) for kind in watched}
        # All of them: which ones there are decides whether a job's default host is its own.
        self.informers[kinds.NAMESPACE] = Informer(api, kinds.NAMESPACE, trim=TRIMS[kinds.NAMESPACE])
        self.informers[kinds.INGRESS] = Informer(api, kinds.INGRESS, trim=TRIMS[kinds.INGRESS])
        for kind in (kinds.NODE, kinds.CERTIFICATE_REQUEST):
            self.informers[kind] = Informer(api, kind, labels=labels.BACKEND, trim=TRIMS[kind])
        self.informers[kinds.DEPLOYMENT] = Informer(api, kinds.DEPLOYMENT, namespace, labels=ours, trim=TRIMS[kinds.DEPLOYMENT])
        self.exposing = {kinds.INGRESS: Index(self.informers[kinds.INGRESS], _namespace_of)}
        """By namespace, the objects by which hosts are claimed."""
        self.pods_by_namespace = Index(self.informers[kinds.POD], _namespace_of)
        self.slices_by_service = Index(self.informers[kinds.ENDPOINT_SLICE], _service_of)

    def add_exposing(self, informer: Informer) -> None:
        self.informers[informer.kind] = informer
        self.exposing[informer.kind] = Index(informer, _namespace_of)

    def find_exposing(self, namespace: str) -> list[tuple[Kind, Object]]:
        return [(kind, item) for kind, index in self.exposing.items() for item in index.all(namespace)]

    def find_service(self, route: Route, namespace: str) -> Object | None:
        """The Service that a route leads to, as it is in the job's namespace."""
        return self.find(kinds.SERVICE, host_name(route.target.service_name, route.target.service_namespace), namespace)

    def find(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        return self.informers[kind].get(name, namespace)


def _namespace_of(item: Object) -> str:
    return str(item["metadata"]["namespace"])


def _service_of(item: Object) -> Key | None:
    service = labels_of(item).get("kubernetes.io/service-name")
    return (item["metadata"]["namespace"], service) if service else None


log = logging.getLogger(__name__)


class Classes:
    def __init__(self, cache: Informer, versions: Iterable[str]) -> None:
        self._cache = cache
        self._versions = sort_versions(versions)
        self._parsed: dict[str, NestedClassSpec] = {}
        for where, item in cache.store.items():
            self._take(Change(where, None, item))
        cache.on_change(self._take, first=True)

    @property
    def default(self) -> str:
        """Name of the class of jobs that name none; there may be no such class."""
        return find_default(self._cache)

    def of(self, job: Object) -> NestedClassSpec | None:
        return self.all().get(find_class_name(job, self.default))

    def all(self) -> dict[str, NestedClassSpec]:
        """The classes by name. Do not modify them. One that does not match the schema (from an older CRD) is absent."""
        return self._parsed

    @staticmethod
    def concerns_jobs(change: Change) -> bool:
        """Whether a change of a class is more than news of its pool."""
        return _without_pool(change.old) != _without_pool(change.new)

    def _take(self, change: Change) -> None:
        _, name = change.key
        self._parsed.pop(name, None)
        if fault := find_fault(change.new):
            log.warning("NestedClass '%s' is ignored: %s", name, fault)
        elif change.new is not None:
            try:
                self._parsed[name] = resolve_class(spec_of(change.new), self._versions)
            except ValidationError as error:
                log.warning("NestedClass '%s' is invalid: %s", name, error)


def _without_pool(item: Object | None) -> Object | None:
    if item is None:
        return None
    meta = {key: value for key, value in item["metadata"].items() if key not in ("resourceVersion", "managedFields")}
    return item | {"metadata": meta, "status": {key: value for key, value in status_of(item).items() if key != "pool"}}


@dataclass(frozen=True)
class Result:
    """Every reconcile function returns one.

    Exceptions mean what they say: `RetryLater`, that something must be gone first; `Refused` and `ForeignObject`, that the user
    must act; any other error of the API, that the pass is tried again with growing delays.
    """

    retry_after: float | None = None
    """Seconds until the next pass, even without an event. None: only events trigger one."""
    problem: str | None = None
    """What is wrong, for the user."""
    error: Exception | None = None
    """What failed. The pass is retried with growing delays instead of after `retry_after`."""

    def within(self, *seconds: float | None) -> Result:
        """The same result, with the earliest of these times as the next look."""
        return replace(self, retry_after=min((item for item in (self.retry_after, *seconds) if item is not None), default=None))


def read_refusal(error: ForeignObject | Forbidden | Invalid) -> str:
    """What the host refuses, for the user. Raises `RetryLater` if it is only that the namespace is being deleted."""
    if isinstance(error, Forbidden) and error.is_terminating:
        raise RetryLater(1, error.message) from None
    return error.message if isinstance(error, ApiError) else str(error)


@dataclass
class Context:
    """One operator's clients, caches and settings. State that only one part needs is not here."""

    api: Api
    settings: Settings
    cache: Cache
    classes: Classes
    host: Host
    events: EventRecorder
    applier: Applier
    provisioner: Provisioner
    meters: Meters = field(default_factory=Meters)
    wake: Callable[[Kind, str, str], None] = lambda kind, name, namespace: None
    """Has a pass made over one of our objects."""

    async def apply_status(self, kind: Kind, obj: Object, status: Object, *, is_unchanged: bool = False) -> None:
        """Write our part of a status, unless the object was replaced; with `is_unchanged`, unless it is not as it is known."""
        known = ("name", "namespace", "uid", *(("resourceVersion",) if is_unchanged else ()))
        meta = {key: obj["metadata"][key] for key in known if key in obj["metadata"]}
        made = await self.api.apply(kind, {"metadata": meta, "status": status}, subresource="status")
        self.cache.informers[kind].put(made)

    async def post(self, kind: Kind, obj: Object, level: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """An event about an object, which need not say its kind."""
        await self.events.post({**obj, "apiVersion": kind.api_version, "kind": kind.name}, level, reason, message)

    @classmethod
    def create(cls, api: Api, settings: Settings, cache: Cache, host: Host) -> Context:
        applier = Applier(api, cache.informers)
        events = EventRecorder(api, "nestor-operator")
        classes = Classes(cache.classes, settings.k3s_versions)
        images = {settings.image, settings.image_with_tools, settings.core_dns_image, *settings.k3s_versions.values()}
        own = complete(settings.image).partition("/")[0] + "/"
        images = {image for image in images if complete(image).startswith(own)}
        pulls = OwnPulls(api, settings.namespace, settings.image_pull_secrets, images)
        return cls(api, settings, cache, classes, host, events, applier, Provisioner(applier, settings.lifetimes, pulls))

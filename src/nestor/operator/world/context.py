"""What all reconcilers of the operator share."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import ValidationError

from nestor import names
from nestor.api import conditions, labels
from nestor.api.nestedclass import ExposePolicy, NestedClassSpec
from nestor.cluster.provision import Provisioner
from nestor.cluster.shape import Host
from nestor.exposure.claim import Claim, hosts_of
from nestor.exposure.hosts import choose_host, is_default
from nestor.kube import Api, Kind, kinds
from nestor.kube.applier import Applier
from nestor.kube.events import EventRecorder
from nestor.objects import Object, conditions_of, labels_of, spec_of
from nestor.operator.admission.copied_inputs import Sources
from nestor.operator.settings import Settings
from nestor.operator.world.cache import World

log = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class Key:
    """What the work queue holds: a job, a cluster that a user made, or an entry of the catalogue."""

    kind: str
    namespace: str
    name: str


JOB, CLUSTER, APP = "NestedAppJob", "NestedCluster", "NestedApp"


@dataclass
class Context:
    """One operator's tools and knowledge."""

    api: Api
    settings: Settings
    world: World
    host: Host
    events: EventRecorder
    applier: Applier
    provisioner: Provisioner
    sources: Sources
    further_hosts: dict[str, frozenset[str]] = field(default_factory=dict)
    """By job UID: the hosts of its further targets, as its last pass found them."""
    _classes: dict[str, tuple[str, NestedClassSpec | None]] = field(default_factory=dict)

    @classmethod
    def create(cls, api: Api, settings: Settings, world: World, host: Host) -> Context:
        """Put the parts together."""
        applier = Applier(api, {**world.informers, kinds.NESTED_CLUSTER: world.clusters})
        events = EventRecorder(api, "nestor-operator")
        return cls(api, settings, world, host, events, applier, Provisioner(applier), Sources(applier, settings.namespace))

    def classes(self) -> dict[str, NestedClassSpec]:
        """The classes by name. One that does not fit its schema (of an older CRD) is as good as absent, and logged."""
        found = {}
        for item in self.world.classes:
            name, version = item["metadata"]["name"], item["metadata"].get("resourceVersion", "")
            if self._classes.get(name, ("", None))[0] != version or not version:
                self._classes[name] = (version, _parse_class(name, item))
            spec = self._classes[name][1]
            if spec is not None:
                found[name] = spec
        return found

    def host_of(self, job: Object) -> str | None:
        """The host that a job wants for its first target, if its class is there."""
        policy = self._policy_of(job)
        return _choose_host(job, policy) if policy else None

    def claims(self) -> Iterable[Claim]:
        """The hosts that admitted jobs want, and those that a job had before it was refused: its Ingresses stay."""
        for job in self.world.jobs:
            admitted = conditions.find(conditions_of(job), conditions.ADMITTED)
            is_refused = admitted is not None and admitted["status"] == "False"
            yield from (claim for claim in self.claims_of(job) if claim.is_held or not is_refused)

    def claims_of(self, job: Object) -> Iterable[Claim]:
        """The hosts that a job wants. Until its first pass here, of the further ones those that it has; and where its class
        gives it none for its first target, or is gone, what it still has.
        """
        meta, policy = job["metadata"], self._policy_of(job)
        first = _choose_host(job, policy) if policy else None
        held = self.held_hosts(names.job_namespace(meta["name"], meta["namespace"], meta["uid"]), meta["uid"])
        further = self.further_hosts.get(meta["uid"], held)
        for host in further | ({first} if first else held):
            is_own = host != first or (policy is not None and is_default(host, meta["name"], meta["namespace"], policy))
            created = meta.get("creationTimestamp", "")
            yield Claim(host, meta["name"], meta["namespace"], meta["uid"], created, host in held, is_own)

    def _policy_of(self, job: Object) -> ExposePolicy | None:
        """What the job's class says of hosts, if the class is there."""
        found = self.classes().get(spec_of(job).get("className", ""))
        return found.expose if found else None

    def held_hosts(self, home: str, job_uid: str) -> frozenset[str]:
        """The hosts of the Ingresses that a job has in its own namespace."""
        found = self.world.ingresses_by_namespace.all(home)
        own = [item for item in found if labels_of(item).get(labels.JOB_UID) == job_uid]
        return frozenset(host for item in own for host in hosts_of(item))


def _choose_host(job: Object, policy: ExposePolicy) -> str | None:
    meta, wanted = job["metadata"], (spec_of(job).get("expose") or {}).get("host")
    return choose_host(meta["name"], meta["namespace"], wanted, policy)


def _parse_class(name: str, item: Object) -> NestedClassSpec | None:
    try:
        return NestedClassSpec.model_validate(spec_of(item))
    except ValidationError as error:
        log.warning("NestedClass '%s' is not usable: %s", name, error)
        return None


async def ensure_finalizer(api: Api, kind: Kind, obj: Object) -> Object:
    """Our finalizer on the object; with its resource version, because lists of finalizers have many writers."""
    meta = obj["metadata"]
    if labels.FINALIZER in (meta.get("finalizers") or ()):
        return obj
    return await _set_finalizers(api, kind, obj, [*(meta.get("finalizers") or ()), labels.FINALIZER])


async def remove_finalizer(api: Api, kind: Kind, obj: Object) -> None:
    """Let the object go."""
    left = [item for item in obj["metadata"].get("finalizers") or () if item != labels.FINALIZER]
    await _set_finalizers(api, kind, obj, left)


async def _set_finalizers(api: Api, kind: Kind, obj: Object, finalizers: list[str]) -> Object:
    meta = obj["metadata"]
    patch = {"metadata": {"finalizers": finalizers, "resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}}
    return await api.patch(kind, meta["name"], meta["namespace"], patch)

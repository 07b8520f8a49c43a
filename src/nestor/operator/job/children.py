"""Makes and keeps the objects of one admitted job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nestor.api import labels
from nestor.api.nestedclass import ClusterPolicy
from nestor.api.policies import Persistence
from nestor.cluster import access, namespace, server
from nestor.cluster.provision import Addresses, ForeignObject
from nestor.cluster.shape import Shape
from nestor.exposure.routes import Route
from nestor.kube import Conflict, Kind, RetryLater, kinds
from nestor.kube.tasks import together
from nestor.objects import Object, is_terminating, labels_of, spec_of
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.identity import Known
from nestor.operator.job import runner_pod as runner
from nestor.operator.job.expose import Exposer
from nestor.operator.world.context import Context
from nestor.steps import Plan


@dataclass
class Made:
    """What a pass over the children found out."""

    addresses: Addresses
    routes: tuple[Route, ...] = ()
    """Where the targets are reached, or why they are not."""
    note: str | None = None


def build_shape(context: Context, resolved: Resolved) -> Shape:
    """The job's nested cluster."""
    policy = resolved.policy
    live = context.world.clusters.get(resolved.name, resolved.host_namespace)
    return Shape(
        name=resolved.name,
        namespace=resolved.host_namespace,
        labels=resolved.labels,
        kubernetes_version=resolved.version,
        image=resolved.image,
        core_dns_image=policy.cluster.core_dns_image,
        nestor_image=context.settings.image,
        host=context.host,
        resources=policy.cluster.resources,
        network=policy.network,
        exposed_from=tuple(policy.expose.from_),
        persistence=find_persistence(live, policy.cluster),
    )


def find_persistence(live: Object | None, policy: ClusterPolicy) -> Persistence | None:
    """By the NestedCluster once it is made: its StatefulSet cannot get or lose a volume any more, whatever the class says."""
    if live is None:
        return policy.persistence
    found = spec_of(live).get("persistence")
    return Persistence.model_validate(found) if found else None


class Children:
    """Everything is applied as soon as what it needs is there; the order below is the order of needs."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._exposer = Exposer(context)
        self._ensure = context.applier.ensure

    async def ensure(self, resolved: Resolved, shape: Shape, plan: Plan, *, is_stopped: bool = False) -> Made:
        """1. the namespace; 2. all that pods need; 3. what needs the Services' addresses; 4. the server's pod, the Ingresses."""
        context = self._context
        owner = await self.ensure_namespace(resolved)
        binding = access.build_nodes_binding(shape, shape.namespace, owner)
        addresses, tls, *_ = await together(
            context.provisioner.ensure_surroundings(shape, binding),
            context.sources.ensure_tls_secret(resolved, shape),
            self._ensure(kinds.NESTED_CLUSTER, build_cluster(resolved, shape, is_stopped=is_stopped)),
            self._ensure(kinds.CONFIG_MAP, runner.build_plan_config_map(shape, plan)),
            context.sources.ensure_templates(resolved, shape),
            context.sources.ensure_pull_secret(resolved, shape),
            context.sources.pins.ensure(resolved, shape),
            *self._ensure_limits(resolved, shape),
        )
        await context.provisioner.ensure_access(shape, addresses)
        note, routes, *_ = await together(
            self._ensure_kubeconfig(resolved, shape, addresses),
            self._exposer.ensure(resolved, shape, self._exposer.admit(resolved, tls)),
            context.provisioner.ensure_server(shape, addresses),
        )
        return Made(addresses, routes, note)

    async def ensure_namespace(self, resolved: Known) -> Object:
        """The job's own namespace; returns a reference to it. One that is not this job's is never adopted."""
        name = resolved.host_namespace
        body = namespace.build_namespace(name, resolved.labels, resolved.policy.namespace)
        live = self._context.world.find(kinds.NAMESPACE, name)
        if live is None:
            try:
                live = await self._context.api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", **body})
            except Conflict:
                live = await self._context.api.get(kinds.NAMESPACE, name)
        if labels_of(live).get(labels.JOB_UID) != resolved.uid:
            raise ForeignObject(f"Namespace '{name}' exists and is not this job's: delete it, or the job")
        self._forget_former(resolved, live["metadata"])
        if is_terminating(live):
            raise RetryLater(1, f"namespace {name} is being deleted")
        live = await self._ensure(kinds.NAMESPACE, body)
        return {"apiVersion": "v1", "kind": "Namespace", "name": name, "uid": live["metadata"]["uid"]}

    def _forget_former(self, resolved: Known, live: Object) -> None:
        """Somebody deleted the namespace: what is remembered of it is gone, and is to be made again in the next one."""
        applier, name = self._context.applier, resolved.host_namespace
        is_known = applier.enter(name, live["uid"])
        if live.get("deletionTimestamp"):
            applier.forget(name)
        elif is_known:
            return
        self._context.provisioner.forget(name, resolved.name)
        self._context.sources.forget_copies(resolved.uid)

    def _ensure_limits(self, resolved: Resolved, shape: Shape) -> list[Any]:
        """Quota and default resources; emptied when the class no longer sets them."""
        policy = resolved.policy.namespace
        own = [container["resources"] for container in _own_containers(shape)] + [runner.RESOURCES]
        quota, limits = namespace.build_quota(shape, policy, own), namespace.build_limit_range(shape, policy)
        pairs: tuple[tuple[Kind, Object | None, Object], ...]
        pairs = ((kinds.RESOURCE_QUOTA, quota, {"hard": None}), (kinds.LIMIT_RANGE, limits, {"limits": []}))
        empty = self._context.applier.ensure_emptied
        return [
            self._ensure(kind, body) if body else empty(kind, namespace.QUOTA_NAME, shape.namespace, nothing)
            for kind, body, nothing in pairs
        ]

    async def _ensure_kubeconfig(self, resolved: Resolved, shape: Shape, addresses: Addresses) -> str | None:
        """The admin's kubeconfig beside the job; returns why there is none, if so."""
        owner = {
            "apiVersion": kinds.NESTED_APP_JOB.api_version,
            "kind": kinds.NESTED_APP_JOB.name,
            "name": resolved.name,
            "uid": resolved.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }
        metadata = {
            "name": f"{resolved.name}-kubeconfig",
            "namespace": resolved.namespace,
            "labels": resolved.labels,
            "ownerReferences": [owner],
        }
        try:
            await self._context.provisioner.ensure_kubeconfig(shape, addresses, metadata, labels.JOB_UID)
        except ForeignObject as error:
            return f"its kubeconfig could not be written: {error}"
        return None


def _own_containers(shape: Shape) -> list[Object]:
    template = server.build_stateful_set(shape, "")["spec"]["template"]
    found: list[Object] = template["spec"]["containers"]
    return found


def build_cluster(resolved: Resolved, shape: Shape, *, is_stopped: bool) -> Object:
    """The NestedCluster: what the syncer is to do is in its spec."""
    spec: Object = {
        "className": resolved.spec.class_name,
        "kubernetesVersion": shape.kubernetes_version,
        "image": shape.image,
        "suspend": is_stopped,
    }
    wished = {
        "persistence": shape.persistence,
        "successPolicy": resolved.spec.success_policy,
        "failurePolicy": resolved.spec.failure_policy,
    }
    spec |= {key: value.model_dump(by_alias=True, exclude_none=True) for key, value in wished.items() if value}
    return {"metadata": shape.metadata(shape.name), "spec": spec}

"""NestedClusters that users made, without a job: the same nested cluster, in the user's own namespace."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from nestor import names
from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.policies import Persistence
from nestor.cluster import access
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import Api, Conflict, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.kube.tasks import together
from nestor.objects import Object, conditions_of, is_terminating, labels_of, owners_of, spec_of, status_of
from nestor.operator.admission.admit import Refused, choose_version, find_class
from nestor.operator.clusters import ownership
from nestor.operator.lifecycle.resting import end_pods
from nestor.operator.lifecycle.suspend import Rest, decide_rest
from nestor.operator.status.observe import find_stand
from nestor.operator.world.context import Context, ensure_finalizer, remove_finalizer
from nestor.times import timestamp


class ClusterReconciler:
    """Reconciles NestedClusters that carry no job's label; those of jobs are the jobs' children."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cleared: set[str] = set()
        self._resting: dict[str, float] = {}
        """Since when this process has seen that a cluster is to rest, by its UID."""

    async def reconcile(self, namespace: str, name: str) -> None:
        """One pass over one cluster."""
        cluster = self._context.world.clusters.get(name, namespace)
        if cluster is None:
            return
        if is_terminating(cluster):
            # Before the label is looked at: a cluster that got it after our finalizer could else never go.
            await self._finalize(cluster)
            return
        if labels.JOB in labels_of(cluster):
            return
        # A finalizer, because the binding to read nodes belongs to no namespace and is collected with nothing.
        cluster = await ensure_finalizer(self._context.api, kinds.NESTED_CLUSTER, cluster)
        rest = await self._find_rest(cluster)
        try:
            shape = replace(self._resolve(cluster), replicas=rest.replicas if rest else 1)
            await self._check_names(cluster, shape)
            note = await self._ensure(cluster, shape)
        except Refused as refused:
            await self._refuse(cluster, refused.reason, refused.message)
            raise RetryLater(RESYNC_SECONDS, refused.message) from None
        except (Forbidden, Invalid, ForeignObject) as error:
            message = getattr(error, "message", str(error))
            if isinstance(error, Forbidden) and error.is_terminating:
                raise RetryLater(RESYNC_SECONDS, message) from None
            await self._refuse(cluster, conditions.PROVISIONING_FAILED, message)
            raise
        said = ["class and version are good", note or "", f"suspended: {rest.message}" if rest else ""]
        message = "; ".join(text for text in said if text)
        admitted = Condition(conditions.ADMITTED, "True", conditions.ADMITTED_REASON, message)
        found = [admitted, *_stand_in(cluster, rest)]
        await report(self._context.api, cluster, found, None if note else f"{name}-kubeconfig")
        raise RetryLater(min(RESYNC_SECONDS, rest.delay if rest else math.inf), "resync")

    async def _refuse(self, cluster: Object, reason: str, message: str) -> None:
        await report(self._context.api, cluster, [Condition(conditions.ADMITTED, "False", reason, message)], None)

    async def _find_rest(self, cluster: Object) -> Rest | None:
        """How far a cluster that is to rest is with that; None for one that is not."""
        meta = cluster["metadata"]
        if not spec_of(cluster).get("suspend"):
            self._resting.pop(meta["uid"], None)
            return None
        seconds = time.monotonic() - self._resting.setdefault(meta["uid"], time.monotonic())
        rest = decide_rest(find_stand(self._context.world, meta["name"], meta["namespace"]), seconds)
        if rest.is_forced:
            await end_pods(self._context, meta["namespace"])
        return rest

    async def _check_names(self, cluster: Object, shape: Shape) -> None:
        """Nothing in the user's namespace is taken over. Raises `ForeignObject`; asked once per cluster and process."""
        uid = cluster["metadata"]["uid"]
        if senior := ownership.find_senior(cluster, self._context.world.clusters):
            raise ForeignObject(f"NestedCluster '{senior}' has this namespace: there may be one in a namespace")
        if uid in self._cleared:
            return
        if foreign := await ownership.find_foreign(self._context.api, shape):
            where = f"{foreign} in namespace '{shape.namespace}'"
            raise ForeignObject(f"{where} is not this cluster's: delete it, or give the cluster another name")
        self._cleared.add(uid)

    def _resolve(self, cluster: Object) -> Shape:
        spec, meta = NestedClusterSpec.model_validate(cluster["spec"]), cluster["metadata"]
        policy = find_class(spec.class_name, self._context.classes())
        live = self._find_live(cluster)
        running = _find_image(live) if live else None
        version, image = (
            (spec.kubernetes_version or "", running)
            if running
            else choose_version(spec.kubernetes_version, spec.class_name, policy.cluster)
        )
        owner = {
            "apiVersion": kinds.NESTED_CLUSTER.api_version,
            "kind": kinds.NESTED_CLUSTER.name,
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": False,
        }
        return Shape(
            name=meta["name"],
            namespace=meta["namespace"],
            labels={labels.MANAGED_BY: "nestor"},
            kubernetes_version=version,
            image=spec.image or image,
            core_dns_image=policy.cluster.core_dns_image,
            nestor_image=self._context.settings.image,
            host=self._context.host,
            resources=spec.resources or policy.cluster.resources,
            network=policy.network,
            exposed_from=tuple(policy.expose.from_),
            owner=owner,
            persistence=_find_persistence(live) if live else spec.persistence or policy.cluster.persistence,
        )

    def _find_live(self, cluster: Object) -> Object | None:
        """The cluster's StatefulSet, once it is made: a class that changes is for those who come after it."""
        meta = cluster["metadata"]
        live = self._context.world.find(kinds.STATEFUL_SET, names.child(meta["name"], "k3s"), meta["namespace"])
        return live if live is not None and _is_owned(live, meta["uid"]) else None

    def _check_claim(self, cluster: Object, shape: Shape) -> None:
        """A claim that an earlier cluster of this name has left holds data that none of our keys open; it is collected soon."""
        claim = self._context.world.find(kinds.PERSISTENT_VOLUME_CLAIM, shape.claim, shape.namespace)
        owners = [item["uid"] for item in (claim or {"metadata": {}})["metadata"].get("ownerReferences") or ()]
        live = self._find_live(cluster)
        if shape.persistence and claim is not None and (live is None or (owners and live["metadata"]["uid"] not in owners)):
            raise RetryLater(1, f"PersistentVolumeClaim '{shape.claim}' of an earlier cluster of this name is being collected")

    async def _ensure(self, cluster: Object, shape: Shape) -> str | None:
        provisioner = self._context.provisioner
        binding = access.build_nodes_binding(shape, _binding_name(cluster), None)
        self._check_claim(cluster, shape)
        addresses = await provisioner.ensure_surroundings(shape, binding)
        await provisioner.ensure_access(shape, addresses)
        metadata = shape.metadata(f"{shape.name}-kubeconfig")
        server = provisioner.ensure_server(shape, addresses)
        kubeconfig = provisioner.ensure_kubeconfig(shape, addresses, metadata, labels.CLUSTER)
        try:
            await together(server, kubeconfig)
        except ForeignObject as error:
            return f"its kubeconfig could not be written: {error}"
        return None

    async def _finalize(self, cluster: Object) -> None:
        """Everything in the namespace is owned by the cluster and goes with it; the binding is ours to delete."""
        meta = cluster["metadata"]
        if labels.FINALIZER not in (meta.get("finalizers") or ()):
            return
        await self._context.api.delete(kinds.CLUSTER_ROLE_BINDING, _binding_name(cluster))
        self._context.provisioner.forget(meta["namespace"], meta["name"])
        self._context.applier.forget(meta["namespace"])
        self._cleared.discard(meta["uid"])
        self._resting.pop(meta["uid"], None)
        try:
            await remove_finalizer(self._context.api, kinds.NESTED_CLUSTER, cluster)
        except NotFound:
            return


async def report(api: Api, cluster: Object, found: list[Condition], kubeconfig: str | None) -> None:
    """Our part of the status, by server-side apply: the rest of it is the syncer's.

    Raises `RetryLater` when `Ready` is to be said in the syncer's place, and the cluster has changed since it was read: that may
    have been the syncer's own word, which it says once.
    """
    status: Object = status_of(cluster)
    generation, ours = cluster["metadata"].get("generation", 0), {item.type for item in found}
    old = [item for item in status.get("conditions") or () if item["type"] in ours]
    merged = conditions.merge(old, found, generation, timestamp())
    if merged == old and status.get("kubeconfigSecretName") == kubeconfig:
        return
    body = {"conditions": merged} | ({"kubeconfigSecretName": kubeconfig} if kubeconfig else {})
    read = ("name", "namespace", "uid", *(("resourceVersion",) if conditions.READY in ours else ()))
    meta = {key: cluster["metadata"][key] for key in read}
    try:
        await api.apply(kinds.NESTED_CLUSTER, {"metadata": meta, "status": body}, subresource="status")
    except Conflict as conflict:
        raise RetryLater(1, conflict.message) from None


def _stand_in(cluster: Object, rest: Rest | None) -> list[Condition]:
    """`Ready`, while the syncer, whose word it is, is stopped too; and until it has said something itself."""
    if rest and not rest.replicas:
        return [Condition(conditions.READY, "False", conditions.SUSPENDED, rest.message)]
    said = conditions.find(conditions_of(cluster), conditions.READY) or {}
    if said.get("reason") in (conditions.SUSPENDED, conditions.RESUMING):
        return [Condition(conditions.READY, "False", conditions.RESUMING, "its control plane is being started again")]
    return []


def _is_owned(obj: Object, uid: str) -> bool:
    return any(item["uid"] == uid for item in owners_of(obj))


def _find_image(live: Object) -> str | None:
    """What the server runs."""
    containers = live["spec"]["template"]["spec"]["containers"]
    return next((item["image"] for item in containers if item["name"] == "k3s"), None)


def _find_persistence(live: Object) -> Persistence | None:
    """The volume that the server has: a StatefulSet gets or loses none."""
    for template in live["spec"].get("volumeClaimTemplates") or ():
        spec = template["spec"]
        return Persistence(size=spec["resources"]["requests"]["storage"], storage_class_name=spec.get("storageClassName"))
    return None


def _binding_name(cluster: Object) -> str:
    meta = cluster["metadata"]
    return names.join_limited(
        ["nestor", meta["namespace"], meta["name"]], names.digest(meta["namespace"], meta["name"], meta["uid"])
    )

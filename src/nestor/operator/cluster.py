"""NestedClusters that users made, without a job: the same nested cluster, in the user's own namespace."""

from __future__ import annotations

from typing import Any

from nestor import names
from nestor.api import conditions, labels
from nestor.api.conditions import Condition
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.cluster import access
from nestor.cluster.applier import RESYNC_SECONDS, together
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.kube.events import now as timestamp
from nestor.operator import ownership
from nestor.operator.context import Context, ensure_finalizer, remove_finalizer
from nestor.operator.resolve import Refused, choose_version, find_class

Object = dict[str, Any]


class ClusterReconciler:
    """Reconciles NestedClusters that carry no job's label; those of jobs are the jobs' children."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cleared: set[str] = set()

    async def reconcile(self, namespace: str, name: str) -> None:
        """One pass over one cluster."""
        cluster = self._context.world.clusters.get(name, namespace)
        if cluster is None:
            return
        if cluster["metadata"].get("deletionTimestamp"):
            # Before the label is looked at: a cluster that got it after our finalizer could else never go.
            await self._finalize(cluster)
            return
        if labels.JOB in (cluster["metadata"].get("labels") or {}):
            return
        # A finalizer, because the binding to read nodes belongs to no namespace and is collected with nothing.
        cluster = await ensure_finalizer(self._context.api, kinds.NESTED_CLUSTER, cluster)
        try:
            shape = self._resolve(cluster)
            await self._check_names(cluster, shape)
            note = await self._ensure(cluster, shape)
        except Refused as refused:
            await self._report(cluster, Condition(conditions.ADMITTED, "False", refused.reason, refused.message), None)
            raise RetryLater(RESYNC_SECONDS, refused.message) from None
        except (Forbidden, Invalid, ForeignObject) as error:
            message = getattr(error, "message", str(error))
            if isinstance(error, Forbidden) and error.is_terminating:
                raise RetryLater(RESYNC_SECONDS, message) from None
            await self._report(cluster, Condition(conditions.ADMITTED, "False", conditions.PROVISIONING_FAILED, message), None)
            raise
        message = f"class and version are good{f'; {note}' if note else ''}"
        admitted = Condition(conditions.ADMITTED, "True", conditions.ADMITTED_REASON, message)
        await self._report(cluster, admitted, None if note else f"{name}-kubeconfig")
        raise RetryLater(RESYNC_SECONDS, "resync")

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
        running = self._find_image(cluster)
        version, image = (spec.kubernetes_version or "", running) if running else choose_version(
            spec.kubernetes_version, spec.class_name, policy.cluster,
        )
        owner = {
            "apiVersion": kinds.NESTED_CLUSTER.api_version, "kind": kinds.NESTED_CLUSTER.name, "name": meta["name"],
            "uid": meta["uid"], "controller": True, "blockOwnerDeletion": False,
        }
        return Shape(
            name=meta["name"], namespace=meta["namespace"], labels={labels.MANAGED_BY: "nestor"}, kubernetes_version=version,
            image=spec.image or image, core_dns_image=policy.cluster.core_dns_image, nestor_image=self._context.settings.image,
            host=self._context.host, resources=spec.resources or policy.cluster.resources, network=policy.network,
            exposed_from=tuple(policy.expose.from_), owner=owner,
        )

    def _find_image(self, cluster: Object) -> str | None:
        """What the cluster's server runs, once it is made: a class that changes is for those who come after it."""
        meta = cluster["metadata"]
        live = self._context.world.find(kinds.STATEFUL_SET, names.child(meta["name"], "k3s"), meta["namespace"])
        if live is None or all(item["uid"] != meta["uid"] for item in live["metadata"].get("ownerReferences") or ()):
            return None
        containers = live["spec"]["template"]["spec"]["containers"]
        return next((item["image"] for item in containers if item["name"] == "k3s"), None)

    async def _ensure(self, cluster: Object, shape: Shape) -> str | None:
        provisioner = self._context.provisioner
        binding = access.build_nodes_binding(shape, _binding_name(cluster), None)
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
        try:
            await remove_finalizer(self._context.api, kinds.NESTED_CLUSTER, cluster)
        except NotFound:
            return

    async def _report(self, cluster: Object, admitted: Condition, kubeconfig: str | None) -> None:
        """Our part of the status, by server-side apply: the rest of it is the syncer's."""
        status: Object = cluster.get("status") or {}
        generation = cluster["metadata"].get("generation", 0)
        old = [item for item in status.get("conditions") or () if item["type"] == conditions.ADMITTED]
        merged = conditions.merge(old, [admitted], generation, timestamp())
        if merged == old and status.get("kubeconfigSecretName") == kubeconfig:
            return
        ours = {"conditions": merged} | ({"kubeconfigSecretName": kubeconfig} if kubeconfig else {})
        meta = {key: cluster["metadata"][key] for key in ("name", "namespace", "uid")}
        await self._context.api.apply(kinds.NESTED_CLUSTER, {"metadata": meta, "status": ours}, subresource="status")


def _binding_name(cluster: Object) -> str:
    meta = cluster["metadata"]
    return names.join_limited(
        ["nestor", meta["namespace"], meta["name"]], names.digest(meta["namespace"], meta["name"], meta["uid"]),
    )

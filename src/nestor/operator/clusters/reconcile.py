"""NestedClusters that users create without a job: the same nested cluster, in the user's own namespace."""

from __future__ import annotations

import time

from nestor import names
from nestor.api import conditions
from nestor.api.class_choice import find_class_name
from nestor.api.conditions import Condition
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.policy import Policy
from nestor.cluster.home import Home
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import ApiError, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.names import Part
from nestor.objects import Object, conditions_of, is_owned_by, is_terminating, owners_of, spec_of, status_of
from nestor.operator.admission.access import check_class
from nestor.operator.admission.cluster_spec import complete_spec, read_running
from nestor.operator.admission.identity import Refused, find_class, was_admitted
from nestor.operator.clusters import ownership
from nestor.operator.clusters.ensure import Ensured, build_shape, ensure_cluster, ensure_policies, keep_keys, keep_walls
from nestor.operator.clusters.policy import resolve_policy
from nestor.operator.clusters.status import write_policy, write_status
from nestor.operator.enforcement.verdict import check_enforced, explain_open
from nestor.operator.lifecycle.suspend import SuspendState, decide_suspend, end_pods, find_progress
from nestor.operator.result import Result
from nestor.operator.world.context import Context
from nestor.operator.world.finalizers import ensure_finalizer, has_finalizer, remove_finalizer
from nestor.operator.world.homes import find_home_of_cluster, is_of_job
from nestor.operator.world.kept import find_fault
from nestor.times import seconds_since

POLICY_LAG_SECONDS = 30
"""For so long after a cluster's creation, an API server may not have seen it: the policies of the chart ask for it."""


class ClusterReconciler:
    """Reconciles NestedClusters that are no job's; those of jobs are the jobs' children."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cleared: set[str] = set()
        self._suspended: dict[str, float] = {}
        """When this process first saw that a cluster should be suspended, by UID."""

    async def reconcile(self, namespace: str, name: str) -> Result:
        """One pass over one cluster."""
        cluster = self._context.cache.clusters.get(name, namespace)
        if cluster is None:
            return Result()
        if is_terminating(cluster):
            # Whosever it is: nobody else removes our finalizer.
            await self._finalize(cluster)
            return Result()
        if is_of_job(cluster):
            return Result()
        cluster = await self._keep_policy(cluster)
        # A finalizer, because the ClusterRoleBinding for nodes is in no namespace and would never be garbage-collected.
        cluster = await ensure_finalizer(self._context.api, kinds.NESTED_CLUSTER, cluster)
        home = find_home_of_cluster(cluster)
        suspend = None
        try:
            self._check_senior(cluster)
            check_enforced(cluster, self._context.cache.classes, self._context.classes.all(), self._context.classes.default)
            spec = _read_spec(cluster, self._context.classes.default)
            suspend = await self._decide_suspend(cluster, spec, home)
            made = await self._ensure(cluster, spec, home, replicas=suspend.replicas if suspend else 1)
        except Refused as refused:
            await self._refuse(cluster, refused.reason, refused.message)
            await self._keep(cluster, home)
            return Result(RESYNC_SECONDS)
        except (Forbidden, Invalid, ForeignObject) as error:
            if isinstance(error, Forbidden) and error.is_terminating:
                return Result(RESYNC_SECONDS)
            if _is_unknown_yet(cluster, error):
                raise RetryLater(0.5, "the API server has yet to see the cluster by which it allows its objects") from error
            await self._refuse(cluster, conditions.PROVISIONING_FAILED, getattr(error, "message", str(error)))
            await self._keep(cluster, home)
            return Result(error=error)
        class_name = spec.class_name or ""
        unenforced = self._explain_open(class_name)
        suspended = f"suspended: {suspend.message}" if suspend else ""
        texts = ["class and version accepted", unenforced, made.problem, suspended]
        reason = conditions.NETWORK_NOT_ENFORCED if unenforced else conditions.ADMITTED_REASON
        admitted = Condition(conditions.ADMITTED, "True", reason, "; ".join(text for text in texts if text))
        kubeconfig = None if made.problem else names.kubeconfig_secret(name)
        await self._report(cluster, [admitted, *_stand_in(cluster, suspend)], kubeconfig, class_name)
        return Result(RESYNC_SECONDS).within(suspend.delay if suspend else None)

    async def _keep_policy(self, cluster: Object) -> Object:
        """Before anything can fail. The cluster as it is then."""
        kept = await write_policy(self._context.api, cluster, self._resolve_policy(cluster))
        meta, clusters = kept["metadata"], self._context.cache.clusters
        clusters.put(kept)
        # As the cache keeps it: without what is too large.
        return clusters.get(meta["name"], meta["namespace"]) or kept

    def _explain_open(self, name: str) -> str:
        policy = self._context.classes.all().get(name)
        return explain_open(self._context.cache.classes.get(name), policy, name) if policy else ""

    def _resolve_policy(self, cluster: Object) -> Policy:
        found = self._context.classes.of(cluster)
        return resolve_policy(found, is_job=False, host=self._context.host, before=Policy.read(cluster))

    async def _decide_suspend(self, cluster: Object, spec: NestedClusterSpec, home: Home) -> SuspendState | None:
        """How far a cluster that is to be suspended is with that; None for one that is not."""
        uid = cluster["metadata"]["uid"]
        if not spec.suspend:
            self._suspended.pop(uid, None)
            return None
        seconds = time.monotonic() - self._suspended.setdefault(uid, time.monotonic())
        suspend = decide_suspend(find_progress(self._context.cache, home), seconds)
        if suspend.is_forced:
            await end_pods(self._context, home)
        return suspend

    async def _ensure(self, cluster: Object, spec: NestedClusterSpec, home: Home, *, replicas: int) -> Ensured:
        """Ensure all objects of the cluster. Raises `Refused` and `ForeignObject`."""
        class_name = spec.class_name or ""
        policy = find_class(class_name, self._context.classes.all())
        if not was_admitted(cluster):
            check_class(cluster, self._context.cache.classes.get(class_name), policy.access)
        server = self._find_server(home)
        complete = complete_spec(spec, policy.cluster, read_running(server, spec.kubernetes_version))
        shape = build_shape(self._context, complete, home, policy, replicas=replicas)
        await self._check_names(cluster, shape)
        self._check_claim(shape, server)
        return await ensure_cluster(self._context, shape)

    async def _keep(self, cluster: Object, home: Home) -> None:
        """Maintain of a refused cluster what must not grow old, if it was made: its keys, and what its class does not allow."""
        await keep_keys(self._context, home)
        spec = spec_of(cluster)  # of one that is too large, at least the class is kept
        policy = self._context.classes.of(cluster)
        if policy is not None and self._find_made(home) is not None:
            shape = build_shape(self._context, NestedClusterSpec.model_validate(spec), home, policy)
            await keep_walls(home, ensure_policies(self._context, shape))

    def _find_server(self, home: Home) -> Object | None:
        """The cluster's StatefulSet, once it exists. Raises `Refused` where its user has made it too large to be read."""
        live = self._find_made(home)
        if fault := find_fault(live):
            raise Refused(conditions.PROVISIONING_FAILED, f"StatefulSet '{home.child(Part.SERVER)}': {fault}")
        return live

    def _find_made(self, home: Home) -> Object | None:
        """The cluster's StatefulSet, even if it cannot be read."""
        live = self._context.cache.find(kinds.STATEFUL_SET, home.child(Part.SERVER), home.namespace)
        return live if live is not None and is_owned_by(live, (home.owner or {})["uid"]) else None

    def _check_senior(self, cluster: Object) -> None:
        """First of all: until it is refused, a second cluster must not touch what is the first one's. Raises `ForeignObject`."""
        if senior := ownership.find_senior(cluster, self._context.cache.clusters):
            raise ForeignObject(f"NestedCluster '{senior}' already uses this namespace; only one is allowed per namespace")

    async def _check_names(self, cluster: Object, shape: Shape) -> None:
        """Never overwrite objects in the user's namespace. Raises `ForeignObject`; checked once per cluster and process."""
        uid = cluster["metadata"]["uid"]
        if uid in self._cleared:
            return
        if foreign := await ownership.find_foreign(self._context.api, shape):
            where = f"{foreign} in namespace '{shape.namespace}'"
            raise ForeignObject(f"{where} does not belong to this cluster: delete it, or give the cluster another name")
        self._cleared.add(uid)

    def _check_claim(self, shape: Shape, server: Object | None) -> None:
        """Wait until the claim of an earlier cluster with this name is gone: none of our keys fit its data."""
        name = names.data_claim(shape.name)
        claim = self._context.cache.find(kinds.PERSISTENT_VOLUME_CLAIM, name, shape.namespace)
        if not shape.persistence or claim is None:
            return
        if server is None or (owners_of(claim) and not is_owned_by(claim, server["metadata"]["uid"])):
            raise RetryLater(1, f"PersistentVolumeClaim '{name}' of an earlier cluster with this name is being deleted")

    async def _refuse(self, cluster: Object, reason: str, message: str) -> None:
        kept = status_of(cluster).get("className")
        await self._report(cluster, [Condition(conditions.ADMITTED, "False", reason, message)], None, kept)

    async def _report(self, cluster: Object, found: list[Condition], kubeconfig: str | None, class_name: str | None) -> None:
        policy = self._resolve_policy(cluster)
        self._context.cache.clusters.put(await write_status(self._context.api, cluster, policy, found, kubeconfig, class_name))

    async def _finalize(self, cluster: Object) -> None:
        """Delete the ClusterRoleBinding; everything else is owned by the cluster and deleted with it."""
        if not has_finalizer(cluster):
            return
        uid, home = cluster["metadata"]["uid"], find_home_of_cluster(cluster)
        await self._context.api.delete(kinds.CLUSTER_ROLE_BINDING, home.nodes_binding)
        self._context.provisioner.forget(home.namespace, home.name)
        self._context.applier.forget(home.namespace)
        self._cleared.discard(uid)
        self._suspended.pop(uid, None)
        try:
            await remove_finalizer(self._context.api, kinds.NESTED_CLUSTER, cluster)
        except NotFound:
            return


def _read_spec(cluster: Object, default: str) -> NestedClusterSpec:
    """With the name of its class, whoever chose it. Raises `Refused` for a stub: it would get the default class."""
    if fault := find_fault(cluster):
        raise Refused(conditions.PROVISIONING_FAILED, fault)
    spec = NestedClusterSpec.model_validate(spec_of(cluster))
    return spec.model_copy(update={"class_name": find_class_name(cluster, default)})


def _stand_in(cluster: Object, suspend: SuspendState | None) -> list[Condition]:
    """`Ready`, on behalf of the syncer: while it is stopped, and until it reports again."""
    if suspend and not suspend.replicas:
        return [Condition(conditions.READY, "False", conditions.SUSPENDED, suspend.message)]
    said = conditions.find(conditions_of(cluster), conditions.READY) or {}
    if said.get("reason") in (conditions.SUSPENDED, conditions.RESUMING):
        return [Condition(conditions.READY, "False", conditions.RESUMING, "its control plane is starting again")]
    return []


def _is_unknown_yet(cluster: Object, error: Exception) -> bool:
    if not (isinstance(error, ApiError) and error.lacks_parameters):
        return False
    return seconds_since(cluster["metadata"]["creationTimestamp"]) < POLICY_LAG_SECONDS

"""The operator's part of a NestedCluster's status; the rest of it is the syncer's."""

from __future__ import annotations

from collections.abc import Sequence

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.policy import Policy
from nestor.kube import Api, Conflict, RetryLater, kinds
from nestor.objects import Object, status_of
from nestor.times import timestamp


async def write_status(
    api: Api, cluster: Object, policy: Policy | None, found: Sequence[Condition] = (), kubeconfig: str | None = None
) -> Object:
    """All of our part in one body, by server-side apply, if it differs: what an apply leaves out is taken away.

    Returns the cluster as it is then.

    `policy`: None where it cannot be resolved, because the class is gone: what was written stays. Raises `RetryLater` when
    `Ready` is to be said in the syncer's place, and the cluster has changed since it was read: that may have been the syncer's
    own word, which it says once.
    """
    status: Object = status_of(cluster)
    generation, ours = cluster["metadata"].get("generation", 0), {item.type for item in found}
    old = [item for item in status.get("conditions") or () if item["type"] in ours]
    kept = status.get("policy")
    body = {
        "conditions": conditions.merge(old, found, generation, timestamp()),
        "kubeconfigSecretName": kubeconfig,
        "policy": policy.model_dump(by_alias=True, exclude_none=True) if policy else kept,
    }
    if body == {"conditions": old, "kubeconfigSecretName": status.get("kubeconfigSecretName"), "policy": kept}:
        return cluster
    read = ("name", "namespace", "uid", *(("resourceVersion",) if conditions.READY in ours else ()))
    meta = {key: cluster["metadata"][key] for key in read}
    applied = {"metadata": meta, "status": {key: value for key, value in body.items() if value}}
    try:
        return await api.apply(kinds.NESTED_CLUSTER, applied, subresource="status")
    except Conflict as conflict:
        raise RetryLater(1, conflict.message) from None

"""The operator's part of a NestedCluster's status; the syncer writes the rest."""

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
    """Write all of our part by server-side apply if it changed; fields that the apply leaves out are removed.

    Returns the updated cluster. `policy`: None if it cannot be resolved because the class is gone; the old one then stays.
    Raises `RetryLater` if `Ready` is written on behalf of the syncer but the cluster has changed since it was read: the syncer
    may have reported `Ready` meanwhile, and it reports only once.
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

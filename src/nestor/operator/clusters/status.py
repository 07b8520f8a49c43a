"""The operator's part of a NestedCluster's status; the rest of it is the syncer's."""

from __future__ import annotations

from collections.abc import Sequence

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.policy import Policy
from nestor.kube import Api, Conflict, RetryLater, kinds
from nestor.objects import Object, status_of
from nestor.times import timestamp


async def write_policy(api: Api, cluster: Object, policy: Policy) -> Object:
    """The policy in a patch of its own, if another one is there. Returns the cluster as it is then.

    For a user's cluster: all of our part is known only at the end of a pass, which may fail before.
    """
    meta, old, wanted = cluster["metadata"], status_of(cluster).get("policy"), _dump(policy)
    if old is None or old == wanted:
        return cluster
    patch = {"metadata": {"uid": meta["uid"]}, "status": {"policy": dict.fromkeys(old) | wanted}}
    return await api.patch(kinds.NESTED_CLUSTER, meta["name"], meta["namespace"], patch, subresource="status")


async def write_status(
    api: Api, cluster: Object, policy: Policy, found: Sequence[Condition] = (), kubeconfig: str | None = None
) -> Object:
    """All of our part in one body, by server-side apply, if it differs: what an apply leaves out is taken away.

    Returns the cluster as it is then.

    Raises `RetryLater` when `Ready` is to be said in the syncer's place, and the cluster has changed since it was read: that may
    have been the syncer's own word, which it says once.
    """
    status: Object = status_of(cluster)
    generation, ours = cluster["metadata"].get("generation", 0), {item.type for item in found}
    old = [item for item in status.get("conditions") or () if item["type"] in ours]
    body = {
        "conditions": conditions.merge(old, found, generation, timestamp()),
        "kubeconfigSecretName": kubeconfig,
        "policy": _dump(policy),
    }
    if body == {"conditions": old} | {key: status.get(key) for key in ("kubeconfigSecretName", "policy")}:
        return cluster
    read = ("name", "namespace", "uid", *(("resourceVersion",) if conditions.READY in ours else ()))
    meta = {key: cluster["metadata"][key] for key in read}
    applied = {"metadata": meta, "status": {key: value for key, value in body.items() if value}}
    try:
        return await api.apply(kinds.NESTED_CLUSTER, applied, subresource="status")
    except Conflict as conflict:
        raise RetryLater(1, conflict.message) from None


def _dump(policy: Policy) -> Object:
    return policy.model_dump(by_alias=True, exclude_none=True)

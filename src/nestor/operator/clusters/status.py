"""The operator's part of a NestedCluster's status; the syncer writes the rest."""

from __future__ import annotations

from collections.abc import Sequence

from nestor.api import conditions, data
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
    api: Api,
    cluster: Object,
    policy: Policy,
    found: Sequence[Condition] = (),
    kubeconfig: str | None = None,
    class_name: str | None = None,
) -> Object:
    """Write all of our part by server-side apply if it changed; fields that the apply leaves out are removed.

    Returns the updated cluster. Raises `RetryLater` if `Ready` is written on behalf of the syncer but the cluster has changed
    since it was read: the syncer may have reported `Ready` meanwhile, and it reports only once.
    """
    status: Object = status_of(cluster)
    generation, ours = cluster["metadata"].get("generation", 0), {item.type for item in found}
    old = [item for item in status.get("conditions") or () if item["type"] in ours]
    body = {
        "conditions": conditions.merge(old, found, generation, timestamp()),
        "className": class_name,
        "kubeconfigSecretName": kubeconfig,
        "policy": _dump(policy),
    }
    if body == {"conditions": old} | {key: status.get(key) for key in ("className", "kubeconfigSecretName", "policy")}:
        return cluster
    read = ("name", "namespace", "uid", *(("resourceVersion",) if conditions.READY in ours else ()))
    meta = {key: cluster["metadata"][key] for key in read}
    applied = {"metadata": meta, "status": {key: value for key, value in body.items() if value}}
    try:
        return await api.apply(kinds.NESTED_CLUSTER, applied, subresource="status")
    except Conflict as conflict:
        raise RetryLater(1, conflict.message) from None


def _dump(policy: Policy) -> Object:
    """Without an empty node selector: a map whose last key goes by server-side apply becomes null, which the schema refuses."""
    found = data.write(policy)
    placement = found.get("placement") or {}
    if placement.get("nodeSelector") == {}:
        found["placement"] = {key: value for key, value in placement.items() if key != "nodeSelector"}
    return found

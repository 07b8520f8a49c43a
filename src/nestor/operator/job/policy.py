"""What the class allows the pods of a job's cluster, written for its syncer before anything else is tried, which may fail."""

from __future__ import annotations

from nestor.api import data
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.objects import Object, status_of
from nestor.api.policy import Policy
from nestor.kube import kinds
from nestor.operator.admission.identity import Refused, find_machine_name, identify
from nestor.operator.admission.turn import assign_nodes, read_assigned
from nestor.operator.clusters.policy import resolve_policy
from nestor.operator.world.context import Context
from nestor.operator.world.homes import find_home
from nestor.operator.world.kept import OVERSIZED
from nestor.operator.world.taints import read_taints


async def keep_policy(context: Context, job: Object) -> None:
    """Have the policy of the job's cluster up to date, if there is the cluster; also when the job is refused."""
    home = find_home(job)
    cluster = context.cache.clusters.get(home.name, home.namespace)
    if cluster is not None:
        await write_policy(context, cluster, _resolve(context, job, Policy.read(cluster)))


async def write_policy(context: Context, cluster: Object, policy: Policy) -> None:
    """Write it to the job's NestedCluster, if it differs. The rest of the status is written by others."""
    wanted = _dump(policy)
    if status_of(cluster).get("policy") != wanted:
        meta = {key: cluster["metadata"][key] for key in ("name", "namespace", "uid")}
        body = {"metadata": meta, "status": {"policy": wanted}}
        context.cache.clusters.put(await context.api.apply(kinds.NESTED_CLUSTER, body, subresource="status"))


def _dump(policy: Policy) -> Object:
    """Without an empty node selector: a map whose last key goes by server-side apply becomes null, which the schema refuses."""
    found = data.write(policy)
    placement = found.get("placement") or {}
    if placement.get("nodeSelector") == {}:
        found["placement"] = {key: value for key, value in placement.items() if key != "nodeSelector"}
    return found


def _resolve(context: Context, job: Object, before: Policy) -> Policy:
    """The strictest where the class is gone, or the job cannot be read; its images are those that were allowed before. A job that
    is only too large has its class nevertheless: a change has made it so, and it still runs.
    """
    taints = read_taints(context.cache.backends)
    if OVERSIZED in job:
        rest = NestedAppJobSpec.model_construct(machine=find_machine_name(job))
        return resolve_policy(context.classes.of(job), job=rest, taints=taints, host=context.host, before=before)
    try:
        known = identify(job, context.classes.all(), context.classes.default)
    except Refused:
        return resolve_policy(None, before=before)
    spec = known.spec.model_copy(update={"machine": find_machine_name(job)})
    policy = assign_nodes(known.policy, read_assigned(job))
    return resolve_policy(policy, job=spec, taints=taints, host=context.host)

"""What the class allows the pods of a job's cluster, written for its syncer before anything else is tried, which may fail."""

from __future__ import annotations

from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.policy import Policy
from nestor.objects import Object, spec_of
from nestor.operator.admission.identity import Refused, identify
from nestor.operator.admission.turn import assign_nodes, read_assigned
from nestor.operator.clusters.policy import resolve_policy
from nestor.operator.clusters.status import write_status
from nestor.operator.world.context import Context
from nestor.operator.world.homes import find_home
from nestor.operator.world.kept import OVERSIZED
from nestor.operator.world.taints import read_taints


async def keep_policy(context: Context, job: Object) -> None:
    """Have the policy of the job's cluster up to date, if there is the cluster; also when the job is refused."""
    home = find_home(job)
    cluster = context.cache.clusters.get(home.name, home.namespace)
    if cluster is not None:
        await write_policy(context, cluster, _resolve(context, job))


async def write_policy(context: Context, cluster: Object, policy: Policy) -> None:
    """Write it, if it differs, to a NestedCluster of a job: nothing else in its status is ours."""
    context.cache.clusters.put(await write_status(context.api, cluster, policy))


def _resolve(context: Context, job: Object) -> Policy:
    """The strictest where the class is gone, or the job cannot be read. One that is only too large has its class nevertheless:
    earlier versions admitted such jobs, and they still run.
    """
    classes, taints = context.classes.all(), read_taints(context.cache.backends)
    if OVERSIZED in job:
        rest = NestedAppJobSpec.model_construct(machine=spec_of(job).get("machine"))
        return resolve_policy(
            classes.get(spec_of(job).get("className", "")), is_job=True, job=rest, taints=taints, host=context.host
        )
    try:
        known = identify(job, classes)
    except Refused:
        return resolve_policy(None, is_job=True)
    policy = assign_nodes(known.policy, read_assigned(job))
    return resolve_policy(policy, is_job=True, job=known.spec, taints=taints, host=context.host)

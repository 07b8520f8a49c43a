"""What the class allows the pods of a job's cluster, written for its syncer before anything else is tried, which may fail."""

from __future__ import annotations

from nestor.api.policy import Policy
from nestor.objects import Object
from nestor.operator.admission.identity import Refused, identify
from nestor.operator.clusters.policy import resolve_policy
from nestor.operator.clusters.status import write_status
from nestor.operator.world.context import Context
from nestor.operator.world.homes import find_home


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
    """The strictest where the class is gone, or the job cannot be read."""
    try:
        known = identify(job, context.classes.all())
    except Refused:
        return resolve_policy(None, None)
    return resolve_policy(known.policy, known.spec)

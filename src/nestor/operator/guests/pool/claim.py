"""Gives a cluster of a pool to a job, by two writes.

The job's status says which one it gets, and that the job has started; then the labels of its namespace, in a request that fails
if it has changed since, say whose it is. Whatever happens after the first, the next pass over the job goes on with the second.
"""

from __future__ import annotations

from nestor.api import labels, names, times
from nestor.api.objects import Object, is_terminating, labels_of, status_of
from nestor.kube import Conflict, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.operator.guests.pool.decide import Member
from nestor.operator.world.context import Context
from nestor.operator.world.ownership import find_home

RETRY_SECONDS = 1.0


async def record_claim(context: Context, job: Object, member: Member) -> None:
    """The first write."""
    claim = {"namespace": member.namespace, "namespaceUID": member.uid, "startTime": times.timestamp()}
    try:
        await context.apply_status(kinds.NESTED_APP_JOB, job, status_of(job) | claim, is_unchanged=True)
    except Conflict as error:
        raise RetryLater(0, f"the job has changed: {error.message}") from error


async def finish_claim(context: Context, job: Object) -> None:
    """The second write, if it is due; or, if the cluster is lost, the job starts with one of its own."""
    home, status = find_home(job), status_of(job)
    live = context.cache.find(kinds.NAMESPACE, home.namespace)
    if not names.is_of_pool(home.namespace) or is_terminating(job) or live is None or home.owns(live):
        return
    if is_terminating(live) or labels.POOL not in labels_of(live) or live["metadata"]["uid"] != status.get("namespaceUID"):
        rest = {key: value for key, value in status.items() if key not in ("namespace", "namespaceUID", "startTime")}
        await context.apply_status(kinds.NESTED_APP_JOB, job, rest)
        return
    meta = {key: live["metadata"][key] for key in ("uid", "resourceVersion")}
    try:
        # What becomes of volumes is as the class says now, when the job's first pass writes it.
        patch = {"metadata": meta | {"labels": home.labels | {labels.POOL: None, labels.RETENTION: None}}}
        made = await context.api.patch(kinds.NAMESPACE, home.namespace, None, patch)
    except (Conflict, NotFound) as error:
        raise RetryLater(RETRY_SECONDS, f"namespace {home.namespace} has changed: {error.message}") from error
    except (Forbidden, Invalid) as error:  # a policy of the host's: its admin must act, or the class have no pool
        message = f"the host cluster does not let it have the cluster in namespace '{home.namespace}': {error.message}"
        await context.post(kinds.NESTED_APP_JOB, job, "Warning", "ReadyClusterRefused", message)
        raise
    context.cache.informers[kinds.NAMESPACE].put(made)

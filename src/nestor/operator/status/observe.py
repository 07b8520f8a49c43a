"""Gathers the input of decisions: a job's children, from the caches, and its own status. Sends no requests."""

import datetime

from nestor.api import names
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, is_terminating, status_of
from nestor.api.times import seconds_since
from nestor.cluster.home import Home
from nestor.kube import kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator.admission.checks import is_of_kueue
from nestor.operator.lifecycle.data_epoch import read_epoch
from nestor.operator.lifecycle.lifecycle import Facts
from nestor.operator.lifecycle.record import find_rerun, is_asleep, read_record
from nestor.operator.lifecycle.suspend import find_progress
from nestor.operator.world.context import Cache
from nestor.operator.world.ownership import find_cluster

START_SECONDS = 300
"""After so long, a cluster that is still not ready is reported as ProvisioningFailed."""


def gather_facts(
    cache: Cache,
    job: Object,
    home: Home,
    spec: NestedAppJobSpec,
    now: datetime.datetime,
    *,
    plan_hash: str | None = None,
    policy: NestedClassSpec | None = None,
) -> Facts:
    """The facts about one job. `plan_hash`: of the current plan; None: it is refused. `policy`: its class, if that is there."""
    cluster = find_cluster(cache, home)
    status, epoch = status_of(cluster), read_epoch(cluster)
    run, outcome = status.get("run"), status.get("outcome") or {}
    server = cache.find(kinds.POD, names.server_pod(home.name), home.namespace)
    is_current = server is not None and not is_terminating(server) and outcome.get("serverUID") == server["metadata"]["uid"]
    return Facts(
        spec=spec,
        record=read_record(status_of(job), now),
        policy=policy,
        rerun=find_rerun(job),
        epoch=epoch.number,
        has_data=epoch.uid is not None,
        # One of a pool may be older than its job.
        made_at=max(item["metadata"]["creationTimestamp"] for item in (cluster, job)) if cluster else None,
        is_asleep=is_asleep(job),
        is_kueued=policy is not None and is_of_kueue(job, policy),
        is_refused=plan_hash is None,
        run=run if run and plan_hash in (None, run.get("hash")) else None,
        outcome=outcome if is_current else None,
        progress=find_progress(cache, home),
    )


def find_start_deadline(job: Object, start_time: str | None) -> float:
    """Seconds until the cluster is overdue; `RESYNC_SECONDS` once it was ready, and before the job starts.

    `start_time` is the one this pass decided on: time spent waiting for a class, an AppDef or a resume does not count.
    """
    if (status_of(job).get("timings") or {}).get("clusterReady") or start_time is None:
        return RESYNC_SECONDS
    return max(0.0, START_SECONDS - seconds_since(start_time))

"""What is decided by: a job's children as the caches show them, and its own status. Asks nobody."""

from __future__ import annotations

import datetime

from nestor import names
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.cluster.shape import Shape
from nestor.exposure.decide import Exposure
from nestor.kube import kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.objects import Object, is_terminating, status_of
from nestor.operator.admission.admit import Resolved
from nestor.operator.lifecycle.data_epoch import find_claim, read_data
from nestor.operator.lifecycle.lifecycle import Facts
from nestor.operator.lifecycle.record import find_rerun, read_record
from nestor.operator.lifecycle.suspend import Stand, count_pods
from nestor.operator.status.conditions import Observed
from nestor.operator.world.cache import World
from nestor.times import seconds_since


def gather_facts(
    world: World, job: Object, spec: NestedAppJobSpec, now: datetime.datetime, *, plan_hash: str | None = None
) -> Facts:
    """The facts of one job. `plan_hash` tells the record of its plan from that of an earlier one; None: the job is refused."""
    meta = job["metadata"]
    name, where = meta["name"], names.job_namespace(meta["name"], meta["namespace"], meta["uid"])
    cluster = world.clusters.get(name, where)
    status = status_of(cluster)
    run, data = status.get("run"), read_data(cluster)
    return Facts(
        spec=spec,
        record=read_record(job.get("status") or {}, now),
        rerun=find_rerun(job),
        epoch=data.epoch,
        has_data=data.uid is not None,
        is_made=cluster is not None,
        is_refused=plan_hash is None,
        run=run if run and plan_hash in (None, run.get("hash")) else None,
        outcome=_find_outcome(status, world.find(kinds.POD, f"{names.child(name, 'k3s')}-0", where)),
        stand=find_stand(world, name, where),
    )


def observe(
    world: World, job: Object, resolved: Resolved, shape: Shape, plan_hash: str, exposure: Exposure, start_time: str | None
) -> Observed:
    """The children of an admitted job that began at `start_time`."""
    return Observed(
        cluster=world.clusters.get(shape.name, shape.namespace),
        server=world.find(kinds.POD, f"{shape.child('k3s')}-0", shape.namespace),
        runner=world.find(kinds.POD, shape.child("run"), shape.namespace),
        plan_hash=plan_hash,
        warnings=resolved.warnings,
        exposure=exposure,
        is_overdue=find_start_deadline(job, resolved, start_time) <= 0,
    )


def find_start_deadline(job: Object, resolved: Resolved, start_time: str | None) -> float:
    """Seconds until the cluster counts as overdue; far away once it was ready, and before the job begins.

    `start_time` is what this pass decided: a job that waited for its class, its AppDef or its resumption begins only then.
    """
    if (status_of(job).get("timings") or {}).get("clusterReady") or start_time is None:
        return RESYNC_SECONDS
    return max(0.0, resolved.policy.cluster.start_timeout_seconds - seconds_since(start_time))


def find_stand(world: World, name: str, namespace: str) -> Stand:
    """How far a cluster is on its way to rest, or back."""
    cluster, server = world.clusters.get(name, namespace), names.child(name, "k3s")
    replicas = ((world.find(kinds.STATEFUL_SET, server, namespace) or {}).get("spec") or {}).get("replicas")
    return Stand(
        is_told=bool(status_of(cluster).get("suspended")),
        pods=count_pods(world.pods_by_namespace.all(namespace)),
        claim=find_claim(world, server, namespace),
        is_down=replicas == 0 and world.find(kinds.POD, f"{server}-0", namespace) is None,
    )


def _find_outcome(status: Object, server: Object | None) -> Object | None:
    """What the application came to, if the server that says so is the one that is there."""
    outcome: Object | None = status.get("outcome")
    if not outcome or server is None or is_terminating(server):
        return None
    return outcome if outcome.get("serverUID") == server["metadata"]["uid"] else None

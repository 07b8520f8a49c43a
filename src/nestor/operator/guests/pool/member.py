"""One cluster of a pool: made as a job's is, by the same builders, with nothing of a user; and given to a job, by two writes.

The job's status says which one it gets, and that the job has started; then the labels of its namespace, in a request that fails
if it has changed since, say whose it is. Whatever happens after the first, the next pass over the job goes on with the second.
"""

from collections.abc import Container
from dataclasses import replace

from nestor.api import conditions, labels, names, pod_status, times
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object, conditions_of, is_terminating, labels_of, owner_reference, spec_of, status_of
from nestor.api.placement_rules import AssignedNodes
from nestor.api.times import seconds_since
from nestor.cluster.home import Home
from nestor.cluster.server import build_stateful_set
from nestor.kube import Conflict, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.kube.tasks import together
from nestor.operator.clusters.homes import build_shape, end_boost, ensure_defaults, ensure_quota
from nestor.operator.guests.pool.decide import Member
from nestor.operator.lifecycle.data_epoch import track_data
from nestor.operator.status.observe import START_SECONDS
from nestor.operator.world.context import Cache, Context
from nestor.operator.world.ownership import find_home
from nestor.operator.world.trim import HELD

RETRY_SECONDS = 1.0
NO_ROOM = ("Insufficient cpu", "Insufficient memory")
"""Words of the host's scheduler."""


def build_home(namespace: str, uid: str = "") -> Home:
    """Its labels are as those of a job that nobody has, so that all walls of jobs' namespaces are around it."""
    owner = owner_reference(kinds.NAMESPACE.api_version, kinds.NAMESPACE.name, namespace, uid) if uid else None
    return Home(
        name=names.POOLED, namespace=namespace, labels=labels.of_job(names.POOLED, "", namespace), nodes_binding_owner=owner
    )


def choose_cluster(context: Context, name: str, policy: NestedClassSpec) -> NestedClusterSpec | None:
    """The cluster of a job of the class that wishes nothing; None: a pool has none such."""
    version = next(iter(policy.cluster.versions or ()), "")
    image = context.settings.k3s_versions.get(version)
    if policy.cluster.persistence is not None or image is None:
        return None
    return NestedClusterSpec(class_name=name).model_copy(update={"kubernetes_version": version, "image": image})


def find_key(context: Context, cluster: NestedClusterSpec, policy: NestedClassSpec, nodes: AssignedNodes | None = None) -> str:
    """Digest of all that cannot change once a server runs. What can, a job's pass changes: walls, quota, policy."""
    nowhere = Home(name=names.POOLED, namespace="", labels={})
    shape = replace(build_shape(context, cluster, nowhere, policy), nodes=nodes or AssignedNodes())
    return names.digest_json([cluster.class_name, build_stateful_set(shape, "")["spec"]])


async def ensure_member(context: Context, home: Home, cluster: NestedClusterSpec, policy: NestedClassSpec) -> None:
    """All objects of one that is not ready. Its syncer has no policy: until a job has one, the strictest holds."""
    shape, provisioner = build_shape(context, cluster, home, policy), context.provisioner
    body = {"metadata": home.metadata(home.name), "spec": cluster.model_dump(by_alias=True, exclude_none=True)}
    addresses, *_ = await together(
        provisioner.ensure_surroundings(shape),
        context.applier.ensure(kinds.NESTED_CLUSTER, body),
        ensure_defaults(context, shape),
    )
    await provisioner.ensure_access(shape, addresses)
    await together(provisioner.ensure_server(shape, addresses), ensure_quota(context, shape))


async def settle_member(
    context: Context, home: Home, cluster: NestedClusterSpec, policy: NestedClassSpec, server: Object
) -> None:
    """What is left to do for one that is ready."""
    shape = build_shape(context, cluster, home, policy)
    await together(end_boost(context, shape, server), track_data(context, shape))


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


def find_server(cache: Cache, namespace: str) -> Object | None:
    """The pod of a cluster that was made without a job."""
    return cache.find(kinds.POD, names.server_pod(names.POOLED), namespace)


def list_members(cache: Cache, going: Container[str]) -> list[Member]:
    """All clusters that no job has, each with the class that has recorded it: names and labels prove nothing. `going`: UIDs of
    namespaces that are given or deleted at the moment.
    """
    recorded = {entry["uid"]: item["metadata"]["name"] for item in cache.classes for entry in status_of(item).get("pool") or ()}
    given = {status_of(job).get("namespace") for job in cache.jobs}
    return [
        Member(
            meta["name"],
            meta["uid"],
            labels_of(item)[labels.POOL],
            recorded.get(meta["uid"]),
            seconds_since(meta["creationTimestamp"]),
            is_ready=_is_ready(cache, meta["name"]),
            is_given=meta["name"] in given,
            is_ending=is_terminating(item) or meta["uid"] in going,
        )
        for item in cache.informers[kinds.NAMESPACE]
        if labels.POOL in labels_of(item) and names.is_of_pool((meta := item["metadata"])["name"])
    ]


def _is_ready(cache: Cache, namespace: str) -> bool:
    server, cluster = find_server(cache, namespace), cache.clusters.get(names.POOLED, namespace)
    return conditions.is_true(conditions_of(cluster), conditions.READY) and server is not None and pod_status.is_ready(server)


def look_at_pods(cache: Cache, pooled: Container[str]) -> tuple[bool, bool]:
    """Whether a job is starting, and whether a pod of a job lacks room. `pooled`: namespaces of no job.

    Pods that have waited for long lack more than what a pool can give.
    """
    is_busy = is_short = False
    for pod in cache.informers[kinds.POD]:
        meta = pod["metadata"]
        if meta["namespace"] in pooled or is_terminating(pod):
            continue
        is_placed = bool(spec_of(pod).get("nodeName"))
        is_one = _is_starting(pod) if is_placed else _lacks_room(pod)
        if is_one and seconds_since(meta["creationTimestamp"]) < START_SECONDS:
            is_busy, is_short = is_busy or is_placed, is_short or not is_placed
    return is_busy, is_short


def _lacks_room(pod: Object) -> bool:
    held = status_of(pod).get(HELD) or pod_status.find_unschedulable(pod) or ""
    return any(words in held for words in NO_ROOM)


def _is_starting(pod: Object) -> bool:
    """A runner is busy until it has ended, and a server until it is ready."""
    component = labels_of(pod).get(labels.COMPONENT)
    if component == labels.COMPONENT_RUNNER:
        return not pod_status.is_terminal(pod)
    is_up = pod_status.is_ready(pod) if component == labels.COMPONENT_SERVER else status_of(pod).get("phase") != "Pending"
    return not is_up

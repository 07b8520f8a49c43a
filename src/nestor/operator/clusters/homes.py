"""The single path that creates and maintains a nested cluster: its namespace, its objects, its keys, its limits."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from nestor.api import labels
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object, is_terminating, owner_reference, status_of
from nestor.cluster import namespace, server
from nestor.cluster.boost import give_back
from nestor.cluster.home import Home
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import ApiError, Conflict, Forbidden, Invalid, NotFound, RetryLater, kinds
from nestor.operator.guest import Guest, spare_volumes
from nestor.operator.oneshot import RUNNER_RESOURCES
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)


async def ensure_home(
    context: Context, guests: Sequence[Guest], home: Home, policy: NestedClassSpec, forget: Callable[[], None]
) -> Home:
    """Ensure the namespace; returns the home with a reference to it. A namespace of another owner is never adopted.

    Its UID is in the job's status before anything is in it. Raises `RetryLater` while one without that record is deleted.
    `forget` is called when the namespace was recreated, so that everything in it is created again.
    """
    body, name = namespace.build_namespace(home.namespace, home.labels, policy), home.namespace
    live, is_made = context.cache.find(kinds.NAMESPACE, name), False
    if live is None:
        try:
            live = await context.api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", **body})
            is_made = True
        except Conflict:
            live = await context.api.get(kinds.NAMESPACE, name)
    if not home.owns(live):
        raise ForeignObject(
            f"Namespace '{name}' already exists and does not belong to this job: delete the job and create it again, or have an "
            "administrator delete the namespace"
        )
    if _is_new(context, live):
        context.provisioner.forget(name, home.name)
        forget()
        for guest in guests:
            guest.forget(home.labels[labels.JOB_UID])
    if is_terminating(live):
        raise RetryLater(1, f"namespace {name} is being deleted")
    uid = live["metadata"]["uid"]
    if is_made:
        meta = _identify_job(home)
        status = status_of(context.cache.jobs.get(meta["name"], meta["namespace"]))
        await context.apply_status(kinds.NESTED_APP_JOB, {"metadata": meta}, {**status, "namespaceUID": uid})
    elif not await _is_recorded(context, home, uid):
        log.warning("%s: the job's status does not have this namespace; it is made again", name)
        await spare_volumes(guests, live)  # somebody may have emptied the status of a job that ran
        await context.api.delete(kinds.NAMESPACE, name, uid=uid)
        raise RetryLater(1, f"namespace {name} is made again")
    # By its UID, or what somebody else has deleted meanwhile would be made again without a record.
    await context.applier.ensure(kinds.NAMESPACE, body | {"metadata": body["metadata"] | {"uid": uid}})
    owner = owner_reference(kinds.NAMESPACE.api_version, kinds.NAMESPACE.name, name, uid)
    return replace(home, nodes_binding_owner=owner)


async def keep_home_keys(context: Context, home: Home) -> None:
    """Renew the keys of a job's cluster that is refused but may be running.

    Not in a namespace that somebody else made: the kubeconfig there could lead the job's user anywhere.
    """
    live = context.cache.find(kinds.NAMESPACE, home.namespace)
    if live is None or is_terminating(live):
        return
    with keep_refused(home, "renew the keys of a refused cluster"):
        if not await _is_recorded(context, home, live["metadata"]["uid"]):
            return
        if _is_new(context, live):
            context.provisioner.forget(home.namespace, home.name)
        await context.provisioner.keep_keys(home)
        await tell_rotation(context, home)


async def _is_recorded(context: Context, home: Home, uid: str) -> bool:
    """Whether the job's status has this UID: proof that Nestor made the namespace, whose name can be known beforehand, and whose
    labels prove nothing. Users cannot write the status. If the cache says no, the API server is asked: an earlier operator may
    have written it just before it ended.
    """
    name, where = home.labels[labels.JOB], home.labels[labels.JOB_NAMESPACE]
    if status_of(context.cache.jobs.get(name, where)).get("namespaceUID") == uid:
        return True
    job = await context.api.find(kinds.NESTED_APP_JOB, name, where)
    if job is None or job["metadata"]["uid"] != home.labels[labels.JOB_UID]:
        raise RetryLater(1, "the job was deleted meanwhile")
    context.cache.jobs.put(job)
    return bool(status_of(job).get("namespaceUID") == uid)


def _is_new(context: Context, live: Object) -> bool:
    """Whether the previous namespace was deleted, or this one is being deleted."""
    name, uid = live["metadata"]["name"], live["metadata"]["uid"]
    is_known = context.applier.enter(name, uid)
    if is_terminating(live):
        context.applier.forget(name)
        return True
    return not is_known


async def ensure_defaults(context: Context, shape: Shape) -> None:
    """The default resources of containers, and their limits. Before any pod of the application."""
    await context.applier.ensure(kinds.LIMIT_RANGE, namespace.build_limit_range(shape, _list_own(shape)))


async def ensure_quota(context: Context, shape: Shape) -> None:
    """After the cluster's own objects: until the host has counted what there is, it refuses new ones."""
    await context.applier.ensure(kinds.RESOURCE_QUOTA, namespace.build_quota(shape, _list_own(shape)))


def _list_own(shape: Shape) -> list[Object]:
    """The resources of our own containers as they start, for which the quota leaves room."""
    return [*(container["resources"] for container in server.list_starting(shape)), RUNNER_RESOURCES]


def build_shape(context: Context, cluster: NestedClusterSpec, home: Home, policy: NestedClassSpec) -> Shape:
    settings = context.settings
    return Shape(
        **vars(home),
        image=cluster.image or "",
        core_dns_image=settings.core_dns_image,
        nestor_image=settings.image,
        host=context.host,
        policy=policy,
        persistence=cluster.persistence,
        server_seconds=settings.server_seconds,
        pulls=settings.pulls,
    )


async def end_boost(context: Context, shape: Shape, pod: Object) -> None:
    """Give back the processor time of a server's start. Where no pod can be resized, it asks for more than it needs."""
    if (patch := give_back(pod, server.list_containers(shape))) is not None:
        with contextlib.suppress(Forbidden, Invalid, NotFound):
            name = pod["metadata"]["name"]
            await context.api.patch(kinds.POD, name, shape.namespace, patch, subresource="resize", how="strategic")


@contextlib.contextmanager
def keep_refused(home: Home, purpose: str) -> Iterator[None]:
    """For what is done for a refused cluster. A failure is only logged: it must hide neither the reason nor what comes next."""
    try:
        yield
    except Exception as error:
        is_told = isinstance(error, ApiError | ForeignObject | RetryLater)
        log.warning("%s/%s: cannot %s: %s", home.namespace, home.name, purpose, error, exc_info=not is_told)


async def tell_rotation(context: Context, home: Home) -> None:
    """One event for each rotation of keys that the user asked for, about the job, once it is done."""
    if context.provisioner.take_rotation(home):
        message = "earlier kubeconfigs and certificates end within about a minute; the Secret with the kubeconfig has a new one"
        await context.post(kinds.NESTED_APP_JOB, {"metadata": _identify_job(home)}, "Normal", "KeysRotated", message)


def _identify_job(home: Home) -> Object:
    own = home.labels
    return {"name": own[labels.JOB], "namespace": own[labels.JOB_NAMESPACE], "uid": own[labels.JOB_UID]}

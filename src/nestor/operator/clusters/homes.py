"""Makes the namespace that a nested cluster has to itself, and bounds what it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from nestor.api import labels
from nestor.api.nestedclass import NamespacePolicy
from nestor.cluster import namespace, shared
from nestor.cluster.home import Home
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import Conflict, Kind, RetryLater, kinds
from nestor.objects import Object, is_terminating, labels_of, owner_reference
from nestor.operator.clusters.ensure import Start
from nestor.operator.world.context import Context


async def ensure_home(context: Context, home: Home, policy: NamespacePolicy, forget: Callable[[], None]) -> Home:
    """The namespace; the home comes back with a reference to it. One that is not this job's is never adopted.

    `forget`: called when the namespace is another one than before, so that all that was made in it is made again.
    """
    body, name = namespace.build_namespace(home.namespace, home.labels, policy), home.namespace
    live = context.cache.find(kinds.NAMESPACE, name)
    if live is None:
        try:
            live = await context.api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", **body})
        except Conflict:
            live = await context.api.get(kinds.NAMESPACE, name)
    if labels_of(live).get(labels.JOB_UID) != home.labels[labels.JOB_UID]:
        raise ForeignObject(f"Namespace '{name}' exists and is not this job's: delete it, or the job")
    if _is_new(context, live):
        context.provisioner.forget(name, home.name)
        forget()
    if is_terminating(live):
        raise RetryLater(1, f"namespace {name} is being deleted")
    live = await context.applier.ensure(kinds.NAMESPACE, body)
    owner = owner_reference(kinds.NAMESPACE.api_version, kinds.NAMESPACE.name, name, live["metadata"]["uid"])
    return replace(home, nodes_binding_owner=owner)


def _is_new(context: Context, live: Object) -> bool:
    """Whether somebody deleted the namespace that was there before, or deletes this one."""
    name, uid = live["metadata"]["name"], live["metadata"]["uid"]
    is_known = context.applier.enter(name, uid)
    if is_terminating(live):
        context.applier.forget(name)
        return True
    return not is_known


def ensure_limits(context: Context, shape: Shape, policy: NamespacePolicy, others: list[Object]) -> list[Start]:
    """Makes the quota and the default resources; emptied when the class no longer sets them.

    `others`: the resources of our own containers besides the server's, for which the quota leaves room too.
    """
    own = [container["resources"] for container in shared.list_containers(shape)] + others
    quota, limits = namespace.build_quota(shape, policy, own), namespace.build_limit_range(shape, policy)
    pairs: tuple[tuple[Kind, Object | None, Object], ...]
    pairs = ((kinds.RESOURCE_QUOTA, quota, {"hard": None}), (kinds.LIMIT_RANGE, limits, {"limits": []}))
    ensure, empty = context.applier.ensure, context.applier.ensure_emptied
    return [
        partial(ensure, kind, body) if body else partial(empty, kind, namespace.QUOTA_NAME, shape.namespace, nothing)
        for kind, body, nothing in pairs
    ]

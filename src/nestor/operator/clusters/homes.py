"""Creates the namespace that a job's cluster has to itself, and limits its resources."""

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
from nestor.kube import Conflict, RetryLater, kinds
from nestor.objects import Object, is_terminating, labels_of, owner_reference
from nestor.operator.clusters.ensure import Start
from nestor.operator.world.context import Context


async def ensure_home(context: Context, home: Home, policy: NamespacePolicy, forget: Callable[[], None]) -> Home:
    """Ensure the namespace; returns the home with a reference to it. A namespace of another owner is never adopted.

    `forget` is called when the namespace was recreated, so that everything in it is created again.
    """
    body, name = namespace.build_namespace(home.namespace, home.labels, policy), home.namespace
    live = context.cache.find(kinds.NAMESPACE, name)
    if live is None:
        try:
            live = await context.api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", **body})
        except Conflict:
            live = await context.api.get(kinds.NAMESPACE, name)
    if labels_of(live).get(labels.JOB_UID) != home.labels[labels.JOB_UID]:
        raise ForeignObject(f"Namespace '{name}' already exists and does not belong to this job: delete the namespace or the job")
    if _is_new(context, live):
        context.provisioner.forget(name, home.name)
        forget()
    if is_terminating(live):
        raise RetryLater(1, f"namespace {name} is being deleted")
    live = await context.applier.ensure(kinds.NAMESPACE, body)
    owner = owner_reference(kinds.NAMESPACE.api_version, kinds.NAMESPACE.name, name, live["metadata"]["uid"])
    return replace(home, nodes_binding_owner=owner)


def _is_new(context: Context, live: Object) -> bool:
    """Whether the previous namespace was deleted, or this one is being deleted."""
    name, uid = live["metadata"]["name"], live["metadata"]["uid"]
    is_known = context.applier.enter(name, uid)
    if is_terminating(live):
        context.applier.forget(name)
        return True
    return not is_known


def ensure_defaults(context: Context, shape: Shape, policy: NamespacePolicy) -> Start:
    """Ensure the default resources of containers. Before any pod of the application."""
    return partial(context.applier.ensure, kinds.LIMIT_RANGE, namespace.build_limit_range(shape, policy))


def ensure_quota(context: Context, shape: Shape, policy: NamespacePolicy, others: list[Object]) -> Start:
    """Ensure the quota. After the cluster's own objects: until the host has counted what there is, it refuses new ones.

    `others`: the resources of our own containers besides the server's; the quota leaves room for them too.
    """
    own = [container["resources"] for container in shared.list_containers(shape)] + others
    return partial(context.applier.ensure, kinds.RESOURCE_QUOTA, namespace.build_quota(shape, policy, own))

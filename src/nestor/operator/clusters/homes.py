"""Creates the namespace that a job's cluster has to itself, and limits its resources."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from nestor.api import labels
from nestor.api.class_namespace import NamespacePolicy
from nestor.api.nestedclass import NestedClassSpec
from nestor.cluster import namespace, shared
from nestor.cluster.access import SYNCER_ROLE
from nestor.cluster.home import Home
from nestor.cluster.provision import ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import Conflict, RetryLater, kinds
from nestor.names import Part
from nestor.objects import Object, is_terminating, labels_of, owner_reference
from nestor.operator.clusters.ensure import Start, keep_refused, renew_keys
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)


async def ensure_home(
    context: Context, home: Home, policy: NestedClassSpec, forget: Callable[[], None], recorded: str | None = None
) -> Home:
    """Ensure the namespace; returns the home with a reference to it. A namespace of another owner is never adopted.

    `forget` is called when the namespace was recreated, so that everything in it is created again. `recorded`: the UID that the
    job's status has of it.
    """
    body, name = namespace.build_namespace(home.namespace, home.labels, policy), home.namespace
    live = context.cache.find(kinds.NAMESPACE, name)
    if live is None:
        try:
            live = await context.api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", **body})
            context.made[name] = live["metadata"]["uid"]
        except Conflict:
            live = await context.api.get(kinds.NAMESPACE, name)
    if labels_of(live).get(labels.JOB_UID) != home.labels[labels.JOB_UID]:
        raise _refuse(name)
    if not is_terminating(live):
        await _check_made(context, home, live, recorded)
    if _is_new(context, live):
        context.provisioner.forget(name, home.name)
        forget()
    if is_terminating(live):
        raise RetryLater(1, f"namespace {name} is being deleted")
    live = await context.applier.ensure(kinds.NAMESPACE, body)
    owner = owner_reference(kinds.NAMESPACE.api_version, kinds.NAMESPACE.name, name, live["metadata"]["uid"])
    return replace(home, nodes_binding_owner=owner)


async def keep_home_keys(context: Context, home: Home, recorded: str | None) -> None:
    """Renew the keys of a job's cluster that is refused but may be running.

    Not in a namespace that somebody else made: the kubeconfig there could lead the job's user anywhere. `recorded`: see
    `ensure_home`.
    """
    live = context.cache.find(kinds.NAMESPACE, home.namespace)
    if live is None or is_terminating(live):
        return

    async def keep() -> None:
        if not await _is_proven(context, home, live, recorded):
            return
        if _is_new(context, live):
            context.provisioner.forget(home.namespace, home.name)
        await renew_keys(context, home)

    await keep_refused(home, "renew the keys of a refused cluster", keep())


async def _check_made(context: Context, home: Home, live: Object, recorded: str | None) -> None:
    """Raises unless Nestor made the namespace.

    Without proof, what has no cluster yet is deleted and made again: an operator that died right after it had made the namespace
    leaves that behind, and so does somebody who wants to own it.
    """
    if await _is_proven(context, home, live, recorded):
        return
    name, uid = live["metadata"]["name"], live["metadata"]["uid"]
    if context.cache.clusters.get(home.name, name) is not None:
        raise _refuse(name)
    log.warning("%s: nothing proves that Nestor made this namespace; it is made again", name)
    await context.api.delete(kinds.NAMESPACE, name, uid=uid)
    raise RetryLater(1, f"namespace {name} is made again")


async def _is_proven(context: Context, home: Home, live: Object, recorded: str | None) -> bool:
    """Whether Nestor made the namespace: its name can be known beforehand, and labels prove nothing.

    Proof is the UID in the job's status, which users cannot write, or the binding to the syncer's role, which takes a right that
    they do not have.
    """
    name, uid = live["metadata"]["name"], live["metadata"]["uid"]
    if context.made.get(name) != uid and recorded != uid:
        binding = await context.api.find(kinds.ROLE_BINDING, home.child(Part.SYNCER), name)
        if (binding or {}).get("roleRef", {}).get("name") != SYNCER_ROLE:
            return False
    context.made[name] = uid
    return True


def _refuse(name: str) -> ForeignObject:
    return ForeignObject(
        f"Namespace '{name}' already exists and does not belong to this job: delete the job and create it again, or have an "
        "administrator delete the namespace"
    )


def _is_new(context: Context, live: Object) -> bool:
    """Whether the previous namespace was deleted, or this one is being deleted."""
    name, uid = live["metadata"]["name"], live["metadata"]["uid"]
    is_known = context.applier.enter(name, uid)
    if is_terminating(live):
        context.applier.forget(name)
        return True
    return not is_known


def ensure_defaults(context: Context, shape: Shape, policy: NamespacePolicy, others: list[Object]) -> Start:
    """Ensure the default resources of containers, and their limits. Before any pod of the application. `others`: as below."""
    body = namespace.build_limit_range(shape, policy, _list_own(shape, others))
    return partial(context.applier.ensure, kinds.LIMIT_RANGE, body)


def ensure_quota(context: Context, shape: Shape, policy: NamespacePolicy, others: list[Object]) -> Start:
    """Ensure the quota. After the cluster's own objects: until the host has counted what there is, it refuses new ones.

    `others`: the resources of our own containers besides the server's; the quota leaves room for them too.
    """
    body = namespace.build_quota(shape, policy, _list_own(shape, others))
    return partial(context.applier.ensure, kinds.RESOURCE_QUOTA, body)


def _list_own(shape: Shape, others: list[Object]) -> list[Object]:
    return [container["resources"] for container in shared.list_containers(shape)] + others

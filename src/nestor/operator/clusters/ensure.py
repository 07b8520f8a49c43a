"""The single path that creates and maintains every nested cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from nestor.api import labels
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.cluster import policies, shared
from nestor.cluster.home import Home
from nestor.cluster.provision import Addresses, ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import ApiError, RetryLater, kinds
from nestor.kube.tasks import together
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)

Start = Callable[[], Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Alongside:
    """What the caller creates in parallel with a cluster, to save time. If one part fails, no later part starts."""

    first: tuple[Start, ...] = ()
    """Before any pod of the cluster."""
    then: tuple[Start, ...] = ()
    """Together with the keys, after everything in `first` is done."""
    last: tuple[Start, ...] = ()
    """Together with the server's pod."""


@dataclass(frozen=True)
class Ensured:
    """A cluster whose objects are up to date."""

    addresses: Addresses
    problem: str | None = None
    """Why there is no kubeconfig for its user."""


def build_shape(context: Context, cluster: NestedClusterSpec, home: Home, policy: NestedClassSpec, *, replicas: int = 1) -> Shape:
    """The shape of a cluster, from its complete spec, its home and its class. Chooses the mode; so far there is only one."""
    settings = context.settings
    shape = shared.build_shape(
        cluster,
        home,
        policy,
        host=context.host,
        nestor_image=settings.image,
        core_dns_image=settings.core_dns_image,
        replicas=replicas,
    )
    return replace(shape, server_seconds=settings.server_seconds)


async def ensure_cluster(context: Context, shape: Shape, along: Alongside | None = None) -> Ensured:
    """Create or update all objects of a cluster in one pass.

    1. What its pods need; 2. what needs the Services' addresses; 3. the server's pod and the user's kubeconfig.
    """
    along, provisioner = along or Alongside(), context.provisioner
    addresses, *_ = await together(provisioner.ensure_surroundings(shape), *(start() for start in along.first))
    await together(provisioner.ensure_access(shape, addresses), *(start() for start in along.then))
    problem, *_ = await together(
        _ensure_kubeconfig(context, shape, addresses),
        provisioner.ensure_server(shape, addresses),
        *(start() for start in along.last),
    )
    # Last: whoever reads of a rotation finds the new kubeconfig.
    await _tell_rotation(context, shape)
    return Ensured(addresses, problem)


async def _ensure_kubeconfig(context: Context, shape: Shape, addresses: Addresses) -> str | None:
    """Returns the problem instead of failing: the cluster runs even if a user's Secret already has the kubeconfig's name."""
    try:
        await context.provisioner.ensure_kubeconfig(shape, addresses.api)
    except ForeignObject as error:
        return f"its kubeconfig could not be written: {error}"
    return None


async def keep_keys(context: Context, home: Home) -> None:
    """Renew the keys of a cluster that is refused but may be running: without them, it would end with its certificates."""
    await keep_refused(home, "renew the keys of a refused cluster", renew_keys(context, home))


async def keep_walls(home: Home, work: Coroutine[Any, Any, Any]) -> None:
    """Do the `work` that holds a cluster to what its class allows now, though it is refused."""
    await keep_refused(home, "hold a refused cluster to its class", work)


async def keep_refused(home: Home, purpose: str, work: Coroutine[Any, Any, Any]) -> None:
    """Do the `work` for a cluster that is refused. A failure is only logged: it must not hide why the cluster is refused, nor
    keep it from what else holds it to its limits.
    """
    try:
        await work
    except Exception as error:
        is_told = isinstance(error, ApiError | ForeignObject | RetryLater)
        log.warning("%s/%s: cannot %s: %s", home.namespace, home.name, purpose, error, exc_info=not is_told)


async def renew_keys(context: Context, home: Home) -> None:
    """Renew the keys of a cluster that was made before, and tell its user of a rotation."""
    await context.provisioner.keep_keys(home)
    await _tell_rotation(context, home)


async def _tell_rotation(context: Context, home: Home) -> None:
    """One event for each rotation of keys that the user asked for, about the job, once it is done."""
    if context.provisioner.take_rotation(home):
        own, kind = home.labels, kinds.NESTED_APP_JOB
        meta = {"name": own[labels.JOB], "namespace": own[labels.JOB_NAMESPACE], "uid": own[labels.JOB_UID]}
        message = "earlier kubeconfigs and certificates end within about a minute; the Secret with the kubeconfig has a new one"
        about = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": meta}
        await context.events.post(about, "Normal", "KeysRotated", message)


async def ensure_policies(context: Context, shape: Shape) -> None:
    """Ensure the network policies alone, of a cluster that was made before."""
    await together(*(context.applier.ensure(kinds.NETWORK_POLICY, body) for body in policies.build_policies(shape)))

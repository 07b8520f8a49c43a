"""The one path by which a nested cluster comes into being and stays as it should be: a job's, a user's, later one of a pool."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.cluster import shared
from nestor.cluster.home import Home
from nestor.cluster.provision import Addresses, ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube.tasks import together
from nestor.operator.world.context import Context

Start = Callable[[], Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Alongside:
    """What somebody makes together with a cluster, so that it takes no time of its own. Where one fails, nothing later begins."""

    first: tuple[Start, ...] = ()
    """Before any pod of the cluster."""
    then: tuple[Start, ...] = ()
    """Together with the keys: what the first have brought is there."""
    last: tuple[Start, ...] = ()
    """Together with the server's pod."""


@dataclass(frozen=True)
class Ensured:
    """A cluster whose objects are as they should be."""

    addresses: Addresses
    problem: str | None = None
    """Why there is no kubeconfig for its user."""


def build_shape(context: Context, cluster: NestedClusterSpec, home: Home, policy: NestedClassSpec, *, replicas: int = 1) -> Shape:
    """The cluster of a complete spec, at its home, by its class. The mode is chosen here, and there is one."""
    return shared.build_shape(cluster, home, policy, host=context.host, nestor_image=context.settings.image, replicas=replicas)


async def ensure_cluster(context: Context, shape: Shape, along: Alongside | None = None) -> Ensured:
    """All objects of a cluster, in one pass.

    1. what its pods need; 2. what needs the Services' addresses; 3. the server's pod, and the kubeconfig for the user.
    """
    along, provisioner = along or Alongside(), context.provisioner
    addresses, *_ = await together(provisioner.ensure_surroundings(shape), *(start() for start in along.first))
    await together(provisioner.ensure_access(shape, addresses), *(start() for start in along.then))
    problem, *_ = await together(
        _ensure_kubeconfig(context, shape, addresses),
        provisioner.ensure_server(shape, addresses),
        *(start() for start in along.last),
    )
    return Ensured(addresses, problem)


async def _ensure_kubeconfig(context: Context, shape: Shape, addresses: Addresses) -> str | None:
    """A Secret of the user's that has its name does not keep the cluster from running."""
    try:
        await context.provisioner.ensure_kubeconfig(shape, addresses)
    except ForeignObject as error:
        return f"its kubeconfig could not be written: {error}"
    return None

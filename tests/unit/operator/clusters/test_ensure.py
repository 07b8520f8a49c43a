"""The order in which a cluster's objects are created, and what is created alongside."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.cluster.provision import Addresses, ForeignObject
from nestor.cluster.shape import Shape
from nestor.kube import Forbidden
from nestor.operator.clusters.ensure import Alongside, Ensured, ensure_cluster
from nestor.operator.world.context import Context
from tests.unit.operator.builders import build_shape

ADDRESSES = Addresses("10.43.0.5", "10.43.0.6")


class FakeProvisioner:
    """Notes what it is asked."""

    def __init__(self, is_foreign: bool = False) -> None:
        self.steps: list[str] = []
        self.is_foreign = is_foreign

    def take_rotation(self, _: Shape) -> None:
        """Nobody asked for one."""

    async def ensure_surroundings(self, shape: Shape) -> Addresses:
        """1."""
        self.steps.append("surroundings")
        return ADDRESSES

    async def ensure_access(self, shape: Shape, addresses: Addresses) -> None:
        """2."""
        self.steps.append("access")

    async def ensure_kubeconfig(self, shape: Shape, addresses: Addresses) -> None:
        """3, which somebody's Secret may be in the way of."""
        self.steps.append("kubeconfig")
        if self.is_foreign:
            raise ForeignObject("Secret 'hello-kubeconfig' already exists and is not Nestor's")

    async def ensure_server(self, shape: Shape, addresses: Addresses) -> None:
        """3."""
        self.steps.append("server")


async def ensure(provisioner: FakeProvisioner, along: Alongside) -> Ensured:
    """One pass."""
    nothing = cast(Any, None)
    context = Context(nothing, nothing, nothing, nothing, nothing, nothing, nothing, cast(Any, provisioner))
    return await ensure_cluster(context, build_shape(), along)


async def test_what_is_made_alongside_takes_its_place_in_the_order_of_needs() -> None:
    provisioner = FakeProvisioner()

    def note(step: str) -> Any:
        async def start() -> None:
            provisioner.steps.append(step)

        return start

    along = Alongside(first=(note("object"),), then=(note("policy"),), last=(note("ingress"),))
    assert await ensure(provisioner, along) == Ensured(ADDRESSES)
    assert [set(part) for part in (provisioner.steps[:2], provisioner.steps[2:4], provisioner.steps[4:])] == [
        {"surroundings", "object"},
        {"access", "policy"},
        {"kubeconfig", "server", "ingress"},
    ]


async def test_what_is_refused_first_keeps_the_server_from_being_made() -> None:
    provisioner = FakeProvisioner()

    async def refuse() -> None:
        raise Forbidden(403, "Forbidden", "no")

    with pytest.raises(Forbidden):
        await ensure(provisioner, Alongside(first=(refuse,)))
    assert provisioner.steps == ["surroundings"]


async def test_a_kubeconfig_that_cannot_be_written_is_told_and_ends_nothing() -> None:
    provisioner = FakeProvisioner(is_foreign=True)
    made = await ensure(provisioner, Alongside())
    assert made.problem == "its kubeconfig could not be written: Secret 'hello-kubeconfig' already exists and is not Nestor's"
    assert "server" in provisioner.steps

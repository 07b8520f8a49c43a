"""Two operators and a Lease: one works, and the other takes over."""

import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api import times
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.world import build_job, host_namespace
from tests.waiting import eventually, exists

pytestmark = pytest.mark.slow

LEASE = {"NESTOR_LEASE": "nestor-operator", "NESTOR_LEASE_SECONDS": "45"}
"""On a busy machine, an operator that starts may not come to renew a much shorter one."""
AS_IN_THE_CHART = {"NESTOR_LEASE_SECONDS": "15"}


@pytest.fixture
async def admin(spare_plane: apiserver.ControlPlane) -> AsyncIterator[Api]:
    """A client with all rights."""
    async with await Api.connect(str(spare_plane.kubeconfig), manager="test") as client:
        yield client


def held_by(place: str) -> Any:
    """Whether a process in that pod holds the Lease."""
    return lambda found: str(((found or {}).get("spec") or {}).get("holderIdentity", "")).startswith(f"{place}_")


async def await_holder(api: Api, place: str) -> dict[str, Any]:
    """The Lease, once a process in that pod holds it."""
    return await exists(api, kinds.LEASE, "nestor-operator", "nestor-system", held_by(place))


async def make_job(api: Api, name: str) -> str:
    """A job of a user's; its own namespace, once an operator has made it."""
    await api.apply(kinds.NAMESPACE, {"metadata": {"name": "leader"}})
    return await host_namespace(api, await api.create(kinds.NESTED_APP_JOB, build_job(name, "leader")))


def works(operator: Operator) -> bool:
    """Whether it has begun to work."""
    return "nestor operator: Service ranges" in operator.log.read_text()


async def test_the_second_takes_over_when_the_first_is_killed(spare_plane: apiserver.ControlPlane, admin: Api) -> None:
    async with operator_running(spare_plane, more=LEASE | {"POD_NAME": "first"}) as first:
        before = await await_holder(admin, "first")
        async with operator_running(spare_plane, more=LEASE | {"POD_NAME": "second"}) as second:
            await make_job(admin, "before")
            assert await second.health("healthz") == 200
            assert not works(second)
            first.kill()
            # As if it had said so itself: nobody is to wait for the rest of 45 s.
            soon = {"spec": {"leaseDurationSeconds": 2}}
            await admin.patch(kinds.LEASE, "nestor-operator", "nestor-system", soon)
            await await_holder(admin, "second")
            await make_job(admin, "after")
            assert works(second)
            lease = await admin.get(kinds.LEASE, "nestor-operator", "nestor-system")
        after = await admin.get(kinds.LEASE, "nestor-operator", "nestor-system")
        assert lease["spec"]["leaseTransitions"] == before["spec"]["leaseTransitions"] + 1
        assert after["spec"]["holderIdentity"] == ""


async def test_one_that_was_frozen_ends_when_it_wakes_and_writes_nothing(spare_plane: apiserver.ControlPlane, admin: Api) -> None:
    async with operator_running(spare_plane, more=LEASE | AS_IN_THE_CHART | {"POD_NAME": "frozen"}) as first:
        await await_holder(admin, "frozen")
        async with operator_running(spare_plane, more=LEASE | {"POD_NAME": "awake"}) as second:
            await make_job(admin, "known")
            os.kill(first.process.pid, signal.SIGSTOP)
            await await_holder(admin, "awake")
            second.kill()
            await second.process.wait()
            # Whatever is written from here on, the first one has written: there is no other.
            made = await admin.create(kinds.NESTED_APP_JOB, build_job("unknown", "leader"))
            os.kill(first.process.pid, signal.SIGCONT)
            first.is_deposed = True
            await first.process.wait()
            assert "Lease 'nestor-operator'" in first.log.read_text().splitlines()[-1]
            assert await admin.get(kinds.NESTED_APP_JOB, "unknown", "leader") == made
    # Nobody has released it.
    await admin.delete(kinds.LEASE, "nestor-operator", "nestor-system")


async def test_one_that_was_frozen_goes_on_if_nobody_else_had_the_lease(spare_plane: apiserver.ControlPlane, admin: Api) -> None:
    """As on a node without processor time to spare: it stands still for longer than its Lease lasts."""
    async with operator_running(spare_plane, more=LEASE | {"NESTOR_LEASE_SECONDS": "3", "POD_NAME": "alone"}) as operator:
        before = await await_holder(admin, "alone")
        os.kill(operator.process.pid, signal.SIGSTOP)
        made = await admin.create(kinds.NESTED_APP_JOB, build_job("meanwhile", "leader"))
        renewed = (await admin.get(kinds.LEASE, "nestor-operator", "nestor-system"))["spec"]["renewTime"]

        async def is_late() -> bool:
            return times.seconds_since(renewed) > 4

        await eventually(is_late)
        os.kill(operator.process.pid, signal.SIGCONT)
        await host_namespace(admin, made)
        after = await await_holder(admin, "alone")
        assert after["spec"]["holderIdentity"] == before["spec"]["holderIdentity"]


async def test_a_new_process_of_the_same_pod_goes_on_at_once(spare_plane: apiserver.ControlPlane, admin: Api) -> None:
    """A job gets its namespace before the Lease could have run out."""
    patient = LEASE | {"NESTOR_LEASE_SECONDS": "600"}
    async with operator_running(spare_plane, more=patient | {"POD_NAME": "same"}) as first:
        await await_holder(admin, "same")
        first.kill()
    async with operator_running(spare_plane, more=patient | {"POD_NAME": "same"}):
        await make_job(admin, "again")


async def test_one_that_stands_by_ends_when_it_is_told_to(spare_plane: apiserver.ControlPlane, admin: Api) -> None:
    async with operator_running(spare_plane, more=LEASE | {"POD_NAME": "leads"}):
        await await_holder(admin, "leads")
        async with operator_running(spare_plane, more=LEASE | {"POD_NAME": "waits"}) as second:
            assert not works(second)
        lease = await admin.get(kinds.LEASE, "nestor-operator", "nestor-system")
        assert held_by("leads")(lease)

"""The conformance tests of backends: places outside the host cluster, for virtual nodes (`pods.providers.base.Backend`)."""

import asyncio
import re
from typing import Protocol

import pytest

from nestor.api.objects import Object
from nestor.api.quantities import parse_quantity
from nestor.pods.providers.base import Backend, Updates
from nestor.pods.providers.errors import NotFound, Unreachable
from tests.conformance.providers.contract import AnyPlace, PodsContract, build_pod, gone
from tests.waiting import eventually

_STATUS = {"phase", "reason", "message", "conditions"}
_DERIVED = {"PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"}
_CONTAINERS = ("initContainerStatuses", "containerStatuses")


class BackendPlace(AnyPlace, Protocol):
    """What the tests of backends need: your backend, and control over the place where it runs pods."""

    provider: Backend
    """The backend under test."""

    async def start(self, pod: Object) -> None:
        """Make the pod's containers run."""

    async def end(self, pod: Object, code: int) -> None:
        """End the pod's containers with this exit code."""

    async def finish(self, pod: Object) -> None:
        """Remove a terminating pod for good, once its containers have stopped."""

    async def forget(self, pod: Object) -> None:
        """Lose the pod, without having been asked."""

    def count_starts(self, pod: Object) -> int:
        """How often the place was told to run the pod with this UID, and did so."""

    async def stop(self) -> None:
        """Do not answer any more."""


class BackendContract(PodsContract):
    """The tests that every backend must pass. A subclass supplies the fixture `place`."""

    async def test_repeated_and_concurrent_creates_start_a_pod_once(self, place: BackendPlace, name: str) -> None:
        pod = build_pod(place, name)
        await asyncio.gather(*(place.provider.create(pod) for _ in range(5)))
        await place.provider.create(pod)
        assert place.count_starts(pod) == 1

    async def test_pods_with_the_same_name_are_told_apart_by_uid(self, place: BackendPlace, name: str) -> None:
        earlier, later = build_pod(place, name), build_pod(place, name)
        await place.provider.create(earlier)
        await place.start(earlier)
        await place.provider.delete(earlier, grace_seconds=0)
        await gone(place, earlier)
        await place.provider.create(later)
        await place.provider.delete(earlier, grace_seconds=0)

        async def is_told() -> bool:
            return list(await place.provider.statuses([earlier, later])) == [later["metadata"]["uid"]]

        await eventually(is_told)
        with pytest.raises(NotFound):
            await place.provider.get(earlier)

    async def test_deleting_a_pod_that_was_never_created_succeeds(self, place: BackendPlace, name: str) -> None:
        pod = build_pod(place, name)
        await place.provider.delete(pod)
        assert not await place.provider.statuses([pod])

    async def test_statuses_follow_pods_from_pending_to_their_end(self, place: BackendPlace, name: str) -> None:
        pods = [build_pod(place, f"{name}-{index}") for index in range(3)]
        for pod in pods:
            pod["spec"]["restartPolicy"] = "Never"
            await place.provider.create(pod)
        assert await self._phases(place, pods) == ["Pending"] * 3
        await place.start(pods[1])
        await place.start(pods[2])
        await eventually(lambda: self._is(place, pods, ["Pending", "Running", "Running"]))
        await place.end(pods[1], 0)
        await place.end(pods[2], 3)
        await eventually(lambda: self._is(place, pods, ["Pending", "Succeeded", "Failed"]))
        found = await place.provider.statuses(pods)
        ended = found[pods[2]["metadata"]["uid"]]["containerStatuses"][0]["state"]["terminated"]
        assert ended["exitCode"] == 3

    async def test_statuses_have_only_what_the_place_alone_can_know(self, place: BackendPlace, name: str) -> None:
        pod = build_pod(place, name)
        await place.provider.create(pod)
        await place.start(pod)
        await eventually(lambda: self._is(place, [pod], ["Running"]))
        (status,) = (await place.provider.statuses([pod])).values()
        assert status.keys() <= {*_STATUS, *_CONTAINERS}
        assert [item["name"] for item in status["containerStatuses"]] == ["app"]
        assert status["containerStatuses"][0]["ready"] is True
        assert not {item["type"] for item in status.get("conditions") or []} & _DERIVED

    async def test_what_does_not_change_keeps_its_times(self, place: BackendPlace, name: str) -> None:
        pod = build_pod(place, name)
        await place.provider.create(pod)
        await place.start(pod)
        await eventually(lambda: self._is(place, [pod], ["Running"]))
        (first,) = (await place.provider.statuses([pod])).values()
        (second,) = (await place.provider.statuses([pod | {"status": first}])).values()
        assert second == first

    async def test_forgotten_pods_are_missing_and_the_others_are_not(self, place: BackendPlace, name: str) -> None:
        pods = [build_pod(place, f"{name}-{index}") for index in range(4)]
        for pod in pods:
            await place.provider.create(pod)
        await place.forget(pods[1])
        found = await place.provider.statuses(pods)
        assert found.keys() == {pod["metadata"]["uid"] for index, pod in enumerate(pods) if index != 1}

    async def test_terminating_pods_are_known_until_they_are_gone(self, place: BackendPlace, name: str) -> None:
        pod = build_pod(place, name)
        await place.provider.create(pod)
        await place.start(pod)
        await place.provider.delete(pod, grace_seconds=20)
        assert await place.provider.statuses([pod])
        await place.provider.delete(pod, grace_seconds=5)
        await place.finish(pod)
        await gone(place, pod)

    async def test_shapes_have_names_and_amounts_that_nodes_may_have(self, place: BackendPlace) -> None:
        for shape in await place.provider.discover() or []:
            assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", shape.name)
            assert all(parse_quantity(amount) >= 0 for amount in shape.capacity.values())

    async def test_a_place_that_does_not_answer_is_unreachable(self, place: BackendPlace, name: str) -> None:
        pod = build_pod(place, name)
        await place.provider.create(pod)
        await place.provider.check()
        await place.stop()
        with pytest.raises(Unreachable):
            await place.provider.check()
        for call in (place.provider.statuses([pod]), place.provider.get(pod), place.provider.delete(pod)):
            with pytest.raises(Unreachable):
                await call
        with pytest.raises(Unreachable):
            await place.provider.create(build_pod(place, f"{name}-b"))

    async def _phases(self, place: BackendPlace, pods: list[Object]) -> list[str]:
        found = await place.provider.statuses(pods)
        return [found[pod["metadata"]["uid"]]["phase"] for pod in pods]

    async def _is(self, place: BackendPlace, pods: list[Object], phases: list[str]) -> bool:
        return await self._phases(place, pods) == phases


class UpdatesContract:
    """What a backend with `updates` must pass as well: inherit it beside `BackendContract`."""

    async def test_an_update_may_be_repeated(self, place: BackendPlace, name: str) -> None:
        pod = build_pod(place, name)
        await place.provider.create(pod)
        pod["metadata"]["labels"] |= {"color": "red"}
        pod["spec"]["ephemeralContainers"] = [{"name": item, "image": "example/debug:1"} for item in ("a", "b")]
        for _ in range(2):
            assert await updates_of(place).update(pod) == []

    async def test_an_update_of_a_deleted_pod_raises_not_found(self, place: BackendPlace, name: str) -> None:
        pod = build_pod(place, name)
        await place.provider.create(pod)
        await place.provider.delete(pod, grace_seconds=0)
        await gone(place, pod)
        with pytest.raises(NotFound):
            await updates_of(place).update(pod)


def updates_of(place: BackendPlace) -> Updates:
    """What changes pods there."""
    assert place.provider.updates is not None
    return place.provider.updates

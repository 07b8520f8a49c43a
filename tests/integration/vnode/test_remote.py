"""Virtual nodes whose backend is another cluster: two real API servers, one on each side. The other one's kubelets are played."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api.objects import Object, conditions_of, labels_of, spec_of, status_of
from nestor.kube import Api, kinds
from nestor.overflow.vnode.pods import inputs
from tests.fakes.cluster import build_running
from tests.integration.apiserver import ControlPlane
from tests.integration.providers import remote
from tests.integration.providers.remote import Far
from tests.integration.vnode.world import World, kill_at_each, mark_of
from tests.waiting import eventually

VOLUME = {"name": "v", "configMap": {"name": "settings"}}


@pytest.fixture
async def far(host: Api, control_plane: ControlPlane) -> AsyncIterator[Far]:
    """A namespace of the other cluster."""
    async with remote.opened(host, control_plane) as found:
        yield found


@pytest.fixture
async def away(virtual: World, far: Far) -> World:
    """Virtual nodes whose pods run there, and a ConfigMap."""
    await configure(virtual, "1")
    await virtual.stop()
    await begin(virtual, far)
    return virtual


async def begin(world: World, far: Far) -> None:
    """Start the process with a provider that knows nothing yet."""
    provider: Any = await far.connect()
    world.backend = provider
    await world.start()


async def configure(world: World, value: str) -> None:
    """A user writes a ConfigMap."""
    await world.api.apply(kinds.CONFIG_MAP, {"metadata": {"name": "settings", "namespace": world.space}, "data": {"a": value}})


async def released(far: Far, uid: str) -> Object:
    """The pod there, once it may run."""

    async def look() -> list[Object]:
        found = await far.api.list(kinds.POD, far.space, labels=f"nestor.dev/host-uid={uid}")
        return [item for item in found if not spec_of(item).get("schedulingGates")]

    return (await eventually(look))[0]


async def is_empty(far: Far) -> bool:
    """Whether nothing is left there."""
    return not [name for kind in (kinds.POD, kinds.CONFIG_MAP, kinds.SECRET) for name in await far.names(kind)]


async def go_through(world: World, far: Far, name: str) -> str:
    """A pod is bound, runs there, and is deleted."""
    uid = await world.bind(name, volumes=[VOLUME])
    await released(far, uid)
    await far.run(uid)
    await world.pod(name, lambda pod: mark_of(pod) == "Accepted" and status_of(pod)["phase"] == "Running")
    await world.api.delete(kinds.POD, name, world.space, grace_seconds=1)
    await world.pod(name, lambda pod: pod is None)
    return uid


async def test_a_pod_runs_there_and_ends_as_it_has_ended(away: World, far: Far) -> None:
    uid = await away.bind("web", volumes=[VOLUME])
    there = await released(far, uid)
    await away.accepted("web")
    assert sorted(item["name"] for item in there["spec"]["volumes"])[-1] == "v"
    copies = await far.api.list(kinds.CONFIG_MAP, far.space, labels=f"nestor.dev/host-uid={uid}")
    assert {"a": "1"} in [item["data"] for item in copies]
    assert len(await far.names(kinds.SECRET)) == 1  # the token of the host's service account
    await far.run(uid)
    running = await away.phase("web", "Running")
    assert {item["type"]: item["status"] for item in conditions_of(running)}["Ready"] == "True"
    assert "podIP" not in status_of(running)
    await far.end(uid, 3)
    ended = await away.phase("web", "Failed")
    assert status_of(ended)["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    await away.api.delete(kinds.POD, "web", away.space)
    await away.phase("web", None)
    await eventually(lambda: is_empty(far))
    assert far.starts == {uid: 1}


async def test_what_a_pod_was_given_follows(away: World, far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(inputs, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(inputs, "PERIOD_SECONDS", 0.2)
    uid = await away.bind("web", volumes=[VOLUME])
    await released(far, uid)
    await away.stop()
    await begin(away, far)  # whose pauses are short
    await configure(away, "2")

    async def is_new() -> bool:
        copies = await far.api.list(kinds.CONFIG_MAP, far.space, labels=f"nestor.dev/host-uid={uid}")
        return {"a": "2"} in [item["data"] for item in copies]

    await eventually(is_new)
    assert far.starts == {uid: 1}


async def test_changes_of_a_pod_that_runs_follow_and_one_that_cannot_is_told(away: World, far: Far) -> None:
    container = {"name": "app", "image": "example/web:1", "resources": {"requests": {"cpu": "10m"}}}
    uid = await away.bind("web", containers=[container])
    await released(far, uid)
    await far.run(uid)
    there = await far.of(uid)
    # API servers let a pod be resized only if its kubelet says what is in force, and its node has so much.
    amounts = {"cpu": "4", "memory": "8Gi"}
    sizes = {"status": {"capacity": amounts, "allocatable": amounts}}
    await far.api.patch(kinds.NODE, remote.NODE, None, sizes, subresource="status")
    running = build_running(there)
    running["containerStatuses"][0]["resources"] = container["resources"]
    await far.tell(there, running)
    await away.pod("web", lambda pod: "resources" in ((status_of(pod).get("containerStatuses") or [{}])[0]))

    async def change(patch: Object, part: str | None = None) -> None:
        await away.api.patch(kinds.POD, "web", away.space, patch, subresource=part, how="strategic")

    await change({"metadata": {"labels": {"tier": "front"}}})
    bad = {"name": "bad", "image": "example/debug:1", "securityContext": {"privileged": True}}
    await change({"spec": {"ephemeralContainers": [bad]}}, "ephemeralcontainers")
    await change({"spec": {"ephemeralContainers": [{"name": "debug", "image": "example/debug:1"}]}}, "ephemeralcontainers")
    await change({"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "20m"}}}]}}, "resize")

    async def has_followed() -> bool:
        now = await far.of(uid)
        names = [item["name"] for item in now["spec"].get("ephemeralContainers") or []]
        size = now["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        return "front" in labels_of(now).values() and names == ["debug"] and size == "20m"

    await eventually(has_followed)

    async def is_told() -> list[str]:
        events = await away.api.list(kinds.EVENT, away.space, fields="involvedObject.name=web,reason=PodUpdateRefused")
        return [item["message"] for item in events]

    (message,) = await eventually(is_told)
    assert "privileged" in message
    # A process that is new sends nothing again but what was refused.
    await away.stop()
    await begin(away, far)
    await change({"metadata": {"labels": {"tier": "back"}}})

    async def is_back() -> bool:
        return "back" in labels_of(await far.of(uid)).values()

    await eventually(is_back)
    now = await far.of(uid)
    assert now["metadata"]["generation"] == there["metadata"]["generation"] + 2  # the debug container and the resize
    assert far.starts == {uid: 1}


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_it_may_be_killed_at_each_of_its_writes_there(
    away: World, far: Far, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def is_write(method: str, path: str) -> bool:
        return method != "GET" and f"/namespaces/{far.space}/" in path

    number, live, again = 0, functools.partial(go_through, away, far), functools.partial(begin, away, far)
    async for number, uid in kill_at_each(away, is_write, moment, monkeypatch, live, again):
        found = await far.api.list(kinds.POD, far.space, labels=f"nestor.dev/host-uid={uid}")
        assert not found, f"write {number}"
    assert number > 4
    await eventually(lambda: is_empty(far))

"""A process that ends, and the one that follows it: nothing is lost, and nothing runs twice."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.kube import kinds
from tests.unit.overflow.vnode.world import SPACE, World

Object = dict[str, Any]


@pytest.mark.slow
async def test_a_thousand_pods_outlive_it(world: World) -> None:
    names = [f"web-{index}" for index in range(1000)]
    uids = {name: world.bind(name) for name in names}
    await world.until(lambda: len(world.backend.pods) == 1000)
    for uid in uids.values():
        world.backend.run(uid)
    await world.until(lambda: all((world.look(name) or {})["status"]["phase"] == "Running" for name in names))
    await world.stop()
    # Meanwhile, some end, some are deleted, and one is bound.
    for name in names[:50]:
        world.backend.end(uids[name])
    for name in names[50:100]:
        world.delete(name)
    late = world.bind("late")
    asked = len(world.api.asked)
    calls = world.backend.calls.copy()
    await world.start()
    await world.until(lambda: all((world.look(name) or {})["status"]["phase"] == "Succeeded" for name in names[:50]))
    await world.until(lambda: all(world.look(name) is None for name in names[50:100]))
    await world.until(lambda: late in world.backend.pods)
    assert set(world.backend.starts.values()) == {1}
    assert len(world.backend.pods) == 951
    assert world.backend.calls["create"] - calls["create"] == 1
    assert world.backend.calls["get"] - calls["get"] <= 100
    written = {item for item in world.api.asked[asked:] if item.startswith("PATCH")}
    untouched = {f"PATCH pods {SPACE}/{name}/status" for name in names[100:]}
    assert not written & untouched


async def test_finished_pods_are_not_sent_again(world: World) -> None:
    """Nor when the backend has forgotten them."""
    uid = world.bind("web")
    await world.mark("web", "Accepted")
    world.backend.end(uid)
    await world.phase("web", "Succeeded")
    await world.stop()
    world.backend.finish(uid)
    await world.start()
    other = world.bind("other")
    await world.until(lambda: other in world.backend.pods)
    await world.settle()
    assert world.backend.starts == {uid: 1, other: 1}
    assert (world.look("web") or {})["status"]["phase"] == "Succeeded"


async def test_it_starts_while_the_backend_is_away(world: World) -> None:
    uid = await world.run()
    await world.stop()
    world.backend.is_down = True
    await world.start()
    begin = world.backend.count("statuses")
    await world.until(lambda: world.backend.count("statuses") > begin + 3)
    assert (world.look("web") or {})["status"]["phase"] == "Running"
    world.backend.is_down = False
    world.backend.end(uid)
    await world.phase("web", "Succeeded")
    assert world.backend.starts == {uid: 1}


async def test_a_pod_of_the_same_name_came_while_it_was_away(world: World) -> None:
    first = world.bind("web")
    await world.mark("web", "Accepted")
    await world.stop()
    world.api.drop(kinds.POD, "web", SPACE)
    second = world.bind("web")
    await world.start()
    await world.until(lambda: second in world.backend.pods)
    assert world.backend.starts == {first: 1, second: 1}

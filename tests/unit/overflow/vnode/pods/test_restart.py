"""A process that ends, and the one that follows it: nothing is lost, and nothing runs twice."""

from tests.unit.overflow.vnode.world import World


async def test_finished_pods_are_not_sent_again(world: World) -> None:
    """Nor when the backend has forgotten them."""
    uid = await world.accept()
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
    await world.polled(3)
    assert (world.look("web") or {})["status"]["phase"] == "Running"
    world.backend.is_down = False
    world.backend.end(uid)
    await world.phase("web", "Succeeded")
    assert world.backend.starts == {uid: 1}

"""PodDisruptionBudgets: the host's one has the number that the nested controller works out, also after the syncer's restart."""

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import kinds
from tests.integration.syncer.conftest import Allow
from tests.integration.syncer.world import World
from tests.waiting import until

LABELS = {"app": "web"}


def budget(space: str) -> Object:
    spec = {"minAvailable": "50%", "selector": {"matchLabels": LABELS}}
    return {"metadata": {"name": "web", "namespace": space}, "spec": spec}


def deployment(space: str, replicas: int) -> Object:
    pod = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "app", "image": "example/web:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": pod}
    return {"metadata": {"name": "web", "namespace": space}, "spec": spec}


async def minimum(world: World, space: str) -> int | None:
    """What the host's budget says; None if there is none."""
    found = await world.host.find(kinds.POD_DISRUPTION_BUDGET, names.host_name("web", space), world.namespace)
    return None if found is None else int(found["spec"]["minAvailable"])


async def becomes(world: World, space: str, number: int | None) -> None:
    """Wait for it."""
    await until(lambda: minimum(world, space), lambda found: found == number)


async def test_the_host_s_number_follows_the_size_of_the_workload(world: World, space: str, allow: Allow) -> None:
    await allow(placement={"disruptionBudgets": True})
    await world.nested.create(kinds.DEPLOYMENT, deployment(space, 4))
    await world.nested.create(kinds.POD_DISRUPTION_BUDGET, budget(space))
    await becomes(world, space, 2)
    await world.nested.patch(kinds.DEPLOYMENT, "web", space, {"spec": {"replicas": 8}})
    await becomes(world, space, 4)
    await world.stop()
    await world.nested.patch(kinds.POD_DISRUPTION_BUDGET, "web", space, {"spec": {"minAvailable": 1}})
    await world.start()
    await becomes(world, space, 1)
    await allow(placement={"disruptionBudgets": False})
    await becomes(world, space, None)
    events = await world.nested.list(kinds.EVENT, space, fields="reason=NotCarried")
    assert ["placement.disruptionBudgets" in item["message"] for item in events] == [True]
    await allow(placement={"disruptionBudgets": True})
    await becomes(world, space, 1)
    await world.nested.delete(kinds.POD_DISRUPTION_BUDGET, "web", space)
    await becomes(world, space, None)

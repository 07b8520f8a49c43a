"""What becomes of gangs: the operator's decisions, and host pods that are held."""

from collections.abc import Callable

from nestor.api.objects import Object, status_of
from nestor.kube import kinds
from nestor.operator.guests.gangs.keeper import GangKeeper
from tests.integration.syncer.world import CLUSTER, NODE, World
from tests.waiting import until

HERE: Object = {"nodeSelector": {"kubernetes.io/hostname": NODE}}
"""Other tests of the same host have nodes of their own."""
RULES: Object = HERE | {"gang": {}, "overflow": {"backends": [{"name": "hpc"}]}}


async def look(world: World, keeper: GangKeeper, gang: str = "") -> Object:
    """One pass of the operator's; what it decided about this gang, or the only one there is."""
    cache = keeper._context.cache
    cache.clusters.put(await world.host.get(kinds.NESTED_CLUSTER, CLUSTER, world.namespace))
    await keeper.look()
    cluster = await world.host.get(kinds.NESTED_CLUSTER, CLUSTER, world.namespace)
    found: list[Object] = status_of(cluster).get("gangs") or []
    return next((item for item in found if gang in (item["gang"], "")), {})


async def decided(world: World, keeper: GangKeeper, check: Callable[[Object], bool], gang: str = "") -> Object:
    """What the operator decided, once `check` is true for it."""
    return await until(lambda: look(world, keeper, gang), check)


def is_held(pod: Object) -> bool:
    """Whether a host pod is held."""
    return {"name": "nestor.dev/gang"} in (pod["spec"].get("schedulingGates") or [])


async def until_let_go(world: World, pod: Object) -> Object:
    """The host pod of a nested one, once it is not held any more."""
    return await until(lambda: world.host_pod(pod), lambda found: not is_held(found))

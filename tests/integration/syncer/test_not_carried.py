"""Objects of kinds that Nestor does not carry say so once, of built-in kinds and of those that somebody defines later."""

from nestor.api.objects import Object
from nestor.kube import Kind, NotFound, kinds
from tests.integration.syncer.world import World
from tests.waiting import gone, until

ROUTE = Kind("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": f"{ROUTE.plural}.{ROUTE.group}",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api"},
    },
    "spec": {
        "group": ROUTE.group,
        "scope": "Namespaced",
        "names": {"plural": ROUTE.plural, "kind": ROUTE.name},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": SCHEMA}],
    },
}


def ingress(space: str, name: str) -> Object:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    metadata = {"name": name, "namespace": space}
    return {"metadata": metadata, "spec": {"defaultBackend": backend}}


async def make_route(world: World, space: str, name: str) -> None:
    """The definition is established a moment before it is served."""
    route = {"apiVersion": ROUTE.api_version, "kind": ROUTE.name, "metadata": {"name": name, "namespace": space}}

    async def is_made() -> bool:
        try:
            await world.nested.create(ROUTE, route)
        except NotFound:
            return False
        return True

    await world.eventually(is_made)


async def told(world: World, space: str) -> list[tuple[str, str]]:
    """Kind and name of the objects with such an event, one for each."""
    events = await world.nested.list(kinds.EVENT, space, fields="reason=NotCarried")
    return sorted((item["involvedObject"]["kind"], item["involvedObject"]["name"]) for item in events)


async def tells(world: World, space: str, *expected: tuple[str, str]) -> None:
    await until(lambda: told(world, space), lambda found: found == sorted(expected))


async def test_what_is_not_carried_is_told_once_also_across_a_restart(world: World, space: str) -> None:
    await world.nested.create(kinds.INGRESS, ingress(space, "early"))
    await tells(world, space, ("Ingress", "early"))
    await world.nested.create(kinds.CRD, DEFINITION)
    await make_route(world, space, "web")
    await tells(world, space, ("HTTPRoute", "web"), ("Ingress", "early"))
    await world.stop()
    await world.start()
    await world.nested.create(kinds.INGRESS, ingress(space, "late"))
    await tells(world, space, ("HTTPRoute", "web"), ("Ingress", "early"), ("Ingress", "late"))
    await world.nested.delete(kinds.CRD, DEFINITION["metadata"]["name"])
    await gone(world.nested, kinds.CRD, DEFINITION["metadata"]["name"], "")
    await world.nested.create(kinds.CRD, DEFINITION)
    await make_route(world, space, "again")
    await tells(world, space, ("HTTPRoute", "again"), ("HTTPRoute", "web"), ("Ingress", "early"), ("Ingress", "late"))
    await world.nested.delete(kinds.CRD, DEFINITION["metadata"]["name"])

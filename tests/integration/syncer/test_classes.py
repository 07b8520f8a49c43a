"""PriorityClasses and RuntimeClasses that the class allows: the nested API server takes pods that name them, and the host too."""

from collections.abc import AsyncIterator

import pytest

from nestor.api.objects import Object
from nestor.kube import Invalid, Kind, kinds
from nestor.kube.errors import ApiError
from tests.integration.syncer.conftest import Allow
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.world import World
from tests.waiting import until

RULES: Object = {"priorityClasses": {"allowed": ["classes-batch"]}, "runtimeClasses": {"allowed": ["classes-gvisor"]}}


@pytest.fixture
async def host_classes(world: World) -> AsyncIterator[None]:
    """The classes that the host has."""
    for kind, name, content in (
        (kinds.PRIORITY_CLASS, "classes-batch", {"value": 700, "preemptionPolicy": "Never"}),
        (kinds.RUNTIME_CLASS, "classes-gvisor", {"handler": "runsc", "overhead": {"podFixed": {"cpu": "250m"}}}),
    ):
        body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, **content}
        await world.host.create(kind, body)

    yield
    await world.host.delete(kinds.PRIORITY_CLASS, "classes-batch")
    await world.host.delete(kinds.RUNTIME_CLASS, "classes-gvisor")


async def is_there(world: World, kind: Kind, name: str, wanted: bool) -> None:
    """Wait until the nested cluster has it, or has it no more."""
    await until(lambda: world.nested.find(kind, name), lambda found: (found is not None) is wanted)


@pytest.mark.usefixtures("host_classes")
async def test_pods_may_name_the_classes_that_are_allowed(world: World, space: str, allow: Allow) -> None:
    pod = build_pod(space, priorityClassName="classes-batch", runtimeClassName="classes-gvisor")
    with pytest.raises(ApiError, match="no PriorityClass with name classes-batch"):
        await world.nested.create(kinds.POD, pod)
    await allow(placement=RULES)
    await is_there(world, kinds.PRIORITY_CLASS, "classes-batch", True)
    await is_there(world, kinds.RUNTIME_CLASS, "classes-gvisor", True)

    async def taken() -> Object | None:
        try:
            return await world.nested.create(kinds.POD, pod)
        except Invalid:
            raise
        except ApiError:  # the admission's own cache does not know the classes yet
            return None

    nested = await world.eventually(taken)
    assert nested["spec"]["priority"] == 700
    assert nested["spec"]["overhead"] == {"cpu": "250m"}
    spec = (await world.host_pod(nested))["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("classes-batch", 700, "Never")
    assert (spec["runtimeClassName"], spec["overhead"]) == ("classes-gvisor", {"cpu": "250m"})

    own = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": f"own-{space}"}, "handler": "runsc"}
    await world.nested.create(kinds.RUNTIME_CLASS, own)
    pod = build_pod(space, "second", runtimeClassName=f"own-{space}")
    second = await world.host_pod(await world.eventually(taken))
    assert second["spec"]["runtimeClassName"] == "classes-gvisor"
    await world.nested.delete(kinds.RUNTIME_CLASS, f"own-{space}")
    await allow(placement=None)
    await is_there(world, kinds.PRIORITY_CLASS, "classes-batch", False)
    await is_there(world, kinds.RUNTIME_CLASS, "classes-gvisor", False)

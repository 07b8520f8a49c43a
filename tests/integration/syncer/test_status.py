"""NestedCluster.status, and the probes."""

import json

from nestor.api.objects import Object, status_of
from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod, start
from tests.integration.syncer.world import CLUSTER, START, World
from tests.waiting import has, until


async def status(world: World) -> Object:
    """What the syncer wrote."""
    found: Object = (await world.host.get(kinds.NESTED_CLUSTER, CLUSTER, world.namespace))["status"]
    return found


async def test_ready_and_version_are_written(world: World) -> None:
    async def ready() -> Object | None:
        """The probe says so a moment earlier."""
        found = await status(world)
        return found if has("Ready", "True", "Provisioned")({"status": found}) else None

    assert (await world.eventually(ready))["kubernetesVersion"].startswith("v1.")


async def test_conditions_of_others_stay(world: World, space: str) -> None:
    other = {"type": "Admitted", "status": "True", "reason": "Accepted", "message": "", "lastTransitionTime": START}
    meta = {"name": CLUSTER, "namespace": world.namespace}
    await world.host.apply(kinds.NESTED_CLUSTER, {"metadata": meta, "status": {"conditions": [other]}}, subresource="status")
    await start(world, build_pod(space))

    async def counted() -> bool:
        """Also the pods of other tests, whose number may have been written some seconds ago."""
        running = [pod for pod in await world.nested.list(kinds.POD) if status_of(pod).get("phase") == "Running"]
        return bool(running and (await status(world))["pods"]["running"] == len(running))

    await world.eventually(counted)
    assert {item["type"] for item in (await status(world))["conditions"]} == {"Admitted", "Ready"}


async def test_the_run_is_copied_and_nonsense_is_not(world: World) -> None:
    run = {
        "version": 1,
        "hash": "h",
        "state": "Running",
        "steps": [{"name": "web", "type": "kubectl", "state": "Running", "attempt": 1, "maxAttempts": 1}],
    }
    meta = {"name": "nestor-run", "namespace": "kube-system"}
    await world.nested.create(kinds.CONFIG_MAP, {"metadata": meta, "data": {"run.json": json.dumps(run)}})
    await until(lambda: status(world), lambda found: found.get("run", {}).get("steps", [{}])[0].get("state") == "Running")
    run["state"] = "Nonsense"
    await world.nested.patch(kinds.CONFIG_MAP, "nestor-run", "kube-system", {"data": {"run.json": json.dumps(run)}})
    await until(lambda: status(world), lambda found: "run" not in found)
    await world.nested.delete(kinds.CONFIG_MAP, "nestor-run", "kube-system")


async def test_probes_answer(world: World) -> None:
    assert await world.probe("readyz") == 200
    assert await world.probe("healthz") == 200
    assert await world.probe("metrics") == 200

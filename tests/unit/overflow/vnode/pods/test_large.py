"""Large pods: anybody may have some on a virtual node. They cost little memory, and those that are sent are sent whole."""

import json
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.contracts.vnode import SENT
from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.overflow.vnode.pods import status
from nestor.overflow.vnode.pods.inputs import Refresher
from nestor.overflow.vnode.pods.trim import FEW, SENT_LIMIT, WHOLE_LIMIT, find_excess, find_size, is_cut, trim_pod
from tests.unit.overflow.vnode.pods.test_refresh import Refreshes
from tests.unit.overflow.vnode.world import SPACE, World


def fill(size: int) -> list[Object]:
    env = [{"name": f"a{number}"} for number in range(size // 20)]
    return [{"name": "app", "image": "example/web:1", "env": env}]


def weigh(pod: Object | None) -> int:
    return len(json.dumps(pod))


@pytest.mark.parametrize("policy", ["Never", "Always"])
async def test_large_pods_are_refused_and_not_kept(world: World, policy: str) -> None:
    uid = world.bind("web", containers=fill(1_400_000), restartPolicy=policy)
    await world.until(lambda: ((world.look("web") or {}).get("status") or {}).get("reason") == "BackendRefused")
    found = await world.phase("web", "Failed" if policy == "Never" else "Pending")
    assert found["reason"] == "BackendRefused"
    assert f"at most {SENT_LIMIT}" in found["message"]
    assert world.backend.count("create") == 0
    assert weigh(world.entry(uid).last) < WHOLE_LIMIT
    await world.stop()
    await world.start()
    assert weigh(world.entry(uid).last) < WHOLE_LIMIT


async def test_one_that_is_not_kept_whole_is_sent_whole(world: World) -> None:
    containers = fill(2 * WHOLE_LIMIT)
    uid = await world.accept(containers=containers)
    assert weigh(world.entry(uid).last) < WHOLE_LIMIT
    assert world.backend.pods[uid]["spec"]["containers"] == containers
    world.backend.run(uid)
    await world.phase("web", "Running")
    world.backend.end(uid)
    await world.phase("web", "Succeeded")


async def test_one_that_has_grown_since_it_was_sent_is_no_other(world: World) -> None:
    uid = await world.run()
    world.edit("web", metadata={"annotations": {"note": "x" * SENT_LIMIT}})
    await world.until(lambda: is_cut(world.entry(uid).last))
    await world.stop()
    await world.start()
    await world.until(lambda: world.entry(uid).there == "Present")
    assert world.backend.starts == {uid: 1}
    world.backend.end(uid)
    await world.phase("web", "Succeeded")


async def test_it_is_kept_up_to_date(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nestor.overflow.vnode.pods.inputs.FIRST_SECONDS", 0.0)
    world.api.put(kinds.CONFIG_MAP, {"metadata": {"name": "settings", "namespace": SPACE}, "data": {"a": "1"}})
    volumes = [{"name": "v", "configMap": {"name": "settings"}}]
    for name, own in (("with", volumes), ("without", [])):
        await world.accept(name, containers=fill(2 * WHOLE_LIMIT), volumes=own)
    await world.until(lambda: all(entry.there == "Present" for entry in world.pods.registry))
    refreshes = Refreshes()
    await Refresher(refreshes, world.pods.registry, world.health).look()
    assert [(name, inputs.config_maps["settings"]["data"]) for name, inputs in refreshes.asked] == [("with", {"a": "1"})]


def build(**parts: Any) -> Object:
    meta = {"name": "web", "namespace": SPACE, "uid": "u", "resourceVersion": "1"} | parts.pop("meta", {})
    return {"metadata": meta, "spec": {"containers": fill(10_000)} | parts.pop("spec", {}), "status": parts.pop("status", {})}


def condition(kind: str, message: str = "") -> Object:
    return {"type": kind, "status": "True", "reason": "Accepted", "message": message}


def test_what_decisions_need_is_kept() -> None:
    """Above all, that the pod was sent, however many conditions others set."""
    gates = [condition(f"example.org/{number}", "x" * 5000) for number in range(3 * FEW)]
    meta = {
        "annotations": {f"a{number}": "x" for number in range(2000)} | {labels.PENDING_SECONDS: "30"},
        "finalizers": ["batch.kubernetes.io/job-tracking"],
        "ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "d", "apiVersion": "apps/v1", "controller": True}],
        "deletionTimestamp": "2030-01-01T00:00:00Z",
    }
    spec = {"restartPolicy": "Never", "activeDeadlineSeconds": 5}
    pod = build(meta=meta, spec=spec, status={"phase": "Running", "conditions": [*gates, condition(SENT)]})
    kept = trim_pod(pod)
    assert status.read_mark(kept) == "Accepted"
    assert kept["metadata"]["annotations"][labels.PENDING_SECONDS] == "30"
    assert {"finalizers", "ownerReferences", "deletionTimestamp", "uid", "resourceVersion"} <= kept["metadata"].keys()
    assert spec.items() <= kept["spec"].items()
    assert kept["status"]["phase"] == "Running"
    assert weigh(kept) < 4 * WHOLE_LIMIT
    assert find_size(kept) > WHOLE_LIMIT
    assert find_excess(kept)


def test_a_small_pod_is_kept_as_it_is() -> None:
    pod = build(spec={"containers": fill(100)}, meta={"managedFields": [{"manager": "x"}]})
    kept = trim_pod(pod)
    assert kept == pod | {"metadata": {key: value for key, value in pod["metadata"].items() if key != "managedFields"}}
    assert (is_cut(kept), find_size(kept), find_excess(kept)) == (False, 0, "")


@pytest.mark.parametrize("key", ["containers", "initContainers", "readinessGates"])
def test_very_many_parts_are_too_many(key: str) -> None:
    parts = [{"name": "n" * 60, "image": "i" * 10_000, "conditionType": "c" * 300}] * 1000
    kept = trim_pod(build(spec={key: parts}))
    assert find_excess(kept)
    assert weigh(kept) < 8 * WHOLE_LIMIT

"""NestedCluster.status.outcome, by policies about real nested objects."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import Kind, kinds
from nestor.syncer.outcome.controller import MEMORY
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.world import CLUSTER, START, World
from tests.waiting import until

WIDGET = Kind("example.org", "v1", "widgets", "Widget")


@pytest.fixture(autouse=True)
async def no_policy_is_left(world: World) -> AsyncIterator[None]:
    """Each test begins and ends without a policy and without a memory."""
    yield
    await say(world, None, None)
    await told(world, lambda outcome: outcome is None)
    await world.nested.delete(kinds.CONFIG_MAP, MEMORY[1], MEMORY[0])


async def say(world: World, success: Object | None, failure: Object | None = None) -> None:
    """What the operator writes into the spec."""
    change = {"spec": {"successPolicy": success, "failurePolicy": failure}}
    await world.host.patch(kinds.NESTED_CLUSTER, CLUSTER, world.namespace, change)


async def told(world: World, check: Any) -> Object:
    """The outcome, once it is as awaited."""

    async def look() -> list[Object]:
        found = (await world.host.get(kinds.NESTED_CLUSTER, CLUSTER, world.namespace))["status"].get("outcome")
        return [found] if check(found) else []

    return (await world.eventually(look))[0]


def is_state(state: str, part: str = "") -> Any:
    """Whether an outcome has this state, and its message this part."""
    return lambda outcome: outcome is not None and outcome["state"] == state and part in outcome["message"]


def target(kind: str, space: str, name: str, **more: Any) -> Object:
    """One target of a policy."""
    return {"kind": kind, "namespace": space, "name": name, **more}


def job(space: str, name: str, labels: Object | None = None) -> Object:
    """A Job whose pods nobody runs: tests write its status."""
    template = {"spec": build_pod(space)["spec"] | {"restartPolicy": "Never"}}
    return {
        "metadata": {"name": name, "namespace": space, "labels": labels or {}},
        # No controller of this cluster takes part.
        "spec": {"template": template, "managedBy": "example.org/tests"},
    }


async def conclude(world: World, space: str, name: str, condition: str) -> None:
    """Play the Job's controller: it has come to its end."""
    before = "SuccessCriteriaMet" if condition == "Complete" else "FailureTarget"
    conditions = [
        {"type": kind, "status": "True", "reason": "Because", "message": "it is so", "lastTransitionTime": START}
        for kind in (before, condition)
    ]
    status: Object = {"conditions": conditions, "startTime": START}
    if condition == "Complete":
        status |= {"completionTime": START, "succeeded": 1}
    await world.nested.patch(kinds.JOB, name, space, {"status": status}, subresource="status", how="merge")


async def test_jobs_complete_one_after_the_other(world: World, space: str) -> None:
    await say(world, {"targets": [target("Job", space, "a"), target("Job", space, "b")]})
    await told(world, is_state("Running", f"Job {space}/a does not exist yet; Job {space}/b does not exist yet"))
    await world.nested.create(kinds.JOB, job(space, "a"))
    await told(world, is_state("Running", f"Waiting for Job {space}/a to be Complete"))
    await conclude(world, space, "a", "Complete")
    await told(world, is_state("Running", f"Job {space}/b does not exist yet"))
    await world.nested.delete(kinds.JOB, "a", space)  # as its time to live does
    await world.nested.create(kinds.JOB, job(space, "b"))
    await conclude(world, space, "b", "Complete")
    await told(world, is_state("Succeeded", f"Job {space}/a is Complete; Job {space}/b is Complete"))


async def test_a_restart_forgets_nothing(world: World, space: str) -> None:
    await say(world, {"targets": [target("Job", space, "a"), target("Job", space, "b")]})
    await world.nested.create(kinds.JOB, job(space, "a"))
    await conclude(world, space, "a", "Complete")
    await told(world, is_state("Running", f"Job {space}/b does not exist yet"))
    await until(
        lambda: world.nested.find(kinds.CONFIG_MAP, MEMORY[1], MEMORY[0]),
        lambda found: found is not None and f"{space}/a" in found["data"]["met.json"],
    )
    await world.stop()
    await world.nested.delete(kinds.JOB, "a", space)
    await world.nested.create(kinds.JOB, job(space, "b"))
    await conclude(world, space, "b", "Complete")
    await world.start()
    await told(world, is_state("Succeeded"))


async def test_a_pod_that_is_deleted_has_not_failed(world: World, space: str) -> None:
    await say(world, {"targets": [target("Job", space, "a")]}, {"targets": [target("Pod", space, "web")]})
    nested = await world.nested.create(kinds.POD, build_pod(space, restartPolicy="Never"))
    host = await world.host_pod(nested)
    await world.run(host)
    await world.nested_pod(nested, lambda pod: pod["status"]["phase"] == "Running")
    await world.nested.delete(kinds.POD, "web", space)
    await world.finish(host)
    await world.gone(world.nested, kinds.POD, nested)
    await world.nested.create(kinds.JOB, job(space, "a"))
    await conclude(world, space, "a", "Complete")
    assert (await told(world, lambda outcome: outcome is not None and outcome["state"] != "Running"))["state"] == "Succeeded"


async def test_a_kind_that_comes_later(world: World, space: str) -> None:
    chosen = target("Widget", space, "w", apiVersion="example.org/v1", condition="Ready")
    await say(world, {"targets": [chosen]}, {"targets": [chosen | {"condition": "Broken"}]})
    await told(world, is_state("Running", "Kind Widget of example.org/v1 does not exist yet"))
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    await world.nested.create(
        kinds.CRD,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.org"},
            "spec": {
                "group": "example.org",
                "names": {"kind": "Widget", "plural": "widgets"},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}],
            },
        },
    )
    await told(world, is_state("Running", f"Widget {space}/w does not exist yet"))
    widget: Object = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": space}}
    await world.nested.create(WIDGET, widget | {"status": {"conditions": [{"type": "Broken", "status": "True"}]}})
    await told(world, is_state("Failed", f"Widget {space}/w has failed"))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await world.nested.patch(WIDGET, "w", space, ready)
    await told(world, is_state("Succeeded", f"Widget {space}/w is Ready"))


async def test_the_outcome_is_about_this_server(world: World, space: str) -> None:
    await say(world, {"targets": [target("Job", space, "a")]})
    assert (await told(world, is_state("Running")))["serverUID"] == world.settings.server_uid == "server-pod-uid"

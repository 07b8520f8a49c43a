"""A running pod: the tenant's changes go down, status and events come up; what is refused is told."""

from __future__ import annotations

import pytest

from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod, condition
from tests.integration.syncer.requests.conftest import Object, Stage

pytestmark = pytest.mark.slow

SPACE = "pods"
GATE = "example.org/lb"
WAITING = {"name": "app", "image": "example/web:2", "imageID": "", "ready": False, "restartCount": 0}


async def test_requests(stage: Stage) -> None:
    world = stage.world
    await stage.set_up()
    resources = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}
    pod = build_pod(SPACE, container={"resources": resources}, readinessGates=[{"conditionType": GATE}])
    nested, host = await stage.start(_plain(pod))
    await _changes(stage)
    async with stage.step("its status changes: the image is not there"):
        reason = {"reason": "ImagePullBackOff", "message": f'no image for "{host["metadata"]["name"]}_{world.namespace}"'}
        await world.report(host, phase="Pending", containerStatuses=[WAITING | {"state": {"waiting": reason}}])
        await stage.recorder.settle()
    await _event(stage, host)
    async with stage.step("it ends"):
        await world.report(host, phase="Succeeded")
        await world.nested_pod(nested, lambda found: found["status"]["phase"] == "Succeeded")
    await stage.remove((nested, host))
    await _refusals(stage)
    stage.check()


def _plain(pod: Object) -> Object:
    """Without a token and links: other scenarios are about these."""
    pod["spec"] |= {"automountServiceAccountToken": False, "enableServiceLinks": False}
    return pod


async def _changes(stage: Stage) -> None:
    """Everything that may be changed of a pod."""
    image = {"containers": [{"name": "app", "image": "example/web:2"}]}
    toleration = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}
    more = {"containers": [{"name": "app", "resources": {"requests": {"cpu": "200m"}}}]}
    gated = {"type": GATE, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    debug = {"name": "debug", "image": "busybox:1.35", "targetContainerName": "app"}
    bad = {"name": "bad", "image": "busybox:1.35", "securityContext": {"privileged": True}}
    changes: list[tuple[str, Object, str | None]] = [
        ("a label", {"metadata": {"labels": {"app": None, "color": "blue"}}}, None),
        ("an annotation that nobody reads", {"metadata": {"annotations": {"note": "x"}}}, None),
        ("its image", {"spec": image}, None),
        ("its deadline", {"spec": {"activeDeadlineSeconds": 600}}, None),
        ("a toleration", {"spec": {"tolerations": [toleration]}}, None),
        ("its resources", {"spec": more}, "resize"),
        ("a readiness gate", {"status": {"conditions": [gated]}}, "status"),
        ("a debug container", {"spec": {"ephemeralContainers": [debug]}}, "ephemeralcontainers"),
        ("a debug container that may not be", {"spec": {"ephemeralContainers": [bad]}}, "ephemeralcontainers"),
    ]
    for title, change, part in changes:
        async with stage.step(f"the tenant changes {title}"):
            whole = await _whole(stage, change)
            await stage.world.nested.patch(kinds.POD, "web", SPACE, whole, subresource=part, how="strategic")
            await stage.recorder.settle()


async def _whole(stage: Stage, change: Object) -> Object:
    """Tolerations are one list: those that are there stay."""
    if "tolerations" in change.get("spec", {}):
        there = (await stage.world.nested.get(kinds.POD, "web", SPACE))["spec"]["tolerations"]
        return {"spec": {"tolerations": [*there, *change["spec"]["tolerations"]]}}
    return change


async def _event(stage: Stage, host: Object) -> None:
    """The host's kubelet tells of the pod, and again."""
    world, meta = stage.world, host["metadata"]
    about = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "namespace": world.namespace, "uid": meta["uid"]}
    event = {
        "metadata": {"name": f"{meta['name']}.1", "namespace": world.namespace},
        "involvedObject": about | {"fieldPath": "spec.containers{app}"},
        "reason": "Failed",
        "message": f"cannot pull for {meta['name']}",
        "type": "Warning",
        "count": 1,
        "source": {"component": "kubelet"},
    }
    async with stage.step("the host tells of it by an event"):
        await world.host.create(kinds.EVENT, event)
        await stage.recorder.settle()
    async with stage.step("and again"):
        await world.host.patch(kinds.EVENT, f"{meta['name']}.1", world.namespace, {"count": 2})
        await stage.recorder.settle()


async def _refusals(stage: Stage) -> None:
    """What gets no host pod, or not at once."""
    world = stage.world
    async with stage.step("a pod with a hostPath is refused"):
        body = _plain(build_pod(SPACE, "root", volumes=[{"name": "root", "hostPath": {"path": "/"}}]))
        nested = await world.nested.create(kinds.POD, body)
        await world.nested_pod(nested, lambda found: condition(found, "PodScheduled").get("reason") == "PodRefused")
    await world.nested.delete(kinds.POD, "root", SPACE)
    await world.gone(world.nested, kinds.POD, nested)
    quota = {"metadata": {"name": "none", "namespace": world.namespace}, "spec": {"hard": {"pods": "0"}}}
    await world.host.create(kinds.RESOURCE_QUOTA, quota)
    await world.refuses(kinds.POD, {"spec": {"containers": [{"name": "app", "image": "example/web:1"}]}})
    async with stage.step("a quota of the host refuses a pod"):
        nested = await world.nested.create(kinds.POD, _plain(build_pod(SPACE, "full")))
        await world.nested_pod(nested, lambda found: condition(found, "PodScheduled").get("reason") == "PodRefused")
    async with stage.step("the quota gives way"):
        await world.host.delete(kinds.RESOURCE_QUOTA, "none", world.namespace)
        host = await world.host_pod(nested)
    async with stage.step("that pod is bound"):
        await stage.bind(nested, host)
    async with stage.step("and goes"):
        await stage.remove((nested, host))
    async with stage.step("a pod with a scheduling gate is created"):
        gated = await world.nested.create(kinds.POD, _plain(build_pod(SPACE, "gated", schedulingGates=[{"name": "a.b/c"}])))
        await stage.recorder.settle()
    async with stage.step("it is let go"):
        await world.nested.patch(kinds.POD, "gated", SPACE, {"spec": {"schedulingGates": None}})
        host = await world.host_pod(gated)
    await stage.bind(gated, host)
    await stage.recorder.settle()
    await stage.remove((gated, host))

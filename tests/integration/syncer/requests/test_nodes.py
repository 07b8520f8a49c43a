"""Nodes: made for their first pod, kept like the host's, removed after their last one."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.requests.conftest import Object, Stage

pytestmark = pytest.mark.slow

SPACE = "nodes"
LATER = "2026-02-01T00:00:00Z"


async def test_requests(stage: Stage) -> None:
    await stage.set_up()
    first = await stage.create(_pod("first"))
    async with stage.step("a node's first pod is bound"):
        await stage.bind(*first)
    second = await stage.create(_pod("second"))
    async with stage.step("a second pod is bound to it"):
        await stage.bind(*second)
    await _changes(stage)
    async with stage.step("the nested node is changed by the tenant"):
        await stage.world.nested.patch(kinds.NODE, stage.node, None, {"metadata": {"labels": {"zone": "mine", "own": "x"}}})
        await stage.recorder.settle()
    async with stage.step("the nested node is deleted by the tenant"):
        await stage.world.nested.delete(kinds.NODE, stage.node)
        await stage.world.eventually(lambda: stage.world.nested.find(kinds.NODE, stage.node))
    async with stage.step("a pod goes, the other stays"):
        await stage.delete(*second)
        await stage.recorder.settle()
        await stage.end(*second)
    async with stage.step("the last pod goes"):
        await stage.remove(first)
    stage.check()


def _pod(name: str) -> Object:
    return build_pod(SPACE, name, automountServiceAccountToken=False, enableServiceLinks=False)


async def _changes(stage: Stage) -> None:
    """The host's node changes."""
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastTransitionTime": LATER}
    beat = ready | {"lastTransitionTime": "2026-01-01T00:00:00Z", "lastHeartbeatTime": LATER}
    capacity = {"cpu": "16", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "1"}
    changes: list[tuple[str, Object, str | None]] = [
        ("a heartbeat", {"status": {"conditions": [beat]}}, "status"),
        ("labels", {"metadata": {"labels": {"zone": "b", "disk": "ssd", "nestor.dev/private": "y"}}}, None),
        ("a label goes", {"metadata": {"labels": {"disk": None}}}, None),
        ("a taint", {"spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}}, None),
        ("a cordon", {"spec": {"unschedulable": True}}, None),
        ("capacity", {"status": {"capacity": capacity, "allocatable": capacity}}, "status"),
        ("a condition", {"status": {"conditions": [ready | {"status": "False", "lastHeartbeatTime": LATER}]}}, "status"),
    ]
    for title, change, part in changes:
        async with stage.step(f"the host's node changes: {title}"):
            await _patch(stage, change, part)
            await stage.recorder.settle()


async def _patch(stage: Stage, change: Object, part: str | None) -> Any:
    return await stage.world.host.patch(kinds.NODE, stage.node, None, change, subresource=part)

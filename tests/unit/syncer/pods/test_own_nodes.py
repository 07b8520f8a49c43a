"""Pods without a node are made anew when the tenant changes labels or taints of nested nodes, and those with one stay."""

from __future__ import annotations

from typing import Any

from nestor.api import labels
from nestor.api.objects import Object, annotations_of
from nestor.kube import kinds
from nestor.pods.translate.node_rules import REQUIRED
from nestor.syncer.translate.node import add_own, build_node
from tests.unit.pods.translate.builders import build_pod
from tests.unit.syncer.pods.scene import HOST, Scene

HOST_NODE = {"metadata": {"name": "n", "labels": {"zone": "a"}}, "spec": {}, "status": {}}


def put_node(scene: Scene, own: dict[str, str] | None = None, *taints: Object) -> None:
    """The nested node, as its row has made it and the tenant has changed it."""
    node = add_own(build_node(HOST_NODE, 10250), None)
    node["metadata"]["labels"] |= own or {}
    node["spec"]["taints"] = list(taints)
    scene.nested.put(kinds.NODE, node)


def find_hosts(scene: Scene) -> dict[str, Object]:
    found = [item for key, item in scene.api.objects.items() if key[:2] == ("pods", HOST)]
    return {annotations_of(item)[labels.NESTED_NAME]: item for item in found}


def find_names(host: Object | None) -> list[Any] | None:
    """By which nodes' names the host pod is limited; None if by none."""
    affinity = ((host or {"spec": {}})["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms")
    return [[item["operator"], *item["values"]] for term in terms for item in term["matchFields"]] if terms else None


async def test_a_taint_keeps_pods_away_until_it_goes_and_leaves_alone_those_that_have_a_node() -> None:
    scene = Scene()
    async with scene.running():
        put_node(scene)
        scene.add(1)
        await scene.until(lambda: "web-0" in find_hosts(scene))
        bound = find_hosts(scene)["web-0"]
        scene.api.put(kinds.POD, bound | {"spec": bound["spec"] | {"nodeName": "n"}})
        scene.add(1, first=1)
        await scene.until(lambda: "web-1" in find_hosts(scene))
        assert find_names(find_hosts(scene)["web-1"]) is None
        put_node(scene, None, {"key": "mine", "effect": "NoSchedule"})
        await scene.until(lambda: find_names(find_hosts(scene).get("web-1")) == [["NotIn", "n"]])
        put_node(scene)
        await scene.until(lambda: "web-1" in find_hosts(scene) and find_names(find_hosts(scene)["web-1"]) is None)
        assert find_hosts(scene)["web-0"]["metadata"]["uid"] == bound["metadata"]["uid"]


async def test_what_else_is_new_about_nodes_changes_no_pod() -> None:
    scene = Scene()
    async with scene.running():
        put_node(scene, {"disk": "ssd"})
        scene.nested.put(kinds.POD, build_pod(nodeSelector={"disk": "ssd"}))
        scene.nested.put(kinds.NODE, {"metadata": {"name": "tenants", "labels": {"disk": "ssd"}}, "spec": {}})
        await scene.until(lambda: find_names(find_hosts(scene).get("web")) == [["In", "n"]])
        before = find_hosts(scene)["web"]["metadata"]["uid"]
        put_node(scene, {"disk": "ssd", "other": "x"})
        await scene.calm()
        assert find_hosts(scene)["web"]["metadata"]["uid"] == before

"""Labels and taints that only nested nodes have: pods without a node are made anew for the nodes that they name."""

import copy
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, spec_of
from nestor.kube import kinds
from nestor.pods.translate.gang_room import Room, may_run
from nestor.pods.translate.node_rules import REQUIRED, list_required
from nestor.syncer.pods.own_nodes import NestedNode, build_mark, find_ignored, resolve
from nestor.syncer.translate.node import Own, add_own, build_node
from tests.unit.pods.translate.builders import build_pod
from tests.unit.syncer.pods.scene import Scene

HOST_NODE = {"metadata": {"name": "n", "labels": {"zone": "a"}}, "spec": {}, "status": {}}


def put_node(scene: Scene, own: dict[str, str] | None = None, *taints: Object) -> None:
    """The nested node, as its row has made it and the tenant has changed it."""
    node = add_own(build_node(HOST_NODE, 10250), None)
    node["metadata"]["labels"] |= own or {}
    node["spec"]["taints"] = list(taints)
    scene.nested.put(kinds.NODE, node)


def find_hosts(scene: Scene) -> dict[str, Object]:
    return {annotations_of(item)[labels.NESTED_NAME]: item for item in scene.host_pods()}


def find_names(host: Object | None) -> list[Any] | None:
    """By which nodes' names the host pod is limited; None if by none."""
    terms = list_required(spec_of(host))
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


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TAINT = {"key": "mine", "value": "x", "effect": "NoSchedule"}


def nested_node(own: dict[str, str] | None = None, *taints: Object, cordoned: bool = False, **host: str) -> NestedNode:
    own = own or {}
    return NestedNode({**host, **own}, Own(own, taints, cordoned))


NODES = {
    "a": nested_node({"disk": "ssd", "size": "5"}, zone="1"),
    "b": nested_node({"disk": "hdd"}, zone="1"),
    "c": nested_node(None, TAINT, zone="2"),
    "d": nested_node(None, zone="2"),
    "e": nested_node(None, cordoned=True, zone="2"),
    "f": nested_node(None, {"key": "mine", "effect": "NoExecute"}, zone="2"),
    "g": nested_node(None, {"key": "soft", "effect": "PreferNoSchedule"}, zone="2"),
}
ALL = [{"operator": "Exists"}]


def need(*terms: list[Object], **spec: Any) -> Object:
    selector = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return build_pod(affinity={"nodeAffinity": {REQUIRED: selector}}, **spec)


def at(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def place(pod: Object) -> str:
    """Where the host's scheduler lets it run, which knows the host's labels and taints alone; `h` is not mirrored."""
    rooms = [Room(name, {"zone": node.labels["zone"]}, (), {}) for name, node in NODES.items()]
    return "".join(room.name for room in [*rooms, Room("h", {"zone": "2"}, (), {})] if may_run(pod, room))


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (build_pod(), "abdgh"),
        (build_pod(tolerations=ALL), "abcdefgh"),
        (build_pod(tolerations=[{"key": "mine", "operator": "Exists"}]), "abcdfgh"),
        (build_pod(tolerations=[{"key": "mine", "operator": "Equal", "value": "x", "effect": "NoSchedule"}]), "abcdgh"),
        (build_pod(nodeName="c"), "abcdefgh"),
        (build_pod(nodeSelector={"disk": "ssd"}), "a"),
        (build_pod(nodeSelector={"disk": "ssd", "zone": "1"}), "a"),
        (build_pod(nodeSelector={"disk": "ssd", "zone": "2"}), ""),
        (build_pod(nodeSelector={"disk": "none"}), ""),
        (build_pod(nodeSelector={"zone": "2"}), "dgh"),
        (need([at("disk", "In", "ssd", "hdd")]), "ab"),
        (need([at("disk", "Exists")]), "ab"),
        (need([at("size", "Gt", "4")]), "a"),
        (need([at("size", "Lt", "4")]), ""),
        (need([at("disk", "NotIn", "hdd")]), "adgh"),
        (need([at("disk", "NotIn", "none")], tolerations=ALL), "abcdefgh"),
        (need([at("disk", "DoesNotExist")]), "dgh"),
        (need([at("disk", "In", "hdd")], [at("zone", "In", "2")]), "bdgh"),
        (need([at("disk", "In", "ssd"), at("zone", "In", "2")], [at("disk", "In", "hdd")]), "b"),
        (need([at("disk", "In", "ssd", "hdd")], nodeSelector={"disk": "hdd"}), "b"),
        (need([]), ""),
    ],
)
def test_a_pod_may_run_where_it_could_if_the_scheduler_knew(pod: Object, expected: str) -> None:
    before = copy.deepcopy(pod)
    found = resolve(pod, NODES)
    assert place(found) == expected
    assert pod == before
    keys = {item["key"] for term in list_required(found["spec"]) for item in term.get("matchExpressions") or []}
    assert not {*keys, *(found["spec"].get("nodeSelector") or {})} & {"disk", "size"}
    assert all(len(item["values"]) == 1 for term in list_required(found["spec"]) for item in term.get("matchFields") or [])


def test_a_pod_that_no_own_label_or_taint_concerns_stays_as_it_is() -> None:
    pod = need([at("zone", "Exists")], nodeSelector={"zone": "1"})
    for nodes in ({}, {"a": NODES["a"], "d": NODES["d"]}):
        assert resolve(pod, nodes) is pod
        assert build_mark(pod, resolve(pod, nodes)) == {}


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (at("disk", "In", "ssd", "hdd"), ["In a", "In b"]),
        (at("disk", "In", "none"), []),
        (at("disk", "NotIn", "ssd"), ["NotIn a"]),
        (at("disk", "NotIn", "none"), []),
        (at("zone", "In", "1"), ["zone"]),
    ],
)
def test_wishes_are_resolved_too_and_keep_their_weight(wish: Object, expected: list[str]) -> None:
    item = {"weight": 7, "preference": {"matchExpressions": [wish]}}
    pod = build_pod(affinity={"nodeAffinity": {PREFERRED: [item]}})
    nodes = {name: NODES[name] for name in ("a", "b", "g")}
    *found, avoided = resolve(pod, nodes)["spec"]["affinity"]["nodeAffinity"][PREFERRED]
    assert all(item["weight"] == 7 for item in found)
    assert [_describe(item["preference"]) for item in found] == expected
    assert avoided == {"weight": 50, "preference": {"matchFields": [at("metadata.name", "NotIn", "g")]}}


def _describe(term: Object) -> str:
    fields = [f"{item['operator']} {item['values'][0]}" for item in term.get("matchFields") or []]
    return " ".join([*fields, *(item["key"] for item in term.get("matchExpressions") or [])])


def test_topology_keys_of_the_tenant_s_own_are_told() -> None:
    spread = [{"topologyKey": "disk", "maxSkew": 1}, {"topologyKey": "zone", "maxSkew": 1}]
    near = {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": {"topologyKey": "size"}}]}}
    found = find_ignored(build_pod(topologySpreadConstraints=spread, affinity=near), NODES)
    assert [text.split(",")[0] for text in found] == [
        "`spec.affinity.podAntiAffinity` has the topology key 'size'",
        "`spec.topologySpreadConstraints` has the topology key 'disk'",
    ]

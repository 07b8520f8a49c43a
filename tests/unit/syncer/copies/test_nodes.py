"""Nodes of the host between two clusters in memory, and which of them a class shows."""

import json
from typing import Any

import pytest

from nestor.api import labels
from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.kube import Forbidden, NotFound, kinds
from nestor.syncer.copies.rows import nodes
from nestor.syncer.copies.rows.nodes import NodeRow, find_selector, is_shown
from tests.fakes.api import _is_selected
from tests.unit.syncer.at_work import breathe
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, Running, remembered, running


def host_node(**status: Any) -> Object:
    return {"metadata": {"name": "n", "labels": {"zone": "a"}}, "spec": {}, "status": {"capacity": {"cpu": "8"}, **status}}


def with_host_node() -> Clusters:
    clusters = Clusters.build()
    clusters.host.put(kinds.NODE, host_node())
    return clusters


def nested_node(clusters: Clusters) -> Any:
    return clusters.nested.look(kinds.NODE, "n")


async def with_node(made: Running) -> Any:
    await made.engine.ensure(("", "n"))
    made.clusters.add_pod(nodeName="n")
    await made.settle()
    return nested_node(made.clusters)


async def test_a_node_is_there_before_its_first_pod_and_asked_for_once() -> None:
    clusters = with_host_node()
    async with running(clusters, NodeRow) as made:
        node = await with_node(made)
        await made.engine.ensure(("", "n"))
        assert node["metadata"]["labels"] == {"zone": "a", "app.kubernetes.io/managed-by": "nestor"}
        assert clusters.nested.asked == ["POST nodes n"]


async def test_a_node_that_is_there_is_enough_whoever_s_it_is_and_whatever_it_says() -> None:
    clusters = with_host_node()
    async with running(clusters, NodeRow) as made:
        clusters.nested.hold(kinds.NODE)
        tenants = clusters.nested.put(kinds.NODE, {"metadata": {"name": "n", "labels": {"type": "virtual"}}, "spec": {}})
        await made.engine.ensure(("", "n"))
        clusters.host.put(kinds.NODE, host_node(capacity={"cpu": "9"}))
        await breathe()
        await made.engine.ensure(("", "n"))
        assert set(clusters.nested.asked) == {"POST nodes n"}
        assert nested_node(clusters) == tenants


async def test_no_pod_is_bound_to_a_node_that_is_gone() -> None:
    async with running(Clusters.build(), NodeRow) as made:
        with pytest.raises(NotFound):
            await made.engine.ensure(("", "n"))


async def test_a_node_that_a_tenant_deletes_is_back_while_pods_are_on_it() -> None:
    clusters = with_host_node()
    async with running(clusters, NodeRow) as made:
        node = await with_node(made)
        clusters.add_host_pod(nodeName="n")
        await breathe()
        clusters.nested.drop(kinds.NODE, "n")
        await breathe()
        await made.settle()
        assert nested_node(clusters)["metadata"]["uid"] != node["metadata"]["uid"]


async def test_a_tenant_s_labels_and_taints_stay() -> None:
    clusters = Clusters.build()
    taints = [{"key": "gpu", "effect": "NoSchedule"}]
    clusters.host.put(kinds.NODE, host_node() | {"spec": {"taints": taints}})
    async with running(clusters, NodeRow) as made:
        before = await with_node(made)
        own = {"key": "mine", "effect": "NoSchedule"}
        by_admission = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        before["metadata"]["labels"]["disk"] = "ssd"
        before["spec"]["taints"] += [by_admission, own]
        await made.put_nested(kinds.NODE, before)
        changed = host_node(capacity={"cpu": "9"}) | {"spec": {"taints": []}}
        changed["metadata"]["labels"] = {"rack": "7"}
        await made.put_host(kinds.NODE, changed)
        node = nested_node(clusters)
        managed = {"app.kubernetes.io/managed-by": "nestor"}
        assert node["metadata"]["labels"] == {"rack": "7", "disk": "ssd"} | managed
        assert node["spec"]["taints"] == [own]
        assert node["status"]["capacity"] == {"cpu": "9"}
        assert clusters.events == []
        # The host's label wins over the tenant's, and goes with the host's.
        changed["metadata"]["labels"] = {"disk": "hdd"}
        await made.put_host(kinds.NODE, changed)
        changed["metadata"]["labels"] = {}
        await made.put_host(kinds.NODE, changed)
        assert nested_node(clusters)["metadata"]["labels"] == managed


async def test_a_tenant_cordons_a_node_and_takes_that_back() -> None:
    clusters = with_host_node()

    def host_says(is_unschedulable: bool) -> None:
        clusters.host.put(kinds.NODE, host_node() | {"spec": {"unschedulable": is_unschedulable}})

    async with running(clusters, NodeRow) as made:

        async def cordon(is_unschedulable: bool) -> None:
            now = nested_node(clusters)
            await made.put_nested(kinds.NODE, now | {"spec": now["spec"] | {"unschedulable": is_unschedulable}})

        def look() -> tuple[bool, list[str]]:
            spec = nested_node(clusters)["spec"]
            return spec["unschedulable"], [item["key"] for item in spec["taints"]]

        await with_node(made)
        closed: tuple[bool, list[str]] = (True, ["node.kubernetes.io/unschedulable"])
        is_open: tuple[bool, list[str]] = (False, [])
        await cordon(True)
        assert look() == closed
        for is_unschedulable in (True, False):
            host_says(is_unschedulable)
            await made.settle()
            assert look() == closed
        await cordon(False)
        assert look() == is_open
        host_says(True)
        await made.settle()
        await cordon(False)
        assert look() == (True, [])
        host_says(False)
        await made.settle()
        assert look() == is_open


async def test_what_a_tenant_makes_of_the_note_does_no_harm() -> None:
    clusters = with_host_node()
    clusters.add_host_pod(nodeName="n")
    async with running(clusters, NodeRow) as made:
        for note in ("{", "[" * 100_000, "7", '{"labels": 1}', '{"labels": [[1]], "taints": [7, [[1]]]}', ""):
            node = await with_node(made)
            node["metadata"]["annotations"][labels.MIRRORED] = note
            await made.put_nested(kinds.NODE, node)
            assert json.loads(nested_node(clusters)["metadata"]["annotations"][labels.MIRRORED])["taints"] == []


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("seal", [{}, {"seal": "0" * 32}, {"seal": 7}])
@pytest.mark.parametrize(("is_suspended", "has_pod"), [(False, False), (True, False), (False, True)])
async def test_a_tenant_who_forges_a_node_learns_nothing_of_the_host_s(
    is_there: bool, seal: Object, is_suspended: bool, has_pod: bool
) -> None:
    clusters = with_host_node() if is_there else Clusters.build()
    clusters.allow(is_suspended=is_suspended)
    note = json.dumps({"labels": [], "taints": []} | seal)
    own = {"app.kubernetes.io/managed-by": "nestor", "mine": "x"}
    meta = {"name": "n", "labels": own, "annotations": {labels.MIRRORED: note}}
    if has_pod:
        clusters.add_pod(nodeName="n")
    async with running(clusters, NodeRow) as made:
        await made.put_nested(kinds.NODE, {"metadata": meta, "spec": {}})
        assert nested_node(clusters) is None
        # Not even by how long it stays: the host was not asked.
        assert not [line for line in clusters.host.asked if "nodes" in line]
        assert not made.caches.host_nodes.knows("n")


async def test_a_node_with_something_of_the_tenant_s_own_stays_also_for_the_next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes.NodeRow, "linger_seconds", 0.0)
    clusters = with_host_node()
    async with running(clusters, NodeRow) as made:
        node = await with_node(made)
        node["metadata"]["labels"]["disk"] = "ssd"
        clusters.nested.put(kinds.NODE, node)
        await made.drop_nested(kinds.POD, "web", SPACE)
    async with running(clusters, NodeRow) as made:
        await made.settle()
        assert nested_node(clusters) is not None
        other = host_node()
        other["metadata"]["name"] = "other"
        clusters.host.put(kinds.NODE, other)
        copied = nested_node(clusters) or {}
        copied["metadata"] = {key: copied["metadata"][key] for key in ("labels", "annotations")} | {"name": "other"}
        clusters.nested.put(kinds.NODE, copied)
        await made.until(lambda: clusters.nested.look(kinds.NODE, "other") is None)
        now = nested_node(clusters) or {}
        del now["metadata"]["labels"]["disk"]
        clusters.nested.put(kinds.NODE, now)
        await made.until(lambda: nested_node(clusters) is None)


def mirrored(clusters: Clusters) -> list[str]:
    return sorted(name for kind, _, name in clusters.nested.objects if kind == "nodes")


async def test_a_class_shows_nodes_before_any_pod_and_hides_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes.NodeRow, "linger_seconds", 0.0)
    clusters = Clusters.build(nodes="All")
    clusters.host.put(kinds.NODE, host_node())
    for name, own in (("other", {"zone": "b"}), ("virtual", {labels.BACKEND: "hpc"})):
        clusters.host.put(kinds.NODE, {"metadata": {"name": name, "labels": own}, "spec": {}, "status": {}})
    async with running(clusters, NodeRow) as made:
        await made.until(lambda: made.engine.row.is_settled)
        assert mirrored(clusters) == ["n", "other"]
        clusters.host.drop(kinds.NODE, "other")
        await made.put_host(kinds.NODE, {"metadata": {"name": "new"}, "spec": {}, "status": {}})
        assert mirrored(clusters) == ["n", "new"]
        clusters.allow(nodes="All", placement={"nodeSelector": {"zone": "a"}})
        await made.until(lambda: mirrored(clusters) == ["n"])
        await with_node(made)
        await made.allow(nodes="All", placement={"nodeSelector": {"zone": "none"}})
        assert mirrored(clusters) == ["n"]
        clusters.nested.drop(kinds.POD, "web", SPACE)
        await made.until(lambda: mirrored(clusters) == [])
        assert remembered(made.engine) == 0


async def test_a_cluster_is_settled_when_its_nodes_say_what_the_host_s_do() -> None:
    """Admission taints a new node; so long, no pod would be thought to fit on it."""
    clusters = with_host_node()
    async with running(clusters, NodeRow) as made:
        assert made.engine.row.is_settled
        clusters.nested.refusal = lambda _, __: Forbidden(403, "Forbidden", "no")
        clusters.allow(nodes="All")
        await made.until(lambda: clusters.nested.asked)
        assert not made.engine.row.is_settled
        clusters.nested.refusal = lambda verb, _: Forbidden(403, "Forbidden", "no") if verb == "PATCH" else None
        await made.until(lambda: nested_node(clusters))
        tainted = nested_node(clusters) or {}
        tainted["spec"]["taints"] = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
        await made.put_nested(kinds.NODE, tainted)
        assert not made.engine.row.is_settled
        clusters.nested.refusal = lambda _, __: None
        await made.until(lambda: made.engine.row.is_settled)
        assert nested_node(clusters)["spec"]["taints"] == []


async def test_a_cluster_can_use_of_a_node_what_its_quota_and_its_pods_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(nodes, "AGAIN_SECONDS", 0.01)
    clusters = Clusters.build()

    def use(cpu: str, pods: str) -> None:
        spec = {"hard": {"requests.cpu": "4", "pods": "102", "configmaps": "5"}}
        status = {"used": {"requests.cpu": cpu, "pods": pods, "configmaps": "1"}}
        clusters.host.put(kinds.RESOURCE_QUOTA, {"metadata": {"name": "q", "namespace": HOST}, "spec": spec, "status": status})

    def find() -> Object:
        found: Object = nested_node(clusters)["status"]["allocatable"]
        return found

    size = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    clusters.host.put(kinds.NODE, host_node(capacity=size, allocatable=size))
    async with running(clusters, NodeRow) as made:
        await with_node(made)
        assert find() == size
        use("500m", "2")
        await made.until(lambda: find() == {"cpu": "3500m", "memory": "32Gi", "pods": "100"})
        host = clusters.add_host_pod(nodeName="n", resources={"requests": {"cpu": "2"}}, containers=[{"name": "app"}])
        use("2500m", "3")
        await made.until(lambda: find() == {"cpu": "3500m", "memory": "32Gi", "pods": "100"})
        clusters.host.drop(kinds.POD, host["metadata"]["name"], HOST)
        await made.until(lambda: find() == {"cpu": "1500m", "memory": "32Gi", "pods": "99"})
        clusters.host.drop(kinds.RESOURCE_QUOTA, "q", HOST)
        await made.until(lambda: find() == size)


async def test_a_suspended_cluster_keeps_its_nodes_and_gets_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes.NodeRow, "linger_seconds", 0.0)
    clusters = with_host_node()
    async with running(clusters, NodeRow) as made:
        await with_node(made)
        await made.allow(is_suspended=True)
        await made.drop_nested(kinds.POD, "web", SPACE)
        assert nested_node(clusters) is not None
        await made.put_host(kinds.NODE, {"metadata": {"name": "other"}, "spec": {}, "status": {}})
        assert clusters.nested.look(kinds.NODE, "other") is None
        await made.allow()
        assert nested_node(clusters) is None


async def test_nodes_of_the_tenants_own_are_not_watched_in_the_host() -> None:
    clusters = with_host_node()
    async with running(clusters, NodeRow) as made:
        for name in ("n", "other"):
            clusters.nested.put(kinds.NODE, {"metadata": {"name": name, "labels": {"type": "virtual"}}, "spec": {}})
        await made.settle()
        assert made.caches.host_nodes._wanted == frozenset()


NODES = {
    "a": {"zone": "a", "cores": "8"},
    "b": {"zone": "b", "cores": "16", "pool": "batch"},
    "bare": {},
    "virtual": {"zone": "a", "nestor.dev/backend": "hpc"},
    "slurm": {"zone": "a", "queue": "long"},
}
OVERFLOW = {"backends": [{"name": "slurm", "nodeSelector": {"queue": "long"}}]}


def build_node(name: str) -> Object:
    return {"metadata": {"name": name, "labels": NODES[name]}}


ASKED = "!nestor.dev/backend"


@pytest.mark.parametrize(
    ("policy", "selector", "shown"),
    [
        ({}, None, []),
        ({"nodes": "All"}, ASKED, ["a", "b", "bare", "slurm"]),
        ({"nodes": "All", "placement": {"overflow": OVERFLOW}}, ASKED, ["a", "b", "bare"]),
        ({"nodes": "All", "placement": {"nodeSelector": {"pool": "batch"}}}, f"pool=batch,{ASKED}", ["b"]),
    ],
)
def test_those_that_the_class_selects_and_lets_pods_run_on(policy: Object, selector: str | None, shown: list[str]) -> None:
    found = read(Policy, policy)
    assert find_selector(found) == selector
    assert [name for name in NODES if is_shown(build_node(name), found)] == shown
    asked = {name for name in NODES if selector is not None and _is_selected(build_node(name), selector)}
    assert asked >= set(shown)

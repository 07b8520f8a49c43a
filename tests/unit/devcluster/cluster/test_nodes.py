"""The nodes: how many, how they differ, how they are joined."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from devcluster.cluster import components, network, settings, state, supervisor
from devcluster.cluster.node import components as node_components
from devcluster.cluster.node import configs, facts, runtime
from devcluster.cluster.node import network as node_network
from devcluster.cluster.paths import Paths
from devcluster.cluster.processes import ComponentEnded

NETNS = Path("/cache/cluster/netns")


@pytest.fixture
def layout(tmp_path: Path) -> Paths:
    """A cluster of two nodes, as far as its files tell."""
    paths = Paths(tmp_path)
    for node in paths.all_nodes():
        node.home.mkdir(parents=True)
    return paths


@pytest.mark.parametrize(
    ("environment", "names"),
    [({}, ["nestor-dev", "nestor-dev-2"]), ({"NODES": ""}, ["nestor-dev", "nestor-dev-2"]), ({"NODES": "1"}, ["nestor-dev"])],
)
def test_how_many_nodes_are_started(environment: dict[str, str], names: list[str]) -> None:
    assert [node.name for node in facts.wanted(environment)] == names


@pytest.mark.parametrize("number", ["0", "3", "-1", "two"])
def test_another_number_of_nodes_is_refused(number: str) -> None:
    with pytest.raises(RuntimeError, match=f"NODES must be 1 or 2, not '{number}'"):
        facts.wanted({"NODES": number})


def test_nodes_share_no_address_pod_range_or_store() -> None:
    first, second = (ipaddress.IPv4Network(node.pod_cidr) for node in facts.ALL)
    assert not first.overlaps(second)
    assert all(part.subnet_of(ipaddress.IPv4Network(settings.POD_CIDR)) for part in (first, second))
    for attribute in ("name", "ip", "store", "cgroup"):
        assert len({getattr(node, attribute) for node in facts.ALL}) == len(facts.ALL)


def test_no_nodes_cgroup_begins_with_anothers() -> None:
    assert not facts.SECOND.cgroup.startswith(facts.FIRST.cgroup)


def test_the_second_nodes_address_is_on_the_link_between_them() -> None:
    link = ipaddress.ip_network(settings.NODES_CIDR)
    assert {ipaddress.ip_address(address) for address in (settings.NODES_GATEWAY, facts.SECOND.ip)} == set(link.hosts())


def test_only_the_second_node_has_a_network_namespace_of_its_own(layout: Paths) -> None:
    first, second = (node_components.init(node) for node in layout.nodes())
    assert ("--net" in first.argv, first.side) == (False, "cluster")
    assert ("--net" in second.argv, second.side) == (True, "node")


def test_the_cable_leads_to_pods_services_machine_and_control_plane_and_nowhere_else() -> None:
    commands = node_network.setup_commands(NETNS)
    routes = {command[3]: command[5] for command in commands if command[:3] == ["ip", "route", "add"]}
    assert set(routes) == {"10.40.0.1/32", "10.40.0.2/32", "10.42.0.0/24", "10.43.0.0/16"}
    assert set(routes.values()) == {"10.40.0.5"}


def test_what_is_on_the_cluster_side_of_the_cable_stays_when_it_is_cut() -> None:
    commands = [" ".join(command[2:]) for command in network.second_node_commands(NETNS) if command[0] == "nsenter"]
    assert "ip link add nodes0 type bridge" in commands
    assert "ip route add 10.42.1.0/24 via 10.40.0.6" in commands
    assert ["nsenter", f"--net={NETNS}", "ip", "link", "set", "node2", "master", "nodes0", "up"] in node_network.setup_commands(
        NETNS
    )


def test_a_node_must_miss_several_renewals_of_its_lease_before_it_is_lost() -> None:
    renewals = configs.LEASE_SECONDS / 4  # the kubelet renews after a quarter of the lease
    assert int(components.NODE_MONITOR["node-monitor-grace-period"].removesuffix("s")) >= 4 * renewals


def test_the_running_clusters_nodes_are_those_that_it_was_started_with(layout: Paths) -> None:
    assert [node.node for node in layout.nodes()] == list(facts.ALL)
    layout.all_nodes()[1].home.rmdir()
    assert [node.node for node in layout.nodes()] == [facts.FIRST]


def test_only_the_second_node_can_be_stopped(layout: Paths) -> None:
    assert supervisor.find_stoppable(layout.nodes(), "nestor-dev-2").node == facts.SECOND
    with pytest.raises(RuntimeError, match="'nestor-dev' shares its network with the control plane"):
        supervisor.find_stoppable(layout.nodes(), "nestor-dev")
    with pytest.raises(RuntimeError, match="no node 'nestor-dev-2', only nestor-dev"):
        supervisor.find_stoppable(layout.nodes()[:1], "nestor-dev-2")


def test_a_node_tells_which_of_its_programs_ended_the_cluster(layout: Paths) -> None:
    second = layout.nodes()[1]
    said = state.State("Failed", "nestor-dev-2/kubelet ended by itself", "nestor-dev-2/kubelet")
    state.save(second.state, said)
    assert supervisor.explain(layout, ComponentEnded("nestor-dev-2/node", 1)) == said
    assert supervisor.explain(layout, ComponentEnded("etcd", 1)).component == "etcd"


def test_a_node_that_could_say_nothing_is_named(layout: Paths) -> None:
    assert (
        "nestor-dev/node ended by itself with exit code -9"
        in supervisor.explain(layout, ComponentEnded("nestor-dev/node", -9)).message
    )


def test_a_store_that_was_left_in_order_is_kept_and_any_other_is_removed_later(layout: Paths) -> None:
    clean, dirty = layout.all_nodes()
    for node in (clean, dirty):
        (node.containerd / "images").mkdir(parents=True)
    runtime.mark_clean(clean)
    for node in (clean, dirty):
        runtime.prepare(node)
    assert (clean.containerd / "images").exists()
    assert list(dirty.containerd.iterdir()) == []
    assert not clean.containerd_clean.exists()
    (old,) = layout.cache.glob(f"{dirty.containerd.name}{runtime.OLD}*")
    assert (old / "images").exists()
    runtime.remove_old(layout).join(60)
    assert not old.exists()
    assert clean.containerd.exists()

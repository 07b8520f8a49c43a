"""The interLink plugin as a part of the embedded cluster: apart from the nodes, and nothing of it is overlooked."""

from __future__ import annotations

from pathlib import Path

import pytest

from devcluster import __main__, cluster
from devcluster.cluster import state
from devcluster.cluster.leftovers import PROGRAMS, _own
from devcluster.cluster.node import facts
from devcluster.cluster.paths import Paths
from devcluster.cluster.plugin import components, power


@pytest.fixture
def layout(tmp_path: Path) -> Paths:
    """A cluster in which the plugin was started once."""
    paths = Paths(tmp_path)
    paths.plugin.home.mkdir(parents=True)
    return paths


def test_it_shares_no_file_or_cgroup_with_a_node(layout: Paths) -> None:
    for name in ("name", "store", "socket", "home", "log"):
        assert getattr(layout.plugin, name) not in {getattr(node, name) for node in layout.all_nodes()}
    assert not any(components.CGROUP.startswith(node.cgroup) for node in facts.ALL)
    assert layout.nodes() == []


def test_the_cluster_goes_on_without_it() -> None:
    init = components.init(Paths(Path("/cache")).plugin)
    assert (init.may_end, init.holds_namespace, init.side) == (True, True, "cluster")


def test_its_server_is_told_where_everything_is(layout: Paths) -> None:
    words = components.server(layout.plugin).argv
    flags = dict(zip(words[3::2], words[4::2], strict=True))
    assert flags["--socket"] == str(layout.plugin_socket)
    assert flags["--containerd"] == str(layout.plugin.socket)
    assert (flags["--cgroup"], flags["--address"]) == ("nestor-dev/plugin", "10.40.0.2")


def test_its_images_come_from_the_clusters_registry_alone(layout: Paths) -> None:
    files = components.files(layout.plugin)
    assert 'server = "http://10.40.0.2:5000"' in files["certs.d/_default/hosts.toml"]
    assert f'root = "{layout.plugin.containerd}"' in files["containerd.toml"]
    assert "io.containerd.grpc.v1.cri" in files["containerd.toml"]


def test_its_files_are_looked_for_when_the_cluster_has_ended(layout: Paths) -> None:
    for file in (layout.plugin_socket, *components.sockets(layout.plugin)):
        file.touch()
    found = _own(layout)
    assert [f"file {file}" in found for file in (layout.plugin_socket, *components.sockets(layout.plugin))] == [True] * 3
    assert {"devcluster.plugin", "devcluster.cluster.plugin"} < PROGRAMS


def test_one_that_does_not_run_says_so(layout: Paths) -> None:
    assert power.status(layout) == (False, "not running")


def test_one_that_ended_by_itself_says_why(layout: Paths) -> None:
    state.save(layout.plugin.state, state.State("Failed", "plugin/server ended by itself with exit code 1", "plugin/server"))
    assert power.status(layout) == (False, "failed: plugin/server ended by itself with exit code 1")
    with pytest.raises(RuntimeError, match="the interLink plugin failed: plugin/server ended by itself"):
        power._is_up(layout)


@pytest.mark.parametrize(
    ("text", "expected"), [("hold=true", ("hold", True)), ('faults=[{"kind": "drop"}]', ("faults", [{"kind": "drop"}]))]
)
def test_switches_on_the_command_line(text: str, expected: tuple[str, object]) -> None:
    assert __main__._read_switch(text) == expected


@pytest.mark.parametrize("text", ["hold", "hold=perhaps"])
def test_what_is_no_switch_is_refused(text: str) -> None:
    with pytest.raises(RuntimeError, match=f"'{text}' must be NAME=VALUE"):
        __main__._read_switch(text)


@pytest.mark.parametrize("kind", ["kind", "current"])
def test_other_clusters_have_none(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("CLUSTER", kind)
    with pytest.raises(RuntimeError, match="only the embedded cluster has an interLink plugin"):
        cluster.plugin("up")
    assert not cluster.plugin_status()[0]

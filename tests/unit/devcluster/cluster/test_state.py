"""The records of a running cluster."""

import json
import os
from pathlib import Path

import pytest
import yaml

from devcluster import __main__
from devcluster.cluster import kind, launcher, state
from devcluster.cluster.current import default_ingress_class
from devcluster.cluster.paths import Paths
from devcluster.cluster.settings import Ports


@pytest.fixture
def layout(tmp_path: Path) -> Paths:
    paths = Paths(tmp_path)
    paths.cluster.mkdir()
    return paths


def this_process() -> state.Process:
    stat = state.read_stat(os.getpid())
    assert stat is not None
    return state.Process(stat.pid, stat.start_time)


def test_a_process_is_known_by_number_and_start() -> None:
    me = this_process()
    assert me.is_alive()
    assert not state.Process(me.pid, me.start_time - 1).is_alive()
    assert state.read_stat(2**22 + 1) is None


def test_a_record_of_another_version_is_read(layout: Paths) -> None:
    me = this_process()
    process = {"pid": me.pid, "start_time": me.start_time, "new": 1}
    layout.process.write_text(json.dumps({"outer": process, "init": process, "new": 1}))
    layout.state.write_text(json.dumps({"phase": "Running", "new": 1}))
    assert state.load_supervisor(layout) == state.Supervisor(me, me)
    assert state.load(layout.state) == state.State("Running")


@pytest.mark.parametrize("content", ["", "\0\0\0\0", '{"outer": {'])
def test_a_record_that_a_crash_has_torn_is_none(layout: Paths, content: str) -> None:
    layout.process.write_text(content)
    layout.state.write_text(content)
    assert state.load_supervisor(layout) is None
    assert state.load(layout.state) is None
    launcher.stop(layout)  # and must end nobody


def test_a_supervisor_of_an_earlier_boot_does_not_run(layout: Paths) -> None:
    gone = state.Process(os.getpid(), 1)
    state.save_supervisor(layout, state.Supervisor(gone, gone))
    assert not launcher.is_running(layout)
    launcher.stop(layout)  # and must end nobody


@pytest.mark.parametrize(
    ("classes", "chosen"),
    [([], ""), ([("only", False)], "only"), ([("one", False), ("two", True)], "two"), ([("one", False), ("two", False)], "")],
)
def test_the_ingress_class_of_a_found_cluster(classes: list[tuple[str, bool]], chosen: str) -> None:
    mark = '"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}'
    items = [f'{{"metadata": {{"name": "{name}"{", " + mark if default else ""}}}}}' for name, default in classes]
    assert default_ingress_class(f'{{"items": [{", ".join(items)}]}}') == chosen


def test_kinds_configuration_opens_the_ports_on_loopback_only() -> None:
    (node,) = yaml.safe_load(kind.config(Ports(8080, 8443)))["nodes"]
    assert [(item["hostPort"], item["listenAddress"]) for item in node["extraPortMappings"]] == [
        (8080, "127.0.0.1"),
        (8443, "127.0.0.1"),
    ]


def test_the_command_line_says_where_the_kubeconfig_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("NESTOR_CACHE", str(tmp_path))
    monkeypatch.delenv("CLUSTER", raising=False)
    assert __main__.main(["kubeconfig"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/cluster/kubeconfig\n"

"""The interLink plugin as a part of the embedded cluster: apart from the nodes, and nothing of it is overlooked."""

from __future__ import annotations

from pathlib import Path

import pytest

from devcluster import __main__, cluster
from devcluster.cluster import state
from devcluster.cluster.paths import Paths
from devcluster.cluster.plugin import power


@pytest.fixture
def layout(tmp_path: Path) -> Paths:
    """A cluster in which the plugin was started once."""
    paths = Paths(tmp_path)
    paths.plugin.home.mkdir(parents=True)
    return paths


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

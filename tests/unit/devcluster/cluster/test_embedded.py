"""When a running cluster is kept, and when it is replaced."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from devcluster.cluster import embedded, state
from devcluster.cluster.info import Status
from devcluster.cluster.paths import Paths

DNS = "Cluster DNS answers"


def build_status(*, healthy: bool) -> Status:
    """All asked for, one thing perhaps not well."""
    return Status("embedded", True, healthy, "running", {"Image registry answers": True, DNS: healthy})


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Status]:
    """What is seen, one look after the other; the last for ever."""
    found: list[Status] = []
    monkeypatch.setattr(embedded, "status", lambda: found.pop(0) if len(found) > 1 else found[0])
    monkeypatch.setattr(state, "load", lambda _: SimpleNamespace(phase="Running"))
    return found


@pytest.fixture
def layout(tmp_path: Path) -> Paths:
    """Of a cache of its own."""
    return Paths(tmp_path)


def test_a_late_answer_is_no_fault(seen: list[Status], layout: Paths) -> None:
    seen += [build_status(healthy=False), build_status(healthy=False), build_status(healthy=True)]
    assert embedded._find_faults(layout) == ""


def test_what_never_answers_is_named(seen: list[Status], layout: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "BUSY_SECONDS", 0)
    seen.append(build_status(healthy=False))
    assert embedded._find_faults(layout) == f"not: {DNS}"


def test_a_cluster_that_ended_is_not_waited_for(seen: list[Status], layout: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "load", lambda _: SimpleNamespace(phase="Failed"))
    seen += [build_status(healthy=False), build_status(healthy=True)]
    assert embedded._find_faults(layout) == f"not: {DNS}"

"""When a running cluster is kept, and when it is replaced."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from devcluster.cluster import embedded, state
from devcluster.cluster.info import Status
from devcluster.cluster.paths import Paths


def test_a_late_answer_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [Status("embedded", True, is_well, "running", {"Cluster DNS answers": is_well}) for is_well in (False, False, True)]
    monkeypatch.setattr(embedded, "status", lambda: looks.pop(0))
    monkeypatch.setattr(state, "load", lambda _: SimpleNamespace(phase="Running"))
    assert embedded._find_faults(Paths(tmp_path)) == ""

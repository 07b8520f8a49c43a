"""What is kept of the cluster when an e2e test fails."""

import json
from pathlib import Path

import pytest

from tests.e2e import failures
from tests.e2e.failures import Keeper

POD = {
    "metadata": {"namespace": "home", "name": "it-k3s-0", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "status": {"containerStatuses": [{"restartCount": 0}, {"restartCount": 1}]},
}


def kubectl(folder: Path, script: str) -> str:
    """A program in its place, which the tests need not have a cluster for."""
    path = folder / "kubectl"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_jobs_events_pods_and_the_logs_of_each_part_are_kept(tmp_path: Path) -> None:
    script = f'case "$*" in *json*) echo \'{json.dumps({"items": [POD]})}\';; *) echo "$*"; echo oops >&2;; esac'
    kept = Keeper(tmp_path / "failed", kubectl(tmp_path, script)).keep("tests/e2e/test_it.py::test_a[b/c d]", Path("config"))
    assert kept == tmp_path / "failed" / "test_it.py-test_a-b-c-d"
    logs = ["home.it-k3s-0.log", "home.it-k3s-0.previous.log"]
    assert sorted(path.name for path in kept.iterdir()) == ["events.txt", *logs, "jobs.txt", "pods.txt"]
    said = (kept / "home.it-k3s-0.log").read_text()
    assert "--kubeconfig config" in said
    assert "logs -n home it-k3s-0 --all-containers" in said
    assert "oops" in said


def test_a_cluster_that_does_not_answer_takes_no_more_time_than_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "SECONDS", 0.1)
    kept = Keeper(tmp_path / "failed", kubectl(tmp_path, "exec sleep 600")).keep("it", Path("config"))
    assert "timed out" in (kept / "jobs.txt").read_text()
    assert "were over" in (kept / "pods.txt").read_text()

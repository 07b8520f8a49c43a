"""The runner's record and the count of pods."""

import json
from typing import Any

import pytest

from nestor.syncer.cluster import status as cluster_status
from tests.unit.translate.builders import build_pod


def record(text: str) -> dict[str, Any]:
    """The ConfigMap with this record."""
    return {"data": {"run.json": text}}


@pytest.mark.parametrize(
    "config_map",
    [
        None,
        {},
        {"data": {}},
        record("{"),
        record("[]"),
        record('"x"'),
        record(" " * 300_000),
        record("[" * 200_000),
        record('{"state": "Nonsense"}'),
        record('{"steps": [{"state": "Running"}]}'),
    ],
)
def test_no_record_that_can_be_read(config_map: dict[str, Any] | None) -> None:
    assert cluster_status.read_run(config_map) is None


def test_a_record() -> None:
    step = {"name": "web", "type": "kubectl", "state": "Running", "attempt": 1, "maxAttempts": 2, "hash": "h", "sha256": "s"}
    run = {"version": 1, "hash": "x", "state": "Running", "steps": [step]}
    assert cluster_status.read_run(record(json.dumps(run))) == run


def test_fields_of_a_newer_runner_are_left_out() -> None:
    run = {"version": 3, "state": "Running", "mood": "good", "steps": [{"name": "web", "mood": "bad", "message": ""}]}
    assert cluster_status.read_run(record(json.dumps(run))) == {
        "version": 3,
        "state": "Running",
        "steps": [{"name": "web", "message": ""}],
    }


def test_finished_pods_are_not_counted() -> None:
    pods = [build_pod() | {"status": {"phase": phase}} for phase in ("Running", "Running", "Pending", "Failed", "Succeeded")]
    assert cluster_status.count_pods([*pods, build_pod()]) == {"running": 2, "waiting": 2}

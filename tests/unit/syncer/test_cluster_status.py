"""The runner's record and the count of pods."""

import json
from typing import Any

import pytest

from nestor.syncer import cluster_status
from tests.unit.syncer.builders import build_pod


def record(text: str) -> dict[str, Any]:
    """The ConfigMap with this record."""
    return {"data": {"run.json": text}}


@pytest.mark.parametrize("config_map", [
    None, {}, {"data": {}}, record("{"), record("[]"), record('"x"'), record(" " * 300_000), record("[" * 200_000),
])
def test_no_record_that_can_be_read(config_map: dict[str, Any] | None) -> None:
    assert cluster_status.read_run(config_map) is None


def test_a_record() -> None:
    run = {"version": 1, "state": "Running", "steps": []}
    assert cluster_status.read_run(record(json.dumps(run))) == run


def test_finished_pods_are_not_counted() -> None:
    pods = [build_pod() | {"status": {"phase": phase}} for phase in ("Running", "Running", "Pending", "Failed", "Succeeded")]
    assert cluster_status.count_pods([*pods, build_pod()]) == {"running": 2, "waiting": 2}

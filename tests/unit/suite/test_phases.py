"""What a run of the tests says of its costs."""

from __future__ import annotations

from pathlib import Path

from tests.suite import phases
from tests.suite.phases import Phase

STAT = "cpu  1000 20 300 99999 88888 4 6 0 0 0\ncpu0 500 10 150 1 1 2 3 0 0 0\n"
JUNIT = """<?xml version="1.0"?><testsuites name="pytest tests">
<testsuite name="pytest" errors="0" failures="1" skipped="2" tests="12" time="1.5"/></testsuites>"""


def test_the_whole_machine_counts_and_what_waits_does_not() -> None:
    assert phases.read_busy(STAT) == 13.3


def test_tests_that_were_skipped_did_not_run() -> None:
    assert phases.count_tests(JUNIT) == 10


def test_each_target_is_told_beside_its_last_success(tmp_path: Path) -> None:
    kept = tmp_path / "cache" / "runs.jsonl"
    assert phases.remember([Phase("unit", 0, 100, 180, 9, 1), Phase("lint", 0, 5, 6, 0, 1)], kept) == {}
    phases.remember([Phase("unit", 2, 1, 1, 3, 2)], kept)
    now = [Phase("lint", 0, 4, 4.6, 0, 3), Phase("unit", 0, 90.4, 170, 10, 3), Phase("core", 2, 30, 20, 4, 3)]
    assert phases.describe(now, phases.remember(now, kept)) == [
        "target                 wall        processor    tests",
        "lint                4 s (5)          5 s (6)         ",
        "unit             90 s (100)      170 s (180)       10",
        "core                   30 s             20 s        4  failed (2)",
        "all                   124 s            195 s       14",
    ]

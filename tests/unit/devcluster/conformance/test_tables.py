"""The page and the file of results, and that those in the repository belong together."""

from __future__ import annotations

import json

import pytest

from devcluster.conformance import store, tables
from devcluster.conformance.results import COLUMNS, Result
from devcluster.conformance.tables import Record

POD, JOB, NET = (
    "[sig-node] Pods should start [Conformance]",
    "[sig-apps] Jobs end [Conformance]",
    "[sig-network] a | b [Conformance]",
)
DENY = "[sig-network] Netpol NetworkPolicy between server and client should deny [Feature:NetworkPolicy]"
RATES = {
    "conformance": {"host": {"tests": 3, "seconds": 90, "processes": 4, "load": 3}},
    "netpol": {"host": {"tests": 1, "seconds": 120, "processes": 2, "load": 0}},
}


@pytest.fixture
def record() -> Record:
    host = {POD: Result(POD, "passed", 1.0), JOB: Result(JOB, "passed", 2.0), NET: Result(NET, "failed", 3.0, "no route")}
    host[DENY] = Result(DENY, "passed", 6.0)
    shared = {POD: Result(POD, "passed", 4.0), JOB: Result(JOB, "failed", 5.0, "evicted")}
    shared[DENY] = Result(DENY, "failed", 9.0, "open")
    return Record(
        "v1.36.3", [JOB, NET, DENY, POD], {"host": host, "shared-baseline": shared, "shared-privileged": {}}, dict(RATES)
    )


def test_what_counts_is_what_the_host_passes(record: Record) -> None:
    names = [JOB, NET, POD]
    assert tables.share(record, "shared-baseline", names) == (1, 2)
    assert tables.share(record, "shared-privileged", names) == (0, 0)
    assert tables.compare(record, "shared-baseline", names) == (1, 1.0, 4.0)
    assert tables.count(record, "host", names) == (2, 3)


def test_the_page_says_per_group_and_per_test_what_became_of_it(record: Record) -> None:
    page = tables.to_markdown(record, {"host": {NET: "has no route"}}, "# Title\n")
    assert page.startswith("# Title\n\n## By special interest group\n")
    assert "| node | 1 | 1 of 1 | 1 of 1 |  |\n" in page
    assert "| **all** | 3 | 2 of 3 | 1 of 2 |  |\n" in page
    assert "| Pods should start | ✓ | ✓ |  |\n" in page
    assert "| Jobs end | ✓ | **✗** |  |\n" in page
    assert "| a \\| b | Host | has no route |\n" in page
    assert "| Jobs end | Shared/Baseline | not explained yet |\n" in page
    assert "- Host: 3 tests ended in 1.5 min with up to 4 processes while the machine's load was up to 3.\n" in page
    assert "- Shared/Baseline: 1 of the 2 tests that the host passes and that ran here pass (50.0 %). " in page
    assert " (50.0 %). The goal is 98 %: **missed** so far. Those 1 took" in page
    assert "Those 1 took 1 s in all on the host and 4 s here.\n" in page
    assert "- Shared/Privileged: not run yet.\n" in page


def test_the_page_in_the_docs_is_made_of_the_results_beside_it() -> None:
    text = store.RECORD.read_text()
    names = list(json.loads(text)["tests"])
    record = tables.load(text, names, json.loads(text)["kubernetes"])
    assert store.PAGE.read_text() == tables.to_markdown(record, store.read_known(), store.INTRODUCTION.read_text())


def test_known_failures_have_reasons_and_are_tests_that_fail() -> None:
    found = json.loads(store.RECORD.read_text())["tests"]
    known = store.read_known()
    assert set(known) == set(COLUMNS)
    for column, reasons in known.items():
        for name, reason in reasons.items():
            assert reason, name
            assert found[name][column]["state"] != "passed", f"{name} passes: take it off the list"

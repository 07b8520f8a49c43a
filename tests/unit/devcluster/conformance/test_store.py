"""Results are kept in the cache, go on from those of the docs, and come back into them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devcluster.build.cache import Cache
from devcluster.conformance import results, store, tables
from devcluster.conformance.results import Result
from devcluster.conformance.store import Store
from devcluster.conformance.tables import Record

HOST = ("conformance", "host")
POLICIES = ("netpol", "host")
FIRST, SECOND, DENY = "[sig-a] first [Conformance]", "[sig-b] second [Conformance]", "[sig-network] Netpol denies"
RATE = {"tests": 2, "seconds": 60, "processes": 8, "load": 0}


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """What the docs of a checkout have: a test that passed and one that failed."""
    monkeypatch.setattr(store, "RECORD", tmp_path / "docs.json")
    monkeypatch.setattr(store, "PAGE", tmp_path / "docs.md")
    columns = {"host": {FIRST: Result(FIRST, "passed", 1.0), SECOND: Result(SECOND, "failed", 2.0, "why")}}
    found = Record("v1.36.3", [FIRST, SECOND, DENY], columns, {"conformance": {"host": RATE}})
    store.RECORD.write_text(tables.to_json(found))
    return store.read_record("v1.36.3", [SECOND, DENY, FIRST])


def test_results_are_kept_as_they_come_and_runs_are_summed(tmp_path: Path) -> None:
    kept = Store(tmp_path / "v1" / "host.jsonl")
    assert kept.read() == {}
    assert kept.rate() == {}
    kept.add([Result("a", "failed")])
    kept.add_run(1, 10.2, 4, 2.4)
    kept.add([Result("a", "passed", 2.0), Result("b", "passed", 1.0)])
    kept.add_run(2, 20.2, 6, 1.2)
    assert kept.read() == {"a": Result("a", "passed", 2.0), "b": Result("b", "passed", 1.0)}
    assert kept.rate() == {"tests": 3, "seconds": 30, "processes": 6, "load": 2}
    kept.clear()
    assert kept.read() == {}


def test_on_a_new_machine_a_run_goes_on_from_what_the_docs_have(tmp_path: Path, record: Record) -> None:
    kept = Store(tmp_path / "host.jsonl")
    kept.begin(*tables.part(record, *HOST))
    assert results.choose([FIRST, SECOND, "third"], kept.read(), "") == ["third"]
    assert results.choose([FIRST, SECOND], kept.read(), "failed") == [SECOND]
    kept.add([Result(SECOND, "passed", 3.0)])
    kept.add_run(1, 6, 4, 5)
    kept.begin(*tables.part(record, *HOST))
    store.publish(record, {HOST: kept})
    written = json.loads(store.RECORD.read_text())
    assert written["tests"][FIRST] == {"host": {"state": "passed", "seconds": 1.0}}
    assert written["tests"][SECOND] == {"host": {"state": "passed", "seconds": 3.0}}
    assert written["rates"] == {"conformance": {"host": {"tests": 3, "seconds": 66, "processes": 8, "load": 5}}}


def test_the_results_of_a_set_of_tests_leave_those_of_the_other_alone(tmp_path: Path, record: Record) -> None:
    cache = Cache(tmp_path)
    stores = {key: store.open_store(cache, "v1.36.3", *key) for key in (HOST, POLICIES)}
    stores[POLICIES].begin(*tables.part(record, *POLICIES))
    assert stores[POLICIES].read() == {}
    stores[POLICIES].add([Result(DENY, "passed", 4.0)])
    stores[POLICIES].add_run(1, 5, 6, 1)
    assert stores[HOST].read() == {}
    store.publish(record, stores)
    assert store.read_record("v1.36.3", record.names) == record
    assert tables.part(record, *POLICIES) == (
        [Result(DENY, "passed", 4.0)],
        {"tests": 1, "seconds": 5, "processes": 6, "load": 1},
    )
    assert tables.part(record, *HOST)[1] == RATE
    assert "| NetworkPolicies | 1 | 1 of 1 |  |  |" in store.PAGE.read_text()

"""Results are kept in the cache, go on from those of the docs, and come back into them."""

import json
from pathlib import Path

import pytest

from devcluster.conformance import results, store, tables
from devcluster.conformance.results import Result
from devcluster.conformance.store import Store
from devcluster.conformance.tables import Record

HOST = ("conformance", "host")
FIRST, SECOND = "[sig-a] first [Conformance]", "[sig-b] second [Conformance]"
RATE = {"tests": 2, "seconds": 60, "processes": 8, "load": 0}


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """What the docs of a checkout have: a test that passed and one that failed."""
    monkeypatch.setattr(store, "RECORD", tmp_path / "docs.json")
    monkeypatch.setattr(store, "PAGE", tmp_path / "docs.md")
    columns = {"host": {FIRST: Result(FIRST, "passed", 1.0), SECOND: Result(SECOND, "failed", 2.0, "why")}}
    found = Record("v1.36.3", [FIRST, SECOND], columns, {"conformance": {"host": RATE}})
    store.RECORD.write_text(tables.to_json(found))
    return store.read_record("v1.36.3", [SECOND, FIRST])


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

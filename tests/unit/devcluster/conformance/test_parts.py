"""The slice that `make jobs` runs."""

import json

from devcluster.conformance import parts, store

COLUMN = "shared-baseline"


def test_the_slice_is_made_of_tests_that_pass_in_a_nested_cluster() -> None:
    record = json.loads(store.RECORD.read_text())["tests"]
    for name in parts.names():
        assert record[name].get(COLUMN, {}).get("state") == "passed", name
    assert not set(parts.names()) & set(store.read_known()[COLUMN])


def test_each_part_has_tests_and_none_is_there_twice() -> None:
    assert all(parts.read().values())
    assert len(parts.names()) == len(set(parts.names()))

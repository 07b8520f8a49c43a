"""The page and the file of results, and that those in the repository belong together."""

import json

from devcluster.conformance import store, tables
from devcluster.conformance.results import COLUMNS


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

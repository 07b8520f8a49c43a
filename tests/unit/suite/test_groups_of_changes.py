"""Which tests a changed file wants, and what `make test` runs of the end-to-end tests."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.suite import core
from tests.suite.groups import GROUPS, ROOT, find_wanted, list_chosen, list_tests, matches

MOST_CLUSTERS = 18
"""Nested clusters that the end-to-end tests of `make test` may start: each takes seconds of both cores."""


def test_a_change_wants_the_groups_of_its_folder() -> None:
    assert find_wanted(["src/nestor/overflow/vnode/pods/decide.py"]) == ["overflow"]
    assert find_wanted(["src/nestor/api/names.py"]) == ["nested", "walls"]
    assert find_wanted(["src/nestor/syncer/cluster/argocd.py", "LICENSE"]) == ["nested", "gitops"]
    assert find_wanted(["tests/unit/operator/guests/queue/test_queues.py"]) == ["queues"]
    assert find_wanted([]) == []
    assert list_tests(["queues"]) == [
        "tests/e2e/test_kueue.py",
        "tests/integration/operator/test_notices.py",
        "tests/integration/operator/test_queue.py",
        "tests/integration/operator/test_queue_kueue.py",
        "tests/unit/operator/guests/queue/test_queues.py",
    ]


def test_every_source_file_and_every_test_above_unit_is_in_a_group() -> None:
    sources = [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py") if path.name != "__init__.py"]
    assert [file for file in sources if not find_wanted([file])] == []
    above = [path for level in ("integration", "e2e") for path in (ROOT / "tests" / level).rglob("test_*.py")]
    grouped = list_tests(GROUPS)
    assert [name for path in above if (name := str(path.relative_to(ROOT))) not in grouped] == []


def test_every_pattern_matches_something() -> None:
    files = [
        str(path.relative_to(ROOT))
        for folder in ("src", "tests", "charts", "crds", "docs", "devcluster", "examples")
        for path in (ROOT / folder).rglob("*")
    ]
    patterns = {pattern for group in GROUPS.values() for pattern in (*group.places, *group.tests)} - {"README.md"}
    assert [pattern for pattern in sorted(patterns) if not any(matches(file, pattern) for file in files)] == []


def test_the_core_of_the_end_to_end_tests_is_there_and_small() -> None:
    rows = core.read_rows()
    assert sum(clusters for clusters, _ in rows) <= MOST_CLUSTERS
    for _, node in rows:
        file, _, name = node.partition("::")
        assert not name or f"def {name.partition('[')[0]}(" in (Path(ROOT) / file).read_text(), node


def test_groups_are_chosen_by_name_or_by_what_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SINCE", raising=False)
    monkeypatch.setenv("GROUP", "queues conformance")
    assert {"tests/integration/operator/test_queue.py", "tests/e2e/test_conformance.py"} < set(list_chosen())
    monkeypatch.setenv("GROUP", "queue")
    with pytest.raises(ValueError, match="there is no group 'queue'; there are overflow, "):
        list_chosen()
    monkeypatch.delenv("GROUP")
    assert list_chosen() == []
    monkeypatch.setenv("SINCE", "no-such-commit")
    with pytest.raises(subprocess.CalledProcessError):
        list_chosen()


def test_every_slow_unit_test_is_in_a_group() -> None:
    """Else, whoever changes what it guards would not know before the night."""
    slow = re.compile(r"^(@|pytestmark = )pytest\.mark\.slow", re.MULTILINE)
    marked = [path for path in (ROOT / "tests/unit").rglob("*.py") if slow.search(path.read_text())]
    grouped = list_tests(GROUPS)
    assert marked
    assert [name for path in marked if (name := str(path.relative_to(ROOT))) not in grouped] == []

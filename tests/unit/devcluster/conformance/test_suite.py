"""How the suite is called, and how it tells what it does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from devcluster.conformance import suite
from devcluster.conformance.results import Result
from devcluster.conformance.suite import Suite, SuiteError

NAMES = ["[sig-node] Pods should (really) start, e.g. 'x' [Conformance]", "[sig-apps] Jobs"]


def test_exactly_the_wanted_tests_are_selected() -> None:
    pattern = re.compile(suite.focus(NAMES))
    for name in NAMES:
        assert pattern.search(f"Kubernetes e2e suite {name}")
        assert not pattern.search(f"Kubernetes e2e suite {name} twice")
    assert not pattern.search(f"Kubernetes e2e suite {NAMES[0].replace('(really)', 'really')}")
    # Go's regular expressions know no escaped letters and spaces.
    assert not re.search(r"\\[a-zA-Z0-9 ]", suite.focus(NAMES))


GINKGO = f"""#!/bin/sh
[ "$1" = run ] || exit 2
echo '• [1.500 seconds]'
echo "{NAMES[1]}"
for option; do
    case $option in --output-dir=*) echo '{{report}}' > "${{option#*=}}/report.json";; esac
done
exit 1
"""
SPEC = '{"ContainerHierarchyTexts": ["[sig-apps]"], "LeafNodeText": "Jobs", "State": "%s", "LeafNodeType": "%s"%s}'
FAILURE = ', "Failure": {"Message": "no nodes"}'


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str], Suite]:
    """A suite whose ginkgo tells of one test, and then writes the report that is given."""

    def build(report: str) -> Suite:
        program = tmp_path / "ginkgo"
        program.write_text(GINKGO.replace("{report}", report))
        program.chmod(0o755)
        return Suite(tmp_path, tmp_path / "out", 2)

    return build


def test_each_test_is_told_as_it_ends_and_the_report_has_the_rest(fake: Callable[[str], Suite], tmp_path: Path) -> None:
    told: list[Result] = []
    spec = SPEC % ("failed", "It", FAILURE)
    found = fake(f'[{{"SpecReports": [{spec}]}}]').run(NAMES, tmp_path / "kubeconfig", told.append)
    assert told == [Result(NAMES[1], "passed", 1.5)]
    assert found == [Result(NAMES[1], "failed", 0.0, "no nodes")]
    assert "1.500 seconds" in (tmp_path / "out" / "suite.log").read_text()


def test_a_suite_that_cannot_begin_says_why(fake: Callable[[str], Suite], tmp_path: Path) -> None:
    setup = SPEC % ("failed", "SynchronizedBeforeSuite", FAILURE)
    with pytest.raises(SuiteError, match="could not begin: no nodes"):
        fake(f'[{{"SpecReports": [{setup}]}}]').run(NAMES, tmp_path / "kubeconfig", lambda _: None)

"""What the suite reports, and what the list of known failures says to it."""

from typing import Any

import pytest

from devcluster.conformance import results
from devcluster.conformance.results import Result, Verdict
from nestor.api.objects import Object

FIRST, SECOND = "[sig-node] Pods should start [Conformance]", "[sig-apps] Jobs should end [Conformance]"


def spec(state: str, message: str = "", name: str = FIRST, **changes: Any) -> Object:
    """A test in ginkgo's report."""
    texts = name.rsplit(" should ", 1)
    failure = {"Failure": {"Message": message}} if message else {}
    return {
        "ContainerHierarchyTexts": texts[:1],
        "LeafNodeText": f"should {texts[-1]}",
        "LeafNodeType": "It",
        "State": state,
        "RunTime": 4_210_000_000,
        **failure,
        **changes,
    }


def report(*specs: Object) -> list[Object]:
    """A report of one suite."""
    return [{"SpecReports": list(specs)}]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (spec("passed"), Result(FIRST, "passed", 4.2)),
        (spec("failed", "timed out\n  waiting"), Result(FIRST, "failed", 4.2, "timed out waiting")),
        (spec("panicked", "Test Panicked"), Result(FIRST, "failed", 4.2, "Test Panicked")),
        (spec("timedout", "A node timeout occurred"), Result(FIRST, "failed", 4.2, "A node timeout occurred")),
        (spec("skipped", "needs two nodes"), Result(FIRST, "skipped", 4.2, "needs two nodes")),
    ],
    ids=["passed", "failed", "panicked", "timed out", "skipped by itself"],
)
def test_each_end_of_a_test_is_read(found: Object, expected: Result) -> None:
    assert results.read_report(report(found), [FIRST]) == [expected]


@pytest.mark.parametrize(
    "found",
    [
        spec("skipped"),
        spec("interrupted", "Interrupted by User"),
        spec("timedout", "A suite timeout occurred"),
        spec("pending"),
        spec("passed", name=SECOND),
        {"LeafNodeType": "ReportAfterSuite", "State": "passed"},
    ],
    ids=["not selected", "interrupted", "the run's own end", "pending", "not wanted", "not a test"],
)
def test_what_did_not_end_by_itself_has_no_result(found: Object) -> None:
    assert results.read_report(report(found), [FIRST]) == []


def test_why_the_suite_could_not_begin_is_found() -> None:
    setup = spec("failed", "there are currently no ready, schedulable nodes", LeafNodeType="SynchronizedBeforeSuite")
    assert results.find_setup_failure(report(spec("skipped"), setup)) == "there are currently no ready, schedulable nodes"
    assert results.find_setup_failure(report(spec("failed", "a test's own"))) == ""
    assert results.find_setup_failure(report(setup | {"State": "passed"})) == ""


def test_a_run_goes_on_where_the_last_one_ended() -> None:
    done = {FIRST: Result(FIRST, "failed"), SECOND: Result(SECOND, "passed")}
    names = [FIRST, SECOND, "third"]
    assert results.choose(names, done, "") == ["third"]
    assert results.choose(names, done, "failed") == [FIRST, "third"]
    assert results.choose(names, done, "all") == names
    with pytest.raises(ValueError, match="AGAIN must be"):
        results.choose(names, done, "passed")


def test_the_list_of_known_failures_must_be_exact() -> None:
    failed, passed, skipped = Result(FIRST, "failed"), Result(SECOND, "passed"), Result("third", "skipped")
    assert results.judge([failed, passed], {FIRST: "why"}) == Verdict((), ())
    assert results.judge([failed, passed], {FIRST: "why"}).is_good
    assert results.judge([failed, passed, skipped], {}) == Verdict((failed, skipped), ())
    assert results.judge([failed, passed], {FIRST: "why", SECOND: "why"}) == Verdict((), (passed,))
    assert not results.judge([failed, passed], {FIRST: "why", SECOND: "why"}).is_good
    assert results.judge([], {FIRST: "why"}).is_good

"""What is answered about pods."""

from __future__ import annotations

import pytest

from devcluster.plugin import status
from nestor.api.objects import Object
from tests.unit.devcluster.plugin.pods import ended, known, pod


def test_by_a_clock_that_is_wrong() -> None:
    (found,) = status.build(known(ended("main")), -3600)["containers"]
    terminated = found["state"]["terminated"]
    assert (terminated["startedAt"], terminated["finishedAt"]) == ("2026-01-01T09:00:00Z", "2026-01-01T09:00:01Z")


FINAL = [
    ("Never", [1], True),
    ("Never", [0, None], False),
    ("OnFailure", [0, 0], True),
    ("OnFailure", [0, 1], False),
    ("Always", [0], False),
    ("Never", [], False),
]


@pytest.mark.parametrize(("policy", "codes", "is_final"), FINAL)
def test_which_answers_will_never_change(policy: str, codes: list[int | None], is_final: bool) -> None:
    states: list[Object] = [{"running": {}} if code is None else {"terminated": {"exitCode": code}} for code in codes]
    answer = {"containers": [{"state": state} for state in states]}
    assert status.is_final(answer, pod(restartPolicy=policy)) is is_final

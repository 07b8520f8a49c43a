"""What the words mean, and how conditions change over time."""

from nestor.api import conditions
from nestor.api.conditions import Condition

BEFORE = {
    "type": "Ready",
    "status": "False",
    "reason": "StepRunning",
    "message": "a",
    "lastTransitionTime": "t0",
    "observedGeneration": 1,
}
OLD = [BEFORE]


def test_a_new_message_keeps_the_transition_time() -> None:
    result = conditions.merge(OLD, [Condition("Ready", "False", "StepFailed", "b")], 2, "t1")
    assert result == [{**BEFORE, "reason": "StepFailed", "message": "b", "observedGeneration": 2}]


def test_a_flip_moves_the_transition_time() -> None:
    (result,) = conditions.merge(OLD, [Condition("Ready", "True", "AppReady", "")], 1, "t1")
    assert result["lastTransitionTime"] == "t1"


def test_other_types_stay_and_new_ones_are_added() -> None:
    result = conditions.merge(OLD, [Condition("Exposed", "Unknown", "TargetNotFound", "")], 1, "t1")
    assert [item["type"] for item in result] == ["Ready", "Exposed"]
    assert conditions.find(result, "Exposed") is not None
    assert not conditions.is_true(result, "Ready")
    assert not conditions.is_true(None, "Ready")


def test_who_must_act_has_advice() -> None:
    assert [reason for reason in conditions.REASONS if reason.needs != "nobody" and not reason.advice] == []
    assert max(len(reason.advice) for reason in conditions.REASONS) <= 1024


def test_reasons_differ_and_are_found_in_a_condition() -> None:
    assert len(set(conditions.REASONS)) == len(conditions.REASONS)
    assert [conditions.reason_of({"reason": str(reason)}) for reason in conditions.REASONS] == list(conditions.REASONS)
    assert conditions.reason_of({"reason": "StepFailed"}).needs == "user"
    assert conditions.reason_of({"reason": "OfAnotherVersion"}) == "OfAnotherVersion"
    assert conditions.reason_of(None).needs == "nobody"


def test_every_stage_has_its_words() -> None:
    assert all((stage.event, stage.words, stage.reached) for stage in conditions.TIMED)

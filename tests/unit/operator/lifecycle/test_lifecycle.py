"""The table of a job's lifecycle, row by row, with a fake clock; and until when a stopped job uses what it has."""

import datetime
import math
from dataclasses import replace
from typing import Any

import pytest

from nestor.api import conditions, labels, times
from nestor.api.conditions import Condition
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.nestedclass import NestedClassSpec
from nestor.kube import kinds
from nestor.operator.lifecycle.lifecycle import Facts, Lifecycle, decide_lifecycle, find_deadline
from nestor.operator.lifecycle.record import Record, Restart, find_rerun, read_record
from nestor.operator.lifecycle.suspend import CONFIRM_SECONDS, decide_suspend, find_progress, is_quiet, stop
from nestor.operator.lifecycle.suspend import SuspendProgress as Progress
from nestor.operator.world.ownership import find_home
from tests.unit.operator.builders import NOW, Object, ago, build_run, step
from tests.unit.operator.scene import HOME, Scene

POLICY = {"targets": [{"kind": "Job", "name": "pi"}]}
DONE = build_run("Succeeded", step("a", "Succeeded"))
BROKEN = build_run("Failed", step("a", "Succeeded"), step("b", "Failed", message="exit code 1"))
BUSY = build_run("Running", step("a", "Running"))
ENDING = Progress(pods=1)


def says(status: conditions.Status, reason: str, message: str = "as it was") -> Condition:
    return Condition(conditions.SUCCEEDED, status, reason, message)


def came(state: str, message: str = "") -> Object:
    """What the syncer says of the application."""
    return {"state": state, "message": message, "serverUID": "p1"}


CLASSES = (
    "longer than its class allows, the time before it was suspended or run again included (`maxActiveDeadlineSeconds` of {} s)"
)
KEPT = "as it was; it was kept for as long as its class lets it run (`maxActiveDeadlineSeconds` of 60 s), and was stopped"
RUNS = Record(says("Unknown", conditions.RUNNING), start_time=ago(60))

RESTS = replace(RUNS, start_time=None, ran=30)


def ended(reason: str, seconds: float = 60, **more: Any) -> Record:
    """The record of a job that has ended."""
    status: conditions.Status = "True" if reason == conditions.COMPLETED else "False"
    return replace(RUNS, succeeded=says(status, reason), completion_time=ago(seconds), **more)


def build_facts(record: Record = RUNS, *, run: Object | None = DONE, **changes: Any) -> Facts:
    policy = NestedClassSpec(max_active_deadline_seconds=changes.pop("most", None))
    known = {key: changes.pop(key) for key in list(changes) if key in Facts.__dataclass_fields__}
    spec = NestedAppJobSpec.model_validate({"app": {"image": "x", "appDef": {}}} | changes)
    values: Object = {"spec": spec, "record": record, "run": run, "made_at": ago(0), "has_data": True, "policy": policy}
    return Facts(**values | known)


@pytest.mark.parametrize(
    ("facts", "phase", "reason", "message"),
    [
        # A job that runs.
        (build_facts(Record()), "Running", conditions.RUNNING, "it runs until it is deleted"),
        (build_facts(), "Running", conditions.RUNNING, "it has no `successPolicy`"),
        (build_facts(successPolicy=POLICY), "Running", conditions.RUNNING, "are not done yet"),
        (build_facts(successPolicy=POLICY, outcome=came("Running", "Job 'pi' is active")), "Running", conditions.RUNNING,
         "not done yet: Job 'pi' is active"),
        (build_facts(progress=Progress(is_told=True)), "Resuming", conditions.RUNNING, ""),
        (build_facts(progress=Progress(claim="c", is_down=True)), "Resuming", conditions.RUNNING, ""),
        (build_facts(made_at=None, progress=Progress(is_down=True)), "Running", conditions.RUNNING, ""),
        # One that is done: the targets and all steps, and only by a policy.
        (build_facts(successPolicy=POLICY, outcome=came("Succeeded", "Job 'pi' is complete")), "Finished", conditions.COMPLETED,
         "Job 'pi' is complete"),
        (build_facts(successPolicy=POLICY, outcome=came("Succeeded"), run=BUSY), "Running", conditions.RUNNING, ""),
        (build_facts(successPolicy=POLICY, outcome=came("Succeeded"), run=None), "Running", conditions.RUNNING, ""),
        (build_facts(outcome=came("Succeeded")), "Running", conditions.RUNNING, ""),
        # Failures, by policy.
        (build_facts(run=BROKEN), "Finished", conditions.STEP_FAILED, "step 'b' failed: exit code 1"),
        (build_facts(run=build_run("Failed")), "Finished", conditions.STEP_FAILED, "step '?' failed"),
        (build_facts(successPolicy=POLICY, outcome=came("Failed", "Job 'pi'")), "Finished", conditions.TARGET_FAILED, "Job 'pi'"),
        (build_facts(successPolicy=POLICY, outcome=came("Failed"), run=BUSY), "Finished", conditions.TARGET_FAILED, ""),
        (build_facts(failurePolicy=POLICY, outcome=came("Failed")), "Finished", conditions.TARGET_FAILED, "has failed"),
        (build_facts(outcome=came("Failed")), "Running", conditions.RUNNING, ""),
        (build_facts(run=BROKEN, failurePolicy={"action": "Ignore"}), "Running", conditions.FAILURE_IGNORED, "step 'b' failed"),
        (build_facts(successPolicy=POLICY, failurePolicy={"action": "Ignore"}, outcome=came("Failed", "Job 'pi'")), "Running",
         conditions.FAILURE_IGNORED, "`failurePolicy` ignores this: Job 'pi'"),
        (build_facts(run=BROKEN, failurePolicy={"action": "Restart"}), "Restarting", conditions.RESTARTING,
         "restart 1 of 3 in an empty cluster: step 'b' failed"),
        (build_facts(replace(RUNS, restarts=2), run=BROKEN, failurePolicy={"action": "Restart", "maxRestarts": 2}), "Finished",
         conditions.RESTARTS_EXHAUSTED, "restarted 2 of 2 times, then: step 'b' failed"),
        (build_facts(run=BROKEN, failurePolicy={"action": "Restart", "maxRestarts": 0}), "Finished",
         conditions.RESTARTS_EXHAUSTED, "restarted 0 of 0 times"),
        # Restarts are under way until the cluster is another one.
        (build_facts(replace(RUNS, restarts=1, restart=Restart(1, ago(5), "b failed"))), "Restarting", conditions.RESTARTING,
         "restart 1 of 3 in an empty cluster: b failed"),
        (build_facts(replace(RUNS, restarts=1, restart=Restart(1, ago(5), "b failed")), epoch=1, run=BUSY), "Running",
         conditions.RUNNING, ""),
        # The deadline.
        (build_facts(activeDeadlineSeconds=61), "Running", conditions.RUNNING, ""),
        (build_facts(activeDeadlineSeconds=60), "Finished", conditions.DEADLINE_EXCEEDED, "`activeDeadlineSeconds` of 60 s"),
        (build_facts(Record(), activeDeadlineSeconds=1), "Running", conditions.RUNNING, ""),
        (build_facts(activeDeadlineSeconds=1, successPolicy=POLICY, outcome=came("Succeeded")), "Finished",
         conditions.COMPLETED, ""),
        (build_facts(activeDeadlineSeconds=1, run=BROKEN), "Finished", conditions.STEP_FAILED, ""),
        (build_facts(activeDeadlineSeconds=1, run=BROKEN, failurePolicy={"action": "Restart"}), "Finished",
         conditions.DEADLINE_EXCEEDED, ""),
        (build_facts(activeDeadlineSeconds=1, run=BROKEN, failurePolicy={"action": "Ignore"}), "Finished",
         conditions.DEADLINE_EXCEEDED, ""),
        (build_facts(replace(RUNS, restart=Restart(1, ago(5), "x")), activeDeadlineSeconds=1), "Finished",
         conditions.DEADLINE_EXCEEDED, ""),
        # The class's: with what it ran before. Its own does not care about that.
        (build_facts(replace(RUNS, ran=40), most=101), "Running", conditions.RUNNING, ""),
        (build_facts(replace(RUNS, ran=40), most=100), "Finished", conditions.DEADLINE_EXCEEDED, CLASSES.format(100)),
        (build_facts(replace(RUNS, ran=400), most=100, suspend=True), "Suspending", conditions.SUSPENDED, ""),
        (build_facts(replace(RUNS, ran=400), activeDeadlineSeconds=61), "Running", conditions.RUNNING, ""),
        (build_facts(most=60, activeDeadlineSeconds=60), "Finished", conditions.DEADLINE_EXCEEDED, "its `activeDeadlineSeconds`"),
        (build_facts(most=60, activeDeadlineSeconds=70), "Finished", conditions.DEADLINE_EXCEEDED, CLASSES.format(60)),
        (build_facts(most=60, is_refused=True), "Finished", conditions.DEADLINE_EXCEEDED, CLASSES.format(60)),
        # While it is kept for inspection, its application runs on.
        (build_facts(ended(conditions.STEP_FAILED, 20), run=BROKEN, most=61), "Finished", conditions.STEP_FAILED, "as it was"),
        (build_facts(ended(conditions.STEP_FAILED, 20), run=BROKEN, most=60), "Finished", conditions.DEADLINE_EXCEEDED, KEPT),
        (build_facts(ended(conditions.STEP_FAILED, 20, ran=40), run=BROKEN, most=100, is_refused=True), "Finished",
         conditions.DEADLINE_EXCEEDED, "(`maxActiveDeadlineSeconds` of 100 s)"),
        (build_facts(ended(conditions.STEP_FAILED, 20), run=BROKEN, most=60, suspend=True), "Finished", conditions.STEP_FAILED,
         ""),
        (build_facts(run=BROKEN, most=60), "Finished", conditions.DEADLINE_EXCEEDED, "step 'b' failed: exit code 1; it was kept"),
        # Suspended.
        (build_facts(Record(), made_at=None, suspend=True), "Suspended", conditions.SUSPENDED, "before it started"),
        (build_facts(suspend=True, progress=Progress(pods=2)), "Suspending", conditions.SUSPENDED, "are being stopped, 2 left"),
        (build_facts(suspend=True, progress=Progress(is_told=True)), "Suspended", conditions.SUSPENDED,
         "its control plane keeps running"),
        (build_facts(suspend=True, progress=Progress(is_told=True), activeDeadlineSeconds=1), "Suspended", conditions.SUSPENDED,
         ""),
        (build_facts(suspend=True, progress=Progress(is_told=True), run=BROKEN), "Suspended", conditions.SUSPENDED, ""),
        (build_facts(suspend=True, successPolicy=POLICY, outcome=came("Succeeded")), "Suspending", conditions.SUSPENDED, ""),
        (build_facts(replace(RUNS, restart=Restart(1, ago(5), "x")), suspend=True), "Suspending", conditions.SUSPENDED, ""),
        # What has ended stays so, whatever is seen.
        (build_facts(ended(conditions.COMPLETED), run=BROKEN), "Finished", conditions.COMPLETED, "as it was"),
        (build_facts(ended(conditions.COMPLETED), run=None, suspend=True), "Finished", conditions.COMPLETED, ""),
        (build_facts(ended(conditions.TARGET_FAILED), activeDeadlineSeconds=1), "Finished", conditions.TARGET_FAILED, ""),
        (build_facts(ended(conditions.DEADLINE_EXCEEDED), activeDeadlineSeconds=900), "Finished", conditions.DEADLINE_EXCEEDED,
         ""),
        (build_facts(ended(conditions.STEP_FAILED), run=BROKEN), "Finished", conditions.STEP_FAILED, "as it was"),
        # A failed step is revived by another plan, everything by another value of the annotation.
        (build_facts(ended(conditions.STEP_FAILED), run=None), "Running", conditions.RUNNING, ""),
        (build_facts(ended(conditions.STEP_FAILED), run=BUSY), "Running", conditions.RUNNING, ""),
        (build_facts(ended(conditions.STEP_FAILED), run=None, suspend=True), "Suspending", conditions.SUSPENDED, ""),
        (build_facts(ended(conditions.STEP_FAILED), run=None, rerun="2"), "Running", conditions.RUNNING, ""),
        (build_facts(ended(conditions.COMPLETED, rerun="1"), rerun="1"), "Finished", conditions.COMPLETED, ""),
        (build_facts(ended(conditions.COMPLETED, rerun="1"), rerun="2"), "Restarting", conditions.RESTARTING,
         "starting over in an empty cluster: a rerun was requested"),
        (build_facts(ended(conditions.DEADLINE_EXCEEDED), rerun="2", activeDeadlineSeconds=1), "Restarting",
         conditions.RESTARTING, ""),
        (build_facts(ended(conditions.RESTARTS_EXHAUSTED), rerun="2", has_data=False, run=None), "Running", conditions.RUNNING,
         ""),
        # Refused: it may end and rest, but neither begin, nor go on, nor be restarted.
        (build_facts(is_refused=True), "Running", conditions.RUNNING, ""),
        (build_facts(is_refused=True, activeDeadlineSeconds=1), "Finished", conditions.DEADLINE_EXCEEDED, ""),
        (build_facts(is_refused=True, successPolicy=POLICY, outcome=came("Succeeded")), "Finished", conditions.COMPLETED, ""),
        (build_facts(is_refused=True, suspend=True), "Suspending", conditions.SUSPENDED, ""),
        (build_facts(is_refused=True, run=BROKEN), "Running", conditions.RUNNING, ""),
        (build_facts(Record(says("Unknown", conditions.SUSPENDED), suspend_time=ago(9)), is_refused=True), "Suspended",
         conditions.SUSPENDED, "as it was"),
        (build_facts(ended(conditions.STEP_FAILED), is_refused=True, run=None), "Finished", conditions.STEP_FAILED, ""),
        (build_facts(ended(conditions.COMPLETED), is_refused=True, rerun="2"), "Finished", conditions.COMPLETED, ""),
    ],
)  # fmt: skip
def test_the_life_of_a_job(facts: Facts, phase: str, reason: str, message: str) -> None:
    life = decide_lifecycle(facts, NOW)
    assert (life.phase, life.succeeded.reason) == (phase, reason)
    assert message in life.succeeded.message
    expected = {"Finished": "True" if reason == conditions.COMPLETED else "False"}
    assert life.succeeded.status == expected.get(phase, "Unknown")
    assert (life.record.completion_time is not None) == (phase == "Finished")


@pytest.mark.parametrize(
    ("facts", "is_stopped"),
    [
        (build_facts(), False),
        (build_facts(suspend=True), True),
        (build_facts(ended(conditions.COMPLETED)), True),
        (build_facts(ended(conditions.TARGET_FAILED)), True),
        (build_facts(ended(conditions.DEADLINE_EXCEEDED)), True),
        (build_facts(ended(conditions.RESTARTS_EXHAUSTED)), True),
        (build_facts(ended(conditions.STEP_FAILED), run=BROKEN), False),
        (build_facts(ended(conditions.STEP_FAILED), run=BROKEN, suspend=True), True),
        (build_facts(ended(conditions.STEP_FAILED), run=BROKEN, most=60), True),
        (build_facts(replace(RUNS, restart=Restart(1, ago(1), "x"))), True),
        (build_facts(Record(says("Unknown", conditions.SUSPENDED), suspend_time=ago(9)), is_refused=True), True),
        (build_facts(is_refused=True), False),
    ],
)
def test_the_application_rests_while_the_job_does_and_after_its_end_but_not_after_a_failed_step(
    facts: Facts, is_stopped: bool
) -> None:
    assert decide_lifecycle(facts, NOW).is_stopped is is_stopped


@pytest.mark.parametrize(
    ("facts", "delay"),
    [
        (build_facts(), math.inf),
        (build_facts(activeDeadlineSeconds=100), 40),
        (build_facts(Record(), activeDeadlineSeconds=100), 100),
        # Its status has never been written, so its cluster says since when.
        (build_facts(Record(), made_at=ago(60), activeDeadlineSeconds=100), 40),
        (build_facts(Record(), made_at=ago(60), is_refused=True, activeDeadlineSeconds=100), 40),
        (build_facts(replace(RUNS, ran=30), most=100, activeDeadlineSeconds=100), 10),
        (build_facts(replace(RUNS, ran=30), most=1000, activeDeadlineSeconds=100), 40),
        (build_facts(run=BROKEN, failurePolicy={"action": "Restart"}), 10),
        (build_facts(run=BROKEN, failurePolicy={"action": "Restart"}, activeDeadlineSeconds=65), 5),
        (build_facts(replace(RUNS, restarts=2, restart=Restart(1, ago(5), "x"))), 15),
        (build_facts(replace(RUNS, restarts=5, restart=Restart(1, ago(5), "x"))), 155),
        (build_facts(replace(RUNS, restarts=6, restart=Restart(1, ago(5), "x"))), 295),
        (build_facts(replace(RUNS, restarts=1000, restart=Restart(1, ago(5), "x"))), 295),
        (build_facts(suspend=True), 120),
        (build_facts(replace(RUNS, suspend_time=ago(100)), suspend=True), 20),
        (build_facts(replace(RUNS, suspend_time=ago(500)), suspend=True, activeDeadlineSeconds=5), math.inf),
        (build_facts(ended(conditions.COMPLETED, 30), ttlSecondsAfterFinished=70), 40),
        (build_facts(ended(conditions.STEP_FAILED, 30), run=BROKEN, ttlSecondsAfterFinished=70), 40),
        (build_facts(ended(conditions.STEP_FAILED, 30), run=BROKEN, most=100), 40),
        # When its pods have had the rest of the class's time, and a while to end.
        (build_facts(replace(RESTS, suspend_time=ago(500)), suspend=True, most=60, progress=ENDING), 130),
        (build_facts(ended(conditions.DEADLINE_EXCEEDED, 500, start_time=ago(560)), most=60, progress=ENDING), 100),
        (build_facts(run=BROKEN, ttlSecondsAfterFinished=0), 0),
    ],
)
def test_it_is_looked_at_again_when_time_changes_something(facts: Facts, delay: float) -> None:
    assert decide_lifecycle(facts, NOW).delay == delay


@pytest.mark.parametrize(
    ("facts", "is_overdue"),
    [
        (build_facts(ended(conditions.DEADLINE_EXCEEDED, 600, start_time=ago(700)), most=100, progress=ENDING), True),
        (build_facts(ended(conditions.DEADLINE_EXCEEDED, 599, start_time=ago(699)), most=100, progress=ENDING), False),
        (build_facts(ended(conditions.COMPLETED, 640, start_time=ago(700)), most=100, progress=ENDING), True),
        (build_facts(ended(conditions.COMPLETED, 639, start_time=ago(698)), most=100, progress=ENDING), False),
        (build_facts(ended(conditions.COMPLETED, 9999), progress=ENDING), False),
        (build_facts(ended(conditions.COMPLETED, 9999), most=100, progress=Progress(is_told=True)), False),
        (build_facts(replace(RESTS, suspend_time=ago(670)), suspend=True, most=100, progress=ENDING), True),
        (build_facts(replace(RESTS, suspend_time=ago(669)), suspend=True, most=100, progress=ENDING), False),
        (build_facts(most=100, progress=ENDING), False),
    ],
)  # fmt: skip
def test_a_grace_period_makes_a_job_no_longer_than_its_class_allows(facts: Facts, is_overdue: bool) -> None:
    assert decide_lifecycle(facts, NOW).is_overdue is is_overdue


def settle(facts: Facts, life: Lifecycle, **changes: Any) -> Facts:
    """The facts after that pass: its record was written, and something changed."""
    return replace(facts, record=replace(life.record, succeeded=life.succeeded), **changes)


def test_a_failure_is_counted_once_and_acted_upon_after_it_is_recorded() -> None:
    facts = build_facts(run=BROKEN, failurePolicy={"action": "Restart"})
    first = decide_lifecycle(facts, NOW)
    assert decide_lifecycle(facts, NOW).record == first.record, "a pass that was not recorded decides the same"
    assert (first.record.restarts, first.record.restart) == (1, Restart(1, ago(0), "step 'b' failed: exit code 1"))
    assert not first.is_reset_due
    facts = settle(facts, first)
    waiting = decide_lifecycle(facts, NOW + datetime.timedelta(seconds=9))
    assert (waiting.record.restarts, waiting.is_reset_due, waiting.delay) == (1, False, 1)
    due = decide_lifecycle(facts, NOW + datetime.timedelta(seconds=10))
    assert (due.record.restarts, due.is_reset_due) == (1, True)
    # The new server is seen: what is known of the old one does not count, even before its plan and outcome have changed.
    again = decide_lifecycle(settle(facts, due, epoch=1, run=None), NOW + datetime.timedelta(seconds=11))
    assert (again.phase, again.record.restarts, again.record.restart) == ("Running", 1, None)
    assert again.record.start_time == ago(60), "the deadline is the whole job's"
    second = decide_lifecycle(settle(facts, again, epoch=1), NOW + datetime.timedelta(seconds=30))
    assert (second.record.restarts, second.delay) == (2, 20)
    assert second.record.restart is not None
    assert second.record.restart.epoch == 2


def test_the_cause_of_a_restart_fits_into_the_status_however_much_a_step_said() -> None:
    talkative = build_run("Failed", step("b", "Failed", message="x" * 30_000))
    life = decide_lifecycle(build_facts(run=talkative, failurePolicy={"action": "Restart"}), NOW)
    assert life.record.restart is not None
    assert len(life.record.restart.message) == 1000


def test_a_restart_is_done_when_somebody_took_the_cluster_away_meanwhile() -> None:
    waiting = replace(RUNS, restarts=1, restart=Restart(1, ago(5), "step 'b' failed"))
    life = decide_lifecycle(build_facts(waiting, run=None, made_at=None, has_data=False), NOW)
    assert (life.phase, life.is_stopped, life.record.restarts, life.record.restart) == ("Running", False, 1, None)


def test_a_restart_waits_while_the_job_is_suspended() -> None:
    facts = build_facts(replace(RUNS, restarts=1, restart=Restart(1, ago(50), "x")), suspend=True)
    life = decide_lifecycle(facts, NOW)
    assert not life.is_reset_due
    assert life.record.restart is not None
    resumed = decide_lifecycle(settle(replace(facts, spec=build_facts().spec), life), NOW)
    assert (resumed.phase, resumed.is_reset_due) == ("Restarting", True)


def test_a_job_that_is_refused_is_not_restarted_until_it_is_admitted_again() -> None:
    facts = build_facts(replace(RUNS, restarts=1, restart=Restart(1, ago(50), "x")), is_refused=True)
    assert not decide_lifecycle(facts, NOW).is_reset_due
    assert decide_lifecycle(replace(facts, is_refused=False), NOW).is_reset_due


def test_a_new_run_begins_its_times_and_its_restarts_anew() -> None:
    facts = build_facts(ended(conditions.RESTARTS_EXHAUSTED, restarts=3), rerun="2")
    life = decide_lifecycle(facts, NOW)
    assert life.record == Record(
        facts.record.succeeded, start_time=ago(0), restart=Restart(1, ago(0), "a rerun was requested"), rerun="2"
    )
    assert not life.is_reset_due
    assert decide_lifecycle(settle(facts, life), NOW).is_reset_due
    stopped = replace(facts, progress=Progress(is_stopping=True))
    life = decide_lifecycle(stopped, NOW)
    assert (life.is_reset_due, life.replicas) == (False, 0), "its volumes go first"
    life = decide_lifecycle(settle(stopped, life), NOW)
    assert (life.is_reset_due, life.replicas) == (True, 1)


def test_a_new_run_of_a_job_that_runs_keeps_its_cluster() -> None:
    life = decide_lifecycle(build_facts(replace(RUNS, restarts=1), rerun="2", run=None), NOW)
    assert (life.phase, life.record.restarts, life.record.restart, life.record.start_time) == ("Running", 0, None, ago(0))


def test_the_annotation_that_a_job_is_made_with_is_no_rerun() -> None:
    assert decide_lifecycle(build_facts(Record(), rerun="7"), NOW).record.rerun == "7"


def test_a_resumed_job_gets_its_whole_deadline_again() -> None:
    facts = build_facts(suspend=True, activeDeadlineSeconds=100)
    resting = decide_lifecycle(facts, NOW)
    assert (resting.record.start_time, resting.record.suspend_time) == (None, ago(0))
    back = replace(facts, spec=build_facts(activeDeadlineSeconds=100).spec)
    resumed = decide_lifecycle(settle(back, resting), NOW + datetime.timedelta(hours=1))
    assert (resumed.record.suspend_time, resumed.delay) == (None, 100)


@pytest.mark.parametrize(
    ("facts", "ran"),
    [
        (build_facts(), 40),
        (build_facts(suspend=True), 100),
        (build_facts(replace(RUNS, start_time=None, suspend_time=ago(5)), suspend=True), 40),
        (build_facts(replace(RUNS, start_time=None, suspend_time=ago(5))), 40),
        # A rerun of a job that runs, or is kept after a failed step, gives nothing back: it has its place all the time.
        (build_facts(rerun="2"), 100),
        (build_facts(rerun="2", suspend=True), 100),
        (build_facts(ended(conditions.STEP_FAILED, 20), rerun="2", run=BUSY), 100),
        (build_facts(ended(conditions.STEP_FAILED, 20), run=BUSY), 100),
        (build_facts(ended(conditions.STEP_FAILED, 20, suspend_time=ago(10)), run=BUSY), 90),
        # Its pods have a long grace period, and were never gone.
        (build_facts(replace(RUNS, start_time=None, suspend_time=ago(5)), progress=Progress(pods=2, ending=1)), 45),
        # An operator that could not write down that it resumed the job sees its new pods.
        (build_facts(replace(RUNS, start_time=None, suspend_time=ago(5)), progress=ENDING), 40),
        (build_facts(ended(conditions.STEP_FAILED, 20), run=BROKEN), 40),
        (build_facts(run=BROKEN, failurePolicy={"action": "Restart"}), 40),
        # One that has ended, and has lost its place, begins anew.
        (build_facts(ended(conditions.COMPLETED, 20), rerun="2"), 0),
        (build_facts(ended(conditions.DEADLINE_EXCEEDED, 20), rerun="2"), 0),
        (build_facts(ended(conditions.DEADLINE_EXCEEDED, 20), rerun="2", is_refused=True), 40),
        (build_facts(ended(conditions.COMPLETED, 20)), 40),
    ],
)
def test_what_a_job_has_run_is_summed_up_until_it_has_ended(facts: Facts, ran: int) -> None:
    facts = replace(facts, record=replace(facts.record, ran=40))
    life = decide_lifecycle(facts, NOW)
    assert life.record.ran == ran
    assert decide_lifecycle(settle(facts, life), NOW).record.ran == ran, "once"


def test_a_part_of_a_second_counts_as_a_whole_one() -> None:
    """Otherwise, a job that is suspended again and again soon after it was resumed would run for ever."""
    later = NOW + datetime.timedelta(seconds=0.1)
    assert decide_lifecycle(build_facts(replace(RUNS, ran=40), suspend=True), later).record.ran == 101


def test_a_job_that_has_run_for_all_of_its_classs_time_has_a_second_left() -> None:
    """The schema knows no shorter deadline; `test_refused.py` has the others."""
    assert [find_deadline(None, 60, ran) for ran in (59, 60, 99)] == [1, 1, 1]


def test_a_job_is_deleted_only_after_its_end_is_recorded() -> None:
    facts = build_facts(run=BROKEN, ttlSecondsAfterFinished=0)
    life = decide_lifecycle(facts, NOW)
    assert not life.expired
    assert decide_lifecycle(settle(facts, life), NOW).expired
    assert not decide_lifecycle(build_facts(ended(conditions.COMPLETED, 59), ttlSecondsAfterFinished=60), NOW).expired
    assert decide_lifecycle(build_facts(ended(conditions.COMPLETED, 60), ttlSecondsAfterFinished=60), NOW).expired
    assert not decide_lifecycle(build_facts(ended(conditions.STEP_FAILED, 60), run=None, ttlSecondsAfterFinished=1), NOW).expired


def test_a_failed_step_that_is_suspended_rests_and_is_not_forgotten() -> None:
    facts = build_facts(ended(conditions.STEP_FAILED), run=BROKEN, suspend=True)
    life = decide_lifecycle(facts, NOW)
    assert (life.phase, life.record.suspend_time) == ("Finished", ago(0))
    back = replace(settle(facts, life), spec=build_facts().spec)
    assert decide_lifecycle(back, NOW).record.suspend_time is None


@pytest.mark.parametrize(
    ("annotation", "recorded", "found"), [(None, None, ""), ("2", None, "2"), ("2", "1", "2"), (None, "1", "1"), ("", "1", "1")]
)
def test_who_takes_the_annotation_away_wants_no_other_run(annotation: str | None, recorded: str | None, found: str) -> None:
    annotations = {labels.RERUN: annotation} if annotation is not None else None
    job = {"metadata": {"annotations": annotations}, "status": {"rerun": recorded} if recorded else {}}
    assert find_rerun(job) == found


def test_times_of_a_clock_that_was_ahead_are_taken_for_now() -> None:
    ahead = "2026-01-01T15:00:00Z"
    status = {
        "startTime": ahead,
        "completionTime": ahead,
        "suspendTime": ahead,
        "restarts": 2,
        "ranSeconds": 9,
        "rerun": "1",
        "restart": {"epoch": 3, "time": ahead, "message": "m"},
        "conditions": [{"type": "Succeeded", "status": "False", "reason": "TargetFailed", "message": "as it was"}],
    }
    record = read_record(status, NOW)
    assert record == Record(
        says("False", conditions.TARGET_FAILED),
        start_time=ago(0),
        completion_time=ago(0),
        suspend_time=ago(0),
        restarts=2,
        restart=Restart(3, ago(0), "m"),
        rerun="1",
        ran=9,
    )
    life = decide_lifecycle(build_facts(record, ttlSecondsAfterFinished=60, rerun="1"), NOW)
    assert (life.expired, life.delay) == ("", 60)


def test_a_record_is_read_as_it_was_written() -> None:
    assert read_record({}, NOW) == Record()
    record = Record(
        says("Unknown", conditions.RESTARTING),
        start_time=ago(9),
        suspend_time=ago(5),
        restarts=1,
        restart=Restart(2, ago(4), "m"),
        rerun="1",
        ran=7,
    )
    assert record.succeeded is not None
    written = [{"type": "Succeeded", "status": "Unknown", "reason": "Restarting", "message": "as it was"}]
    assert read_record(record.to_status() | {"conditions": written}, NOW) == record
    assert Record().to_status() == dict.fromkeys(
        ("startTime", "completionTime", "suspendTime", "ranSeconds", "restarts", "rerun", "restart")
    ), "what is not there is taken out of the status"


@pytest.mark.parametrize(
    ("progress", "seconds", "keep", "is_reached", "replicas", "is_forced", "delay", "message"),
    [
        # Without a volume the control plane stays.
        (Progress(), 0, None, False, 1, False, 120, "its pods are being stopped"),
        (Progress(pods=3), 20, None, False, 1, False, 100, "its pods are being stopped, 3 left"),
        (Progress(is_told=True, pods=1), 20, None, False, 1, False, 100, "1 left"),
        (Progress(is_told=True), 20, None, True, 1, False, math.inf,
         "its control plane keeps running because its data lives in its pod"),
        # A syncer that cannot, because the nested API is dead, must not keep the pods running beyond a deadline.
        (Progress(pods=1), 120, None, False, 1, True, math.inf, "did not confirm within 120 s"),
        (Progress(), 120, None, True, 1, False, math.inf,
         "did not confirm within 120 s that its pods are stopped; the host cluster has none"),
        # Where it may stay for so long only, it goes then, and its data with it.
        (Progress(is_told=True), 20, 600, True, 1, False, 580, "stops 600 s after the job did, and its objects are gone then"),
        (Progress(is_told=True), 600, 600, True, 0, False, math.inf, "its control plane is stopped, and its objects are gone"),
        (Progress(is_told=True), 0, 0, True, 0, False, math.inf, "its control plane is stopped, and its objects are gone"),
        (Progress(pods=1), 700, 600, False, 1, True, math.inf, "did not confirm within 120 s"),
        (Progress(), 700, 600, True, 0, False, math.inf, "the host cluster has none of them; its control plane is stopped"),
        (Progress(is_down=True), 5, None, True, 0, False, math.inf, "its control plane is stopped, and its objects are gone"),
        (Progress(is_down=True, pods=1), 5, None, False, 0, True, math.inf, "its objects are gone"),
        # With one it goes, after the pods or after the time that they are given.
        (Progress(claim="data"), 0, None, False, 1, False, 120, "its pods are being stopped"),
        (Progress(claim="data", is_told=True, pods=1), 0, None, False, 1, False, 120, "1 left"),
        (Progress(claim="data", is_told=True), 0, None, False, 0, False, math.inf, "its control plane is being stopped"),
        (Progress(claim="data", pods=2), 120, None, False, 0, False, math.inf, "did not confirm within 120 s"),
        (Progress(claim="data", is_told=True, is_down=True), 5, None, True, 0, False, math.inf,
         "stays in PersistentVolumeClaim 'data'"),
        (Progress(claim="data", is_down=True), 500, None, True, 0, False, math.inf, "stopped"),
        (Progress(claim="data", pods=2, is_down=True), 500, None, False, 0, True, math.inf, "2 left"),
    ],
)  # fmt: skip
def test_how_a_cluster_comes_to_rest(
    progress: Progress,
    seconds: float,
    keep: float | None,
    is_reached: bool,
    replicas: int,
    is_forced: bool,
    delay: float,
    message: str,
) -> None:
    rest = decide_suspend(progress, seconds, math.inf if keep is None else keep)
    assert (rest.is_reached, rest.replicas, rest.is_forced, rest.delay) == (is_reached, replicas, is_forced, delay)
    assert message in rest.message


@pytest.mark.parametrize(
    ("record", "given", "replicas", "delay"),
    [
        (ended(conditions.COMPLETED), {}, 1, 540),
        (ended(conditions.COMPLETED), {"stopEndedAfterSeconds": 60}, 0, math.inf),
        (ended(conditions.COMPLETED, 600), {}, 0, math.inf),
        (ended(conditions.COMPLETED, 600), {"stopEndedAfterSeconds": 700}, 1, 100),
        # What may go on is not taken away but by the class's own will.
        (replace(RESTS, suspend_time=ago(9999)), {}, 1, math.inf),
        (ended(conditions.STEP_FAILED, 9999, suspend_time=ago(9999)), {}, 1, math.inf),
        (replace(RESTS, suspend_time=ago(60)), {"stopSuspendedAfterSeconds": 100}, 1, 40),
        (replace(RESTS, suspend_time=ago(100)), {"stopSuspendedAfterSeconds": 100}, 0, math.inf),
        (ended(conditions.STEP_FAILED, 9999, suspend_time=ago(60)), {"stopSuspendedAfterSeconds": 60}, 1, math.inf),
        (replace(RESTS, suspend_time=ago(1), restart=Restart(1, ago(1), "m")), {}, 0, math.inf),
        # Without its class, nobody knows.
        (ended(conditions.COMPLETED, 600), None, 1, math.inf),
    ],
)
def test_a_job_at_rest_without_a_volume_stops_its_server_when_its_class_says_so(
    record: Record, given: Object | None, replicas: int, delay: float
) -> None:
    policy = None if given is None else NestedClassSpec.model_validate({"cluster": given})
    run = BROKEN if record.ended_by == conditions.STEP_FAILED else DONE
    facts = build_facts(record, suspend=True, run=run, policy=policy, progress=Progress(is_told=True))
    life = decide_lifecycle(facts, NOW)
    assert (life.replicas, life.delay) == (replicas, delay)


@pytest.mark.parametrize(("given", "replicas"), [({}, 0), ({"stopSuspendedAfterSeconds": 100}, 1)])
def test_the_server_of_a_suspended_job_that_kueue_starts_stops_at_once(given: Object, replicas: int) -> None:
    policy = NestedClassSpec.model_validate({"cluster": given})
    record = replace(RESTS, suspend_time=ago(1))
    facts = build_facts(record, suspend=True, run=DONE, policy=policy, progress=Progress(is_told=True), is_kueued=True)
    assert decide_lifecycle(facts, NOW).replicas == replicas


@pytest.mark.parametrize(
    ("own", "most", "seconds", "expired"),
    [
        (None, 60, 60, "its class's `maxTtlSecondsAfterFinished` of 60 s"),
        (None, 60, 59, ""),
        (100, 60, 60, "its class's `maxTtlSecondsAfterFinished` of 60 s"),
        (60, 100, 60, "its `ttlSecondsAfterFinished` of 60 s"),
        (60, None, 60, "its `ttlSecondsAfterFinished` of 60 s"),
        (None, None, 10**9, ""),
    ],
)
def test_a_class_says_how_long_a_job_may_stay_after_its_end(
    own: int | None, most: int | None, seconds: int, expired: str
) -> None:
    policy = NestedClassSpec(max_ttl_seconds_after_finished=most)
    facts = build_facts(ended(conditions.COMPLETED, seconds), policy=policy, ttlSecondsAfterFinished=own)
    assert decide_lifecycle(facts, NOW).expired == expired


@pytest.mark.parametrize("record", [replace(RUNS, suspend_time=ago(1)), ended(conditions.COMPLETED)])
def test_a_job_at_rest_with_its_data_on_a_volume_needs_no_server(record: Record) -> None:
    facts = build_facts(record, suspend=True, progress=Progress(claim="data", is_told=True))
    assert decide_lifecycle(facts, NOW).replicas == 0
    assert decide_lifecycle(replace(facts, progress=Progress(claim="data", pods=1)), NOW).replicas == 1


APP, RUNNER, SERVER = labels.COMPONENT_APP, labels.COMPONENT_RUNNER, labels.COMPONENT_SERVER
SOON, LATE = 1, CONFIRM_SECONDS + 1


def passed(seconds: float) -> str:
    return times.write(times.now() - datetime.timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("cluster", "pods", "seconds", "found"),
    [
        ({"suspended": True}, {}, SOON, True),
        ({"suspended": True}, {"a": (APP, "Running")}, SOON, False),
        ({"suspended": True}, {"a": (APP, "Pending")}, LATE, False),
        ({"suspended": True}, {"a": (RUNNER, "Running")}, SOON, False),
        ({"suspended": True}, {"a": (APP, "Succeeded"), "b": (RUNNER, "Failed")}, SOON, True),
        ({"suspended": True}, {"a": (SERVER, "Running")}, SOON, True),
        # Its syncer is silent: it could still be about to make pods, but not for ever.
        ({}, {}, SOON, False),
        ({}, {}, LATE, True),
        ({}, {"a": (APP, "Running")}, LATE, False),
        # No cluster any more, or none yet: a namespace that is being deleted loses it before its pods.
        (None, {"a": (APP, "Running")}, SOON, False),
        (None, {}, SOON, True),
    ],
)
@pytest.mark.parametrize("field", ["suspendTime", "completionTime"])
def test_a_job_is_quiet_when_its_pods_are_gone(
    field: str, cluster: Object | None, pods: dict[str, tuple[str, str]], seconds: float, found: bool
) -> None:
    scene = Scene()
    job = scene.add_job()
    job["status"] = {field: passed(seconds)}
    if cluster is not None:
        meta = {"name": "hello", "namespace": HOME, "uid": "c"}
        scene.change(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {"className": "default"}, "status": cluster})
    for name, (component, phase) in pods.items():
        own = {labels.CLUSTER: "hello", labels.COMPONENT: component}
        scene.show(kinds.POD, {"metadata": {"name": name, "namespace": HOME, "labels": own}, "status": {"phase": phase}})
    assert is_quiet(scene.context.cache, job) is found


ENDS: Object = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 10**9}


@pytest.mark.parametrize(
    ("meta", "own", "is_overdue", "graces"),
    [
        (ENDS, 10**9, True, [30]),
        (ENDS, 10**9, False, []),
        (ENDS | {"deletionGracePeriodSeconds": 30}, 10**9, True, []),
        ({}, 10**9, True, [30]),
        ({}, 5, True, [5]),
    ],
)
async def test_pods_that_have_had_their_time_get_half_a_minute_more(
    meta: Object, own: int, is_overdue: bool, graces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their grace period is: it is their user who writes it."""
    scene, asked = Scene(), list[int | None]()
    home = find_home(scene.add_job())

    async def delete(*_: Any, grace_seconds: int | None = None, **__: Any) -> bool:
        asked.append(grace_seconds)
        return True

    monkeypatch.setattr(scene.api, "delete", delete)

    marks = {labels.CLUSTER: "hello", labels.COMPONENT: APP}
    pod = {"metadata": {"name": "web", "namespace": HOME, "uid": "p", "labels": marks} | meta, "status": {"phase": "Running"}}
    scene.show(kinds.POD, pod | {"spec": {"terminationGracePeriodSeconds": own}})
    progress = find_progress(scene.context.cache, home)
    assert (progress.pods, progress.ending) == (1, 1 if meta else 0)
    await stop(scene.context, home, None, is_applied=True, is_overdue=is_overdue)
    assert asked == graces

"""Whatever happens to a job, in any order, and wherever its operator dies: nothing is counted twice, done twice or lost."""

import datetime
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from nestor.api import conditions
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.operator.lifecycle.lifecycle import Facts, Lifecycle, decide_lifecycle
from nestor.operator.lifecycle.record import Record, read_record
from nestor.operator.lifecycle.suspend import SuspendProgress
from tests.unit.operator.builders import Object, build_run, step

START = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.UTC)
POLICY = {"targets": [{"kind": "Job", "name": "pi"}]}
PASSES = ["pass", "dies before it writes", "dies before it acts"]
OTHERS = ["fails", "completes", "completes", "breaks", "applies", "suspend", "resume", "rerun", "server lost", "rests"]
OTHERS += ["class gone", "class back", "minute", "hour", "clock back"]
HAPPENINGS = st.lists(st.sampled_from([*PASSES, *["pass"] * 8, *OTHERS]), max_size=40)


@dataclass
class Cache:
    """A job, its cluster, and the operators that come and go."""

    action: str
    most: int
    now: datetime.datetime = START
    status: Object | None = None
    """As it is in the API server."""
    epoch: int = 0
    run: Object | None = None
    outcome: Object | None = None
    is_suspended: bool = False
    is_refused: bool = False
    is_told: bool = False
    rerun: int = 0
    failures: int = 0
    """Clusters that failed since the last new run."""
    failed_epoch: int = -1
    resets: int = 0

    def facts(self) -> Facts:
        """What an operator sees."""
        spec = NestedAppJobSpec.model_validate(
            {
                "app": {"image": "x"},
                "suspend": self.is_suspended,
                "successPolicy": POLICY,
                "activeDeadlineSeconds": 36000,
                "failurePolicy": {"action": self.action, "maxRestarts": self.most},
            }
        )
        return Facts(
            spec=spec,
            record=read_record(self.status or {}, self.now),
            rerun=str(self.rerun or ""),
            epoch=self.epoch,
            has_data=True,
            made_at="2026-01-01T12:00:00Z",
            is_refused=self.is_refused,
            run=self.run,
            outcome=self.outcome,
            progress=SuspendProgress(is_told=self.is_told),
        )

    def live(self, *, writes: bool = True, acts: bool = True) -> Lifecycle:
        life = decide_lifecycle(self.facts(), self.now)
        if life.is_reset_due and acts:
            self.resets += 1
            self.lose()
        if writes:
            said = life.succeeded
            kept = {key: value for key, value in life.record.to_status().items() if value is not None}
            found = {"type": said.type, "status": said.status, "reason": said.reason, "message": said.message}
            self.status = kept | {"conditions": [found]}
        return life

    def lose(self) -> None:
        """The server is another one, with nothing in it."""
        self.epoch, self.run, self.outcome = self.epoch + 1, None, None

    def fail(self) -> None:
        if self.failed_epoch != self.epoch:
            self.failed_epoch, self.failures = self.epoch, self.failures + 1

    def happen(self, what: str) -> None:
        """Everything but the operator's passes."""
        if what == "fails":
            self.outcome = {"state": "Failed", "message": "pi"}
            self.fail()
        elif what == "breaks":
            self.run = build_run("Failed", step("a", "Failed"))
            self.fail()
        elif what in ("applies", "completes"):
            self.run = build_run("Succeeded", step("a", "Succeeded"))
            self.outcome = {"state": "Succeeded", "message": "pi"} if what == "completes" else self.outcome
        elif what in ("suspend", "resume"):
            self.is_suspended, self.is_told = what == "suspend", False
        elif what == "rests":
            self.is_told = self.is_suspended
        elif what in ("class gone", "class back"):
            self.is_refused = what == "class gone"
        elif what == "server lost":
            self.lose()
        elif what == "rerun":
            self.rerun += 1
        else:
            seconds = {"minute": 60, "hour": 3600, "clock back": -7200}[what]
            self.now += datetime.timedelta(seconds=seconds)


def check(before: Record, life: Lifecycle, world: Cache) -> None:
    """What holds after every pass."""
    record = life.record
    assert (record.completion_time is not None) == (life.phase == "Finished")
    assert (life.succeeded.status != "Unknown") == (life.phase == "Finished")
    assert record.restarts <= world.most
    assert life.delay >= 0
    assert not (life.is_reset_due and (world.is_suspended or world.is_refused))
    assert not life.is_reset_due or before.restart is not None, "only what was recorded is acted upon"
    if record.rerun == before.rerun:
        assert record.restarts in (before.restarts, before.restarts + 1)
        if before.ended_by not in (None, conditions.STEP_FAILED):
            assert (record.ended_by, record.completion_time) == (before.ended_by, before.completion_time)
    if before.ended_by in (None, conditions.STEP_FAILED):
        assert record.ran >= before.ran, "nobody gets time back but by an end"
    if life.phase in ("Suspending", "Suspended") and not world.is_refused:
        assert record.start_time is None


@given(happenings=HAPPENINGS, action=st.sampled_from(["Fail", "Restart", "Ignore"]), most=st.integers(0, 3))
@settings(max_examples=150)
def test_a_job_lives_by_its_rules_whatever_happens(happenings: list[str], action: str, most: int) -> None:
    world = Cache(action, most)
    world.live()
    for what in happenings:
        if what not in PASSES:
            world.happen(what)
            continue
        before = world.facts().record
        check(before, world.live(writes=what != "dies before it writes", acts=what != "dies before it acts"), world)
    # Two passes of an operator that lives settle it: a third one changes nothing any more.
    world.live(acts=False)
    world.live(acts=False)
    settled = world.status
    world.live(acts=False)
    assert world.status == settled


@given(happenings=HAPPENINGS, most=st.integers(0, 3))
@settings(max_examples=150)
def test_every_failure_is_counted_at_most_once_and_restarts_are_never_more_than_failures(
    happenings: list[str], most: int
) -> None:
    world = Cache("Restart", most)
    world.live()
    for what in [item for item in happenings if item != "rerun"]:
        if what in PASSES:
            life = world.live(writes=what != "dies before it writes", acts=what != "dies before it acts")
            assert life.record.restarts <= world.failures
            assert world.resets <= world.failures
        else:
            world.happen(what)

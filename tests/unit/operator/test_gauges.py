"""What Prometheus reads from the operator's page."""

import itertools
from typing import Any

import pytest

from nestor import __version__
from nestor.api import conditions
from nestor.kube import kinds
from nestor.operator import gauges
from nestor.operator.wiring import Key, Operator
from tests.samples import read_samples
from tests.unit.operator.builders import Object, build_job
from tests.unit.pages import build_operator, write_operators

BEGIN = "2026-01-01T00:00:10Z"


def say(**status: Any) -> Object:
    """A job with that status; conditions by their type, as status and reason."""
    stages = {name: value for name, value in status.items() if name[0].isupper()}
    found = [{"type": name, "status": said, "reason": reason} for name, (said, reason) in stages.items()]
    rest = {name: value for name, value in status.items() if name not in stages}
    job = build_job()
    job["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return {**job, "status": rest | {"conditions": found}}


@pytest.mark.parametrize(
    ("job", "state"),
    [
        (say(), "New"),
        (say(Admitted=("Unknown", "ReadingAppDef")), "New"),
        (say(Admitted=("False", "ClassNotFound")), "Refused"),
        (say(Admitted=("Unknown", "Queued")), "Queued"),
        (say(Admitted=("False", "TooManyJobs")), "Queued"),
        (say(Admitted=("True", "Accepted"), startTime=BEGIN), "Starting"),
        (say(Admitted=("False", "ParametersInvalid"), startTime=BEGIN, Ready=("False", "ParametersInvalid")), "Starting"),
        (say(Ready=("True", "AppReady"), startTime=BEGIN), "Ready"),
        (say(Ready=("False", "NoReadyEndpoint"), startTime=BEGIN, timings={"ready": BEGIN}), "NotReady"),
        (say(Ready=("False", "Suspended"), suspendTime=BEGIN), "Suspended"),
        (say(Succeeded=("True", "Completed"), completionTime=BEGIN), "Succeeded"),
        (say(Succeeded=("False", "DeadlineExceeded"), completionTime=BEGIN), "Failed"),
    ],
)
def test_the_state_of_a_job(job: Object, state: str) -> None:
    assert gauges.find_state(job) == state
    job["metadata"] |= {"deletionTimestamp": BEGIN}
    assert gauges.find_state(job) == "Terminating"


@pytest.fixture
def operator() -> Operator:
    return build_operator()


def write(operator: Operator) -> dict[tuple[str, ...], float]:
    return read_samples(write_operators(operator))


def test_jobs_by_state_and_what_holds_them_up(operator: Operator) -> None:
    for number, job in enumerate(
        [
            say(Admitted=("False", "ClassNotFound"), className="mine"),
            say(Admitted=("True", "Accepted"), ClusterReady=("False", "Unschedulable"), startTime=BEGIN, className="default"),
            say(Admitted=("True", "NetworkNotEnforced"), Ready=("True", "AppReady"), startTime=BEGIN, className="default"),
        ]
    ):
        job["metadata"] |= {"name": f"job-{number}", "uid": str(number)}
        operator.cache.jobs.put(job)
    found = write(operator)
    jobs = {key[1:]: value for key, value in found.items() if key[0] == "nestor_jobs" and value}
    # A class that does not exist is a word of the user's.
    assert jobs == {("", "Refused"): 1, ("default", "Starting"): 1, ("default", "Ready"): 1}
    held = {key[1:]: value for key, value in found.items() if key[0] == "nestor_jobs_held_up" and value}
    assert held == {("admin", "Unschedulable"): 1, ("user", "ClassNotFound"): 1}
    assert not any(part in str(found) for part in ("job-0", "team-a", "mine"))


async def test_queues_backends_watches_and_requests(operator: Operator) -> None:
    operator.cache.jobs.last_contact -= 100
    operator.queue.add(Key(kinds.NESTED_APP_JOB, "team-a", "x"))
    found = write(operator)
    assert found["nestor_class_queue_jobs", "default"] == 0
    assert [found[f"nestor_backend_{name}", "hpc"] for name in ("ready", "reachable", "unconfirmed_pods")] == [0, 1, 1]
    assert (found["nestor_backend_nodes", "hpc", "NotReady"], found["nestor_backend_nodes", "hpc", "Ready"]) == (1, 0)
    assert found["nestor_operator_watch_silence_seconds", "nestedappjobs"] >= 100
    assert 0 <= found["nestor_operator_watch_silence_seconds", "pods"] < 100
    assert found["nestor_operator_requests_total", "<error>", "PATCH"] == 2
    assert found["nestor_operator_requests_total", "410", "WATCH"] == 1
    assert (found["nestor_operator_queue_length",], found["nestor_operator_leader",]) == (1, 1)
    assert found["process_resident_memory_bytes",] > 0
    standby = read_samples(gauges.write_standby())
    assert (standby["nestor_operator_leader",], standby["nestor_build_info", __version__]) == (0, 1)


def test_stages_are_timed_once_from_creation_or_start(operator: Operator) -> None:
    meters, job = operator.context.meters, say()
    queued = {"timings": {"admitted": "2026-01-01T00:00:40Z"}, "startTime": "2026-01-01T00:00:40Z"}
    meters.note_status(job, {}, queued)
    ready = queued | {"timings": queued["timings"] | {"ready": "2026-01-01T00:00:52Z"}}  # type: ignore[operator]
    meters.note_status(job, queued, ready)
    meters.note_status(job, ready, ready | {"url": "x"})
    found = write(operator)
    stages = {key[1]: value for key, value in found.items() if key[0] == "nestor_job_stage_seconds_sum"}
    assert stages == {"Admitted": 40, "Ready": 12, "ClusterReady": 0, "StepsApplied": 0, "Exposed": 0}
    assert found["nestor_job_stage_seconds_count", "Ready"] == 1
    assert found["nestor_job_stage_seconds_bucket", "10.0", "Ready"] == 0
    assert found["nestor_job_stage_seconds_bucket", "15.0", "Ready"] == 1


def test_retries_restarts_reruns_and_ends(operator: Operator) -> None:
    meters, job = operator.context.meters, say()

    def status(attempt: int, **more: Any) -> Object:
        return {"conditions": [{"type": "x"}], "steps": [{"name": "a", "type": "helm", "attempt": attempt}], **more}

    ended = conditions.merge([], [conditions.Condition("Succeeded", "False", "RestartsExhausted", "")], 1, BEGIN)
    course = [
        {},
        status(0),
        status(1),
        status(3),
        status(0, restarts=1),
        status(1, restarts=1),
        status(0, restarts=1, rerun="2"),
        status(2, restarts=1, rerun="2"),
        status(2, restarts=2, rerun="2", completionTime=BEGIN) | {"conditions": ended},
    ]
    for old, new in itertools.pairwise(course):
        meters.note_status(job, old, new)
    found = write(operator)
    assert found["nestor_step_retries_total", "helm"] == 3
    assert found["nestor_step_retries_total", "kubectl"] == 0
    assert (found["nestor_job_restarts_total",], found["nestor_job_reruns_total",]) == (2, 1)
    assert found["nestor_jobs_ended_total", "RestartsExhausted"] == 1
    assert found["nestor_jobs_ended_total", "Completed"] == 0


async def test_passes_are_timed_and_failures_counted(operator: Operator) -> None:
    operator.context.meters.note_pass("NestedAppJob", 0.2, failed=True)
    operator.context.meters.note_pass("NestedAppJob", 0.3, failed=False)
    found = write(operator)
    assert found["nestor_operator_reconcile_seconds_sum", "NestedAppJob"] == 0.5
    assert found["nestor_operator_reconcile_failures_total", "NestedAppJob"] == 1

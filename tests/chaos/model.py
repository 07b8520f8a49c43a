"""What a user may expect of the jobs that the API server has accepted. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from nestor.api import conditions
from nestor.api.objects import Object, conditions_of, is_terminating, status_of

Sort = Literal["web", "kept", "batch", "away", "short", "wrong"]
"""A page that stays, and one with a volume; a nested Job that ends, and one whose pods run at a backend; a page with a deadline;
a step that cannot work."""
ENDING: tuple[Sort, ...] = ("batch", "away")
PAGES: tuple[Sort, ...] = ("web", "kept")

DEADLINE_SECONDS = 90


@dataclass
class Expected:
    """One job, as its user knows it."""

    sort: Sort
    uid: str
    is_suspended: bool = False
    completed: str | None = None
    """The run that has succeeded, by the rerun that had started it."""
    mark: str = ""
    """What is on its volume, once somebody has read it."""


def find_broken(known: Mapping[str, Expected], jobs: Mapping[str, Object], most: int) -> Iterator[str]:
    """What must not be at any time: a job that is lost or another one, one that has ended and runs again, too many at a time."""
    for name, expected in known.items():
        job = jobs.get(name)
        if job is None or job["metadata"]["uid"] != expected.uid or is_terminating(job):
            yield f"job '{name}' is lost: nobody has deleted it"
            continue
        is_completed, run = status_of(job).get("terminalState") == "Completed", status_of(job).get("rerun", "")
        if expected.completed == run and not is_completed:
            yield f"job '{name}' has succeeded, and nobody has rerun it: {describe(job)}"
        if is_completed:
            expected.completed = run
        if is_completed and expected.sort not in ENDING:
            yield f"job '{name}' has succeeded, but nothing of it ends"
    running = [name for name, job in jobs.items() if is_running(job)]
    if len(running) > most:
        yield f"{len(running)} jobs run at a time, and {most} may: {', '.join(sorted(running))}"


def is_running(job: Object) -> bool:
    """Whether it has its place among those that may run at a time."""
    times = status_of(job).keys() & {"startTime", "suspendTime", "completionTime"}
    return times == {"startTime"} and not is_terminating(job)


def find_missing(expected: Expected, job: Object, *, has_room: bool) -> str:
    """What a job still lacks when nothing fails any more; empty if it is as its user expects. `has_room`: fewer run than may."""
    status = status_of(job)
    state = status.get("terminalState")
    if expected.sort in ENDING and state == "Completed":
        return ""
    if status.get("queue") is not None:
        return "it waits, and there is room" if has_room else ""
    if expected.is_suspended:
        return "it is suspended, and its pods run" if (status.get("pods") or {}).get("running") else ""
    if expected.sort == "wrong":
        failed = conditions.find(conditions_of(job), conditions.STEPS_APPLIED) or {}
        return "" if state == "Failed" or failed.get("reason") == "StepFailed" else "no word of its fault"
    if expected.sort == "short":
        return "" if state == "Failed" else "it has a deadline, and has not ended"
    is_ready = expected.sort in PAGES and conditions.is_true(conditions_of(job), conditions.READY)
    return "" if is_ready else "it has not come to its end"


def find_strange(name: str, expected: Expected | None, page: str) -> str:
    """What is wrong with a page: it says whose it is and what is on that job's volume. `expected`: None for a deleted job."""
    said, _, mark = page.strip().partition(" ")
    if said != name:
        return f"the URL of job '{name}' answers {page[:100]!r}"
    if expected is None:
        return ""
    before, expected.mark = expected.mark, mark
    return f"the volume of job '{name}' had {before!r}, and has {mark!r}" if before not in ("", mark) else ""


def describe(job: Object) -> str:
    """Its conditions, in a line."""
    told = (f"{item['type']}={item['status']}({item.get('reason', '')})" for item in conditions_of(job))
    status = status_of(job)
    return f"{status.get('terminalState') or ''} {' '.join(told)} {status.get('nextStep') or ''}".strip()

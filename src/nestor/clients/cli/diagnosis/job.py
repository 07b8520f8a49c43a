"""What is wrong with one job, and what to do: its status, its pods, its namespace's warnings. Pure."""

from collections.abc import Iterator

from nestor.api import conditions as words
from nestor.api.objects import Object, conditions_of, is_terminating, status_of
from nestor.clients.cli.diagnosis.facts import JobFacts
from nestor.clients.cli.diagnosis.installation import Finding, Level, bad, describe_lacking, warn
from nestor.clients.cli.view.facts import Mood, condition, describe_trouble, find_time, mood

EVENTS_SHOWN = 3

_LEVELS: dict[Mood, Level] = {"bad": "bad", "warn": "bad", "retry": "warn"}


def judge(facts: JobFacts) -> list[Finding]:
    job = facts.job
    if not conditions_of(job):
        return [
            bad(
                f"job '{job['metadata']['name']}' has no status yet",
                "the operator is not running or cannot read the job: see the findings about the installation",
            )
        ]
    state = _judge_deletion(job) if is_terminating(job) else _judge_state(job)
    return [state, *_judge_pods(facts), *_judge_events(facts), *_judge_rights(facts)]


def _judge_deletion(job: Object) -> Finding:
    said = (condition(job, words.READY) or {}).get("message") or "its cluster is being removed"
    return warn(f"job '{job['metadata']['name']}' has been terminating since {job['metadata']['deletionTimestamp']}: {said}")


def _judge_state(job: Object) -> Finding:
    """In a sentence, with what its own status says is to be done."""
    feeling, word = mood(job)
    end = condition(job, words.SUCCEEDED) or {}
    told = end if end.get("status") in ("True", "False") else condition(job, words.READY) or {}
    said = f": {told['message']}" if told.get("message") else ""
    return Finding(
        _LEVELS.get(feeling, "good"), f"job '{job['metadata']['name']}': {word}{said}", status_of(job).get("nextStep") or ""
    )


def _judge_pods(facts: JobFacts) -> Iterator[Finding]:
    for pod in facts.pods or ():
        if trouble := describe_trouble(pod):
            where = pod["metadata"]["namespace"]
            yield bad(trouble, f"kubectl describe pod -n {where} {pod['metadata']['name']}")


def _judge_events(facts: JobFacts) -> Iterator[Finding]:
    latest = sorted(facts.events or (), key=find_time)
    for event in latest[-EVENTS_SHOWN:]:
        about = event.get("involvedObject") or {}
        times = f" ({event['count']} times)" if event.get("count", 1) > 1 else ""
        yield warn(f"{about.get('kind')} '{about.get('name')}', {event.get('reason')}: {event.get('message')}{times}")


def _judge_rights(facts: JobFacts) -> Iterator[Finding]:
    if lacking := describe_lacking(facts.rights):
        where = status_of(facts.job).get("namespace")
        yield warn(
            f"in the job's own namespace '{where}' you have no permission to {lacking}",
            "`nestor logs` and tunnels need this; an admin can grant you a role there",
        )

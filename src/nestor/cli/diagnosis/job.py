"""What is wrong with one job, and what to do: its conditions, its pods, its namespace's warnings. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from nestor.api import conditions as words
from nestor.cli.diagnosis.facts import JobFacts
from nestor.cli.diagnosis.findings import Finding, bad, good, warn
from nestor.cli.diagnosis.installation import describe_right
from nestor.cli.diagnosis.pods import describe_trouble
from nestor.cli.view.facts import condition, is_over, mood
from nestor.objects import Object, conditions_of, is_terminating, status_of

EVENTS_SHOWN = 3

AFTER_ITS_END = "nothing: the job has ended; `nestor rerun` starts it over in an empty cluster"
"""Replaces the advice for a suspended job."""


def judge(facts: JobFacts) -> list[Finding]:
    """All findings about the job."""
    job = facts.job
    if not conditions_of(job):
        return [
            bad(
                f"job '{job['metadata']['name']}' has no status yet",
                "the operator is not running or cannot read the job: see the findings about the installation",
            )
        ]
    findings = [*_judge_deletion(job), *_judge_conditions(job), *_judge_pods(facts)]
    if not any(finding.level == "bad" for finding in findings):
        _, word = mood(job)
        findings.insert(0, good(f"job '{job['metadata']['name']}': {word}"))
    return findings + list(_judge_events(facts)) + list(_judge_rights(facts))


def _judge_deletion(job: Object) -> Iterator[Finding]:
    if is_terminating(job):
        said = (condition(job, words.READY) or {}).get("message") or "its cluster is being removed"
        yield warn(f"it has been terminating since {job['metadata']['deletionTimestamp']}: {said}")


def _judge_conditions(job: Object) -> Iterator[Finding]:
    shown: set[tuple[str, str]] = set()
    for kind in (*words.STAGES, words.SUCCEEDED):
        found = condition(job, kind)
        if found and found.get("status") == "True" and words.reason_of(found).needs != "nobody":
            reason = words.reason_of(found)
            yield warn(f"{kind} is True, {reason}: {found.get('message') or ''}", reason.advice)
        if found is None or found.get("status") == "True" or found.get("reason") in (words.NOT_REQUESTED, words.RUNNING):
            continue
        reason, message = words.reason_of(found), found.get("message") or ""
        if (reason, message) in shown or (shown and reason == words.WAITING_FOR_CLUSTER):
            continue
        shown.add((reason, message))
        is_bad = reason.needs != "nobody" or (kind == words.SUCCEEDED and found.get("status") == "False")
        text = f"{kind} is {found.get('status')}, {reason}: {message}"
        # A job that has ended cannot be resumed.
        advice = AFTER_ITS_END if reason == words.SUSPENDED and is_over(job) else reason.advice
        yield bad(text, advice) if is_bad else warn(text, advice)


def _judge_pods(facts: JobFacts) -> Iterator[Finding]:
    for pod in facts.pods or ():
        if trouble := describe_trouble(pod):
            where = pod["metadata"]["namespace"]
            yield bad(trouble, f"kubectl describe pod -n {where} {pod['metadata']['name']}")


def _judge_events(facts: JobFacts) -> Iterator[Finding]:
    latest = sorted(facts.events or (), key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))
    for event in latest[-EVENTS_SHOWN:]:
        about = event.get("involvedObject") or {}
        times = f" ({event['count']} times)" if event.get("count", 1) > 1 else ""
        yield warn(f"{about.get('kind')} '{about.get('name')}', {event.get('reason')}: {event.get('message')}{times}")


def _judge_rights(facts: JobFacts) -> Iterator[Finding]:
    if lacking := [describe_right(right) for right, is_allowed in facts.rights.items() if not is_allowed]:
        where = status_of(facts.job).get("namespace")
        yield warn(
            f"in the job's own namespace '{where}' you have no permission to {', '.join(lacking)}",
            "`nestor logs` and tunnels need this; an admin can grant you a role there",
        )

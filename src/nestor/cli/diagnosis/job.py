"""What is wrong with one job, and what to do: its conditions, its pods, its namespace's warnings. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from nestor.api import conditions as words
from nestor.cli.diagnosis.facts import JobFacts
from nestor.cli.diagnosis.findings import Finding, bad, good, warn
from nestor.cli.diagnosis.installation import describe_right
from nestor.cli.diagnosis.pods import describe_trouble
from nestor.cli.view.facts import NEEDS_THE_USER, ORDER, condition, is_over, mood
from nestor.objects import Object, conditions_of, is_terminating, status_of

EVENTS_SHOWN = 3

ADVICE = {
    words.CLASS_NOT_FOUND: "name a class that there is: delete the job and create it with another `className`",
    words.VERSION_UNSUPPORTED: "create it with a version of that list, or ask an admin to add yours to the class",
    words.COMMAND_NOT_FOUND: "delete the job and create it with one of these commands",
    words.APPDEF_INVALID: "correct the fields that it names and apply the job again; `nestor validate FILE` checks it beforehand",
    words.APP_NOT_FOUND: "`nestor apps` lists the catalogue",
    words.PARAMETERS_INVALID: "correct `spec.parameters`; `nestor apps NAME` shows what the command takes",
    words.TEMPLATES_NOT_FOUND: "create the ConfigMap in the job's namespace; the job goes on by itself",
    words.PULL_SECRET_NOT_FOUND: "create the Secret in the job's namespace, of type kubernetes.io/dockerconfigjson",
    words.READING_APPDEF: "it waits for the app image; a private one needs `app.imagePullSecretName`",
    words.IMAGE_PULL_FAILED: "check the image's name, that nodes reach its registry, and its pull secret",
    words.UNSCHEDULABLE: "free capacity on the nodes, or lower the class's `cluster.resources`",
    words.PROVISIONING_FAILED: "the message says what the host refuses, or what takes so long; an admin can change the class",
    words.SERVER_NOT_READY: "wait; when it stays so, the pod's own log tells more",
    words.STEP_FAILED: "correct the template or the AppDef and apply the job again, or try all steps again by `nestor rerun`",
    words.STEP_RETRYING: "wait for the next attempt; `nestor logs` shows what the last one said",
    words.RUNNER_FAILED: "`nestor logs` shows what the runner said; `nestor rerun` starts it again",
    words.TARGET_NOT_FOUND: "`service_name` and `service_namespace` of the AppDef's target must name a Service that a step makes",
    words.NO_READY_ENDPOINT: "its pods are not ready, or the Service's selector does not match them; see the pods below",
    words.HOSTNAME_CONFLICT: "choose another `expose.host`",
    words.HOST_NOT_ALLOWED: "choose a host below the class's domain, or ask an admin to add it to `expose.allowedHosts`",
    words.TLS_SECRET_NOT_FOUND: "an admin has to create that Secret in the operator's namespace",
    words.SUSPENDED: "`nestor resume` lets it go on",
    words.DEADLINE_EXCEEDED: "create it again with a larger `activeDeadlineSeconds`",
    words.TARGET_FAILED: "look at that object's pods: their logs are kept",
    words.RESTARTS_EXHAUSTED: "the application failed each time; `nestor logs` shows its steps, the kubeconfig its pods",
}
"""By a condition's reason: what to do."""

AFTER_ITS_END = "nothing: the job has ended; `nestor rerun` begins it anew, in an empty cluster"
"""Instead of the advice for a job that rests."""


def judge(facts: JobFacts) -> list[Finding]:
    """All findings about the job."""
    job = facts.job
    if not conditions_of(job):
        return [
            bad(
                f"nobody has reported on job '{job['metadata']['name']}'",
                "the operator does not run, or cannot read it: see the installation's findings",
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
        yield warn(f"it is being deleted since {job['metadata']['deletionTimestamp']}: {said}")


def _judge_conditions(job: Object) -> Iterator[Finding]:
    shown: set[tuple[str, str]] = set()
    for kind in (*ORDER, words.SUCCEEDED):
        found = condition(job, kind)
        if found is None or found.get("status") == "True" or found.get("reason") in (words.NOT_REQUESTED, words.RUNNING):
            continue
        reason, message = found.get("reason", ""), found.get("message") or ""
        if (reason, message) in shown or (shown and reason == words.WAITING_FOR_CLUSTER):
            continue
        shown.add((reason, message))
        is_bad = reason in NEEDS_THE_USER or (kind == words.SUCCEEDED and found.get("status") == "False")
        is_bad = is_bad or reason in (words.IMAGE_PULL_FAILED, words.UNSCHEDULABLE, words.PROVISIONING_FAILED)
        text = f"{kind} is {found.get('status')}, {reason}: {message}"
        # No resume brings back what has ended.
        advice = AFTER_ITS_END if reason == words.SUSPENDED and is_over(job) else ADVICE.get(reason, "")
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
            f"in the job's own namespace '{where}' you may not {', '.join(lacking)}",
            "steps' logs and tunnels need that; an admin can give you a role there",
        )

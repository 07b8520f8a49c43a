"""A job's status and its pods', read for people: their state, how they ended, which line of an error says most. Pure."""

from dataclasses import dataclass
from typing import Literal

from nestor.api import conditions, labels, pod_status
from nestor.api.objects import Object, annotations_of, conditions_of, is_terminating, spec_of, status_of

Mood = Literal["good", "bad", "warn", "busy", "waiting", "retry"]

STEP_MOODS: dict[str, Mood] = {"Pending": "waiting", "Running": "busy", "Retrying": "retry", "Succeeded": "good", "Failed": "bad"}
LINE_LIMIT = 200
RESTARTS = 3
"""Restarts that are suspicious even if the container is running now."""


@dataclass(frozen=True)
class Ending:
    is_good: bool
    reason: str
    message: str


def address(job: Object) -> str:
    """The job as commands name it, with its namespace, so that hints can be copied."""
    return f"{job['metadata']['name']} -n {job['metadata']['namespace']}"


def condition(job: Object, kind: str) -> Object | None:
    return conditions.find(conditions_of(job), kind)


def is_restarting(job: Object) -> bool:
    """Whether its failure policy is about to start it again."""
    succeeded = condition(job, conditions.SUCCEEDED)
    return bool(succeeded and succeeded.get("reason") == conditions.RESTARTING)


def is_over(job: Object) -> bool:
    """Whether the job and its application have ended. A job that failed in a step is kept: it can be suspended and resumed."""
    succeeded = condition(job, conditions.SUCCEEDED) or {}
    return bool(status_of(job).get("completionTime")) and succeeded.get("reason") != conditions.STEP_FAILED


def find_ending(job: Object, *, until_finished: bool) -> Ending | None:
    """How the job ended; None while there is something to wait for. Ready is an end unless `until_finished`."""
    succeeded, ready = condition(job, conditions.SUCCEEDED), condition(job, conditions.READY)
    if is_stale(job):
        return None
    if _awaits_rerun(job) and (admitted := _find_refusal(job)):
        return Ending(False, admitted.get("reason", ""), admitted.get("message", ""))
    if succeeded and succeeded.get("status") in ("True", "False") and not is_restarting(job):
        return Ending(succeeded["status"] == "True", succeeded.get("reason", ""), succeeded.get("message", ""))
    if ready is None:
        return None
    if ready.get("status") == "True":
        return None if until_finished else Ending(True, ready.get("reason", ""), ready.get("message", ""))
    if conditions.reason_of(ready).needs == "user" and not (succeeded and is_restarting(job)):
        return Ending(False, ready["reason"], ready.get("message", ""))
    if ready.get("reason") == conditions.SUSPENDED and not until_finished:
        return Ending(True, conditions.SUSPENDED, ready.get("message", ""))
    return None


def is_stale(job: Object) -> bool:
    """Whether the status is about an earlier spec, or about a run before the one that was asked for."""
    generation, seen = job["metadata"].get("generation"), status_of(job).get("observedGeneration")
    if generation is not None and seen is not None and seen < generation:
        return True
    # A refused job starts no further run.
    return _awaits_rerun(job) and _find_refusal(job) is None


def _awaits_rerun(job: Object) -> bool:
    """Whether a run was asked for that has not begun."""
    wanted = annotations_of(job).get(labels.RERUN)
    return bool(wanted) and wanted != status_of(job).get("rerun")


def _find_refusal(job: Object) -> Object | None:
    """Its condition Admitted where that is False."""
    admitted = condition(job, conditions.ADMITTED)
    return admitted if admitted and admitted.get("status") == "False" else None


def mood(job: Object) -> tuple[Mood, str]:
    """The job's mood, and its state in a word."""
    if is_terminating(job):
        return "waiting", conditions.TERMINATING
    ready, succeeded = condition(job, conditions.READY), condition(job, conditions.SUCCEEDED)
    if succeeded and succeeded.get("status") == "True":
        return "good", succeeded.get("reason", "")
    if ready is None:
        return "waiting", "Created"
    reason = conditions.reason_of(ready)
    if ready.get("status") == "True":
        return "good", "Ready"
    if reason.needs == "user" or (succeeded and succeeded.get("status") == "False" and not is_restarting(job)):
        return "bad", reason
    if reason.activity == "retry" or is_restarting(job):
        return "retry", reason
    if reason.needs == "admin":
        return "warn", reason
    return ("waiting" if reason == conditions.SUSPENDED else "busy"), reason


def rests(job: Object) -> bool:
    """Whether it is suspended, or asleep."""
    return bool(spec_of(job).get("suspend") or (status_of(job).get("asleep") or {}).get("state") == "Asleep")


def describe_cluster(job: Object) -> str:
    """Why its cluster does not answer yet."""
    for kind in ("ClusterReady", "Admitted", "Ready"):
        found = condition(job, kind)
        if found and found.get("status") != "True":
            return str(found.get("message") or found.get("reason"))
    return "no status reported yet"


def list_stages(job: Object) -> list[Object]:
    """The conditions worth a line: `Succeeded` only where it says something that no stage says."""
    shown = [found for kind in conditions.STAGES if (found := condition(job, kind))]
    end = condition(job, conditions.SUCCEEDED)
    is_news = end is not None and end.get("message") not in [found.get("message") for found in shown]
    if end is not None and is_news and (end.get("status") != "Unknown" or spec_of(job).get("successPolicy")):
        shown.append(end)
    return shown


def find_stage_mood(found: Object) -> Mood:
    if found.get("status") == "True":
        return "good"
    reason = conditions.reason_of(found)
    if reason.needs == "user" or (found["type"] == conditions.SUCCEEDED and found.get("status") == "False"):
        return "bad"
    return "warn" if reason.needs == "admin" else reason.activity


def describe_attempts(step: Object) -> str:
    """Which attempt it is, where that is worth a word."""
    attempt, most = step.get("attempt", 0), step.get("maxAttempts", 1)
    is_told = most > 1 and (attempt > 1 or step.get("state") in ("Running", "Retrying", "Failed"))
    return f"attempt {attempt} of {most}" if is_told else ""


def list_places(job: Object) -> list[Object]:
    """Where its pods are, as its status counts them."""
    return [item for item in (status_of(job).get("pods") or {}).get("places") or () if isinstance(item, dict)]


def pick_line(message: str) -> str:
    """The line of an error that says most: its last one with an error, else simply the last."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "forbidden" in line.lower()]
    line = (errors or lines or [""])[-1]
    return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 1] + "…"


def url_of(job: Object) -> str | None:
    url = status_of(job).get("url")
    return str(url) if url else None


def describe_app(spec: Object) -> str:
    if spec.get("appRef"):
        return str(spec["appRef"].get("name", ""))
    if not (app := spec.get("app") or {}):
        return "just a cluster"
    title = (app.get("appDef") or {}).get("name") or ""
    image = app.get("image") or ""
    return f"{title} ({image})" if title and image else str(title or image or "its own AppDef")


def find_time(event: Object) -> str:
    """When an event was seen last; by `sorted`, the latest comes last."""
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or "")


def describe_trouble(pod: Object) -> str | None:
    """One sentence, or None if the pod is fine or starting normally."""
    name, status = pod["metadata"]["name"], status_of(pod)
    if waiting := pod_status.find_first_waiting(pod):
        return waiting.describe(pod)
    for item in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        if said := _describe_container(item):
            return f"pod '{name}', container '{item['name']}': {said}"
    if spec_of(pod).get("schedulingGates") and (gang := annotations_of(pod).get(labels.GANG_NAME)):
        size = annotations_of(pod).get(labels.GANG_SIZE)
        more = "its condition in the nested cluster says what is missing"
        return f"pod '{name}' waits until one place has room for all {size} pods of gang '{gang}': {more}"
    if said := pod_status.find_unschedulable(pod):
        return f"pod '{name}' is not scheduled: {said}"
    if status.get("phase") == "Pending" and status.get("reason") and (node := spec_of(pod).get("nodeName")):
        more = f": {status['message']}" if status.get("message") else ""
        return f"pod '{name}' waits at node '{node}': {status['reason']}{more}"
    if status.get("phase") == "Failed":
        return f"pod '{name}' failed: {status.get('message') or status.get('reason') or 'a container exited'}"
    return None


def _describe_container(item: Object) -> str | None:
    ended = (item.get("state") or {}).get("terminated") or {}
    if ended.get("exitCode"):
        return f"ended: {ended.get('reason') or 'Error'}, exit code {ended['exitCode']}"
    if item.get("restartCount", 0) >= RESTARTS:
        return f"restarted {item['restartCount']} times"
    return None

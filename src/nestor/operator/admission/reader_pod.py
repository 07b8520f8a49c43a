"""The reader's pod, which reads the AppDef from an app image: how to build it, and what to do with the existing one. Pure."""

import datetime
import json

from nestor.api import conditions, faults, labels, pod_status, times
from nestor.api.class_parts import ImagesPolicy
from nestor.api.contracts.reader import FAULTS, IMAGE_FOLDER, OUTPUT_LIMIT, Exit
from nestor.api.names import Part
from nestor.api.objects import Object, annotations_of, is_terminating, status_of
from nestor.cluster.home import Home
from nestor.operator import oneshot
from nestor.operator.admission.app_source import AppSource, list_pull_secrets
from nestor.operator.oneshot import NO_IMAGE_VOLUMES, Action
from nestor.operator.settings import Settings

CONTAINER = "reader"
NO_VOLUME_SECONDS = 60
LOG_SECONDS = 60
"""How long to retry reading the log of a finished pod before another pod is created."""
ACTIVE_SECONDS = 1800
"""Time limit of one pod, including the image pull; after it, another pod tries again."""
PATIENCE_SECONDS, PULL_PATIENCE_SECONDS, PATIENCE_ATTEMPTS = 600, 60, 3
"""How long a pod may take, and how long it may be unable to start, until its job gives its place in a queue back."""
WORDS_LIMIT = 500
RESOURCES: Object = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}}
"""The largest file of nothing but brackets takes 170 MiB before it is refused; an OOM-killed reader would be retried forever."""


class Unreadable(Exception):
    """The pod's output is not an AppDef."""


def decide_reader(pod: Object | None, image: str, now: datetime.datetime) -> Action:
    """A pod that ended without a result is recreated with growing delays; a fault of the image is final."""
    if pod is None:
        return Action("Create")
    if is_terminating(pod):
        return _wait("an earlier reader's pod is terminating", delay=oneshot.ENDING_SECONDS)
    if annotations_of(pod).get(labels.APP_IMAGE) != image:
        return Action("Replace")
    if oneshot.lacks_image_volume(pod):
        return decide_again(pod, NO_IMAGE_VOLUMES, now, NO_VOLUME_SECONDS)
    if not pod_status.is_terminal(pod):
        return _explain_waiting(pod)
    code, _, reason = pod_status.find_end(pod)
    if code == Exit.READ:
        return Action("Read")
    if code in FAULTS:
        said = _last_words(pod) or f"its AppDef cannot be read (exit code {code})"
        return Action("Refuse", said, reason=conditions.APPDEF_INVALID)
    if code == Exit.NO_VOLUME:
        return decide_again(pod, NO_IMAGE_VOLUMES, now, NO_VOLUME_SECONDS)
    why = ", ".join(part for part in (f"exit code {code}" if code is not None else "", reason) if part) or "no reason given"
    return decide_again(pod, f"pod '{pod['metadata']['name']}' ended without a result: {why}", now)


def decide_again(pod: Object, why: str, now: datetime.datetime, pause: float | None = None) -> Action:
    """Replace a pod that ended without a result, `pause` seconds (default: 1, 2, 4 …) after its end."""
    attempt = oneshot.read_attempt(pod)
    delay = pause or oneshot.find_pause(attempt)
    _, finished, _ = pod_status.find_end(pod)
    since = times.seconds_since(finished or pod["metadata"]["creationTimestamp"], now)
    if since < delay:
        return _wait(f"{why}; attempt {attempt}, next attempt in {delay:.0f} s", attempt=attempt, delay=delay - since)
    return Action("Replace", why, attempt + 1)


def _wait(message: str = "", reason: str = conditions.READING_APPDEF, *, attempt: int = 1, delay: float | None = None) -> Action:
    return Action("Wait", message, attempt, delay, reason)


def find_patience(pod: Object | None, action: Action, now: datetime.datetime) -> float:
    """For how many seconds the job may keep its place in a queue while it is read; not above 0: no longer."""
    if max(action.attempt, oneshot.read_attempt(pod) if pod is not None else 1) > PATIENCE_ATTEMPTS:
        return 0.0
    is_blocked = action.reason in (conditions.IMAGE_PULL_FAILED, conditions.UNSCHEDULABLE)
    age = times.seconds_since(pod["metadata"]["creationTimestamp"], now) if pod is not None and action.kind == "Wait" else 0.0
    return (PULL_PATIENCE_SECONDS if is_blocked else PATIENCE_SECONDS) - age


def _explain_waiting(pod: Object) -> Action:
    if obstacle := pod_status.find_obstacle(pod, conditions.READING_APPDEF):
        reason, message = obstacle
        return _wait(message, reason)
    attempt = oneshot.read_attempt(pod)
    return _wait(f"attempt {attempt}" if attempt > 1 else "")


def _last_words(pod: Object) -> str:
    """The reader's error message, from the pod's status, as one line of printable characters."""
    for item in status_of(pod).get("containerStatuses") or ():
        said = ((item.get("state") or {}).get("terminated") or {}).get("message") or ""
        return "".join(char if char.isprintable() else " " for char in said.strip())[:WORDS_LIMIT]
    return ""


def parse_output(output: bytes) -> Object:
    """The AppDef in the pod's output, which is untrusted input. Raises `Unreadable`."""
    if len(output) > OUTPUT_LIMIT + 1:
        raise Unreadable(f"it has more than {OUTPUT_LIMIT} bytes")
    try:
        found = json.loads(output.decode())
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is not an AppDef: {str(error)[:WORDS_LIMIT]}") from error
    if not isinstance(found, dict):
        raise Unreadable("it is not an AppDef, which must be a JSON object")
    if fault := faults.find_fault(found, "appDef"):
        raise Unreadable(fault)
    return found


def build_pod(source: AppSource, home: Home, settings: Settings, images: ImagesPolicy, attempt: int) -> Object:
    """The pod: our reader, with the image as a volume. It has no token and no network, and writes nothing."""
    annotations = {labels.APP_IMAGE: str(source.image), labels.RUNNER_ATTEMPT: str(attempt)}
    return oneshot.build_pod(
        home.metadata(home.child(Part.READER), component=labels.COMPONENT_READER, annotations=annotations),
        settings.image,
        ["reader"],
        RESOURCES,
        grace=1,
        container={
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": [{"name": "app", "mountPath": IMAGE_FOLDER, "readOnly": True}],
        },
        activeDeadlineSeconds=ACTIVE_SECONDS,
        volumes=[oneshot.build_app_volume(str(source.image), images)],
        **list_pull_secrets(source, home, images, settings.pulls),
    )


def build_policy(home: Home) -> Object:
    """Allows the reader's pod no connections in either direction."""
    selector = {"matchLabels": home.pod_labels(labels.COMPONENT_READER)}
    return {
        "metadata": home.metadata(home.child(Part.READER)),
        "spec": {"podSelector": selector, "policyTypes": ["Ingress", "Egress"]},
    }

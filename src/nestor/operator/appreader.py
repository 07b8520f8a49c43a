"""The reader's pod, which takes the AppDef out of an app image: how it is built, and what to do with the one there is. Pure."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from typing import Literal

from nestor import times
from nestor.api import conditions, faults, labels
from nestor.cluster.shape import Shape
from nestor.contracts.reader import FAULTS, IMAGE_FOLDER, OUTPUT_LIMIT, Exit
from nestor.objects import Object, annotations_of, is_terminating, status_of
from nestor.operator import pods
from nestor.operator.appsource import AppSource
from nestor.operator.runner import NO_IMAGE_VOLUMES

PART, CONTAINER = "reader", "reader"
NO_VOLUME_SECONDS = 60
MOST_SECONDS = 60.0
LOG_SECONDS = 60
"""How long the log of an ended pod is asked for until another pod is made."""
ACTIVE_SECONDS = 1800
"""An image is pulled within this time, or tried again by another pod."""
WORDS_LIMIT = 500
RESOURCES: Object = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}}
"""The biggest file of nothing but brackets takes 170 MiB before it is refused; killed, the reader would be tried for ever."""


class Unreadable(Exception):
    """What the pod printed is no AppDef."""


@dataclass(frozen=True)
class Action:
    """What to do: make a pod, `Replace` the one there is, `Wait` for it, `Read` its log, or `Refuse` the job."""

    kind: Literal["Create", "Replace", "Wait", "Read", "Refuse"]
    message: str = ""
    attempt: int = 1
    delay: float | None = None
    """When to look again although no event will come, in seconds."""
    reason: str = conditions.READING_APPDEF


def decide_reader(pod: Object | None, image: str, now: datetime.datetime) -> Action:
    """A pod that ended without a result is made anew, later and later; a fault of the image is final."""
    if pod is None:
        return Action("Create")
    if is_terminating(pod):
        return Action("Wait", "an earlier reader's pod is ending", delay=1)
    if annotations_of(pod).get(labels.APP_IMAGE) != image:
        return Action("Replace")
    if not any("image" in volume for volume in pod["spec"].get("volumes") or ()):
        # With the feature gate off, the API server takes the volume out of the pod.
        return decide_again(pod, NO_IMAGE_VOLUMES, now, NO_VOLUME_SECONDS)
    if not pods.is_finished(pod):
        return _explain_waiting(pod)
    code, _, reason = pods.find_end(pod)
    if code == Exit.READ:
        return Action("Read")
    if code in FAULTS:
        said = _last_words(pod) or f"its AppDef cannot be read (exit code {code})"
        return Action("Refuse", said, reason=conditions.APPDEF_INVALID)
    if code == Exit.NO_VOLUME:
        return decide_again(pod, NO_IMAGE_VOLUMES, now, NO_VOLUME_SECONDS)
    why = ", ".join(part for part in (f"exit code {code}" if code is not None else "", reason) if part) or "for no told reason"
    return decide_again(pod, f"pod '{pod['metadata']['name']}' ended without a result: {why}", now)


def decide_again(pod: Object, why: str, now: datetime.datetime, pause: float | None = None) -> Action:
    """Another pod in place of one without a result, after `pause` seconds (else 1, 2, 4 …), counted from its end."""
    attempt = int(annotations_of(pod).get(labels.RUNNER_ATTEMPT, "1"))
    delay = pause or min(MOST_SECONDS, 2.0 ** min(attempt - 1, 10))
    _, finished, _ = pods.find_end(pod)
    since = times.seconds_since(finished or pod["metadata"]["creationTimestamp"], now)
    if since < delay:
        return Action("Wait", f"{why}; attempt {attempt}, again in {delay:.0f} s", attempt, delay - since)
    return Action("Replace", why, attempt + 1)


def decide_without_log(pod: Object, why: str, now: datetime.datetime) -> Action:
    """The pod succeeded and its log cannot be had: asked for again, and then read anew, as its node may be gone."""
    return decide_again(pod, f"the log of pod '{pod['metadata']['name']}' cannot be read: {why}", now, LOG_SECONDS)


def _explain_waiting(pod: Object) -> Action:
    if waiting := pods.find_waiting(pod):
        reason = conditions.IMAGE_PULL_FAILED if waiting.is_image else conditions.READING_APPDEF
        return Action("Wait", waiting.describe(pod), reason=reason)
    if unschedulable := pods.find_unschedulable(pod):
        return Action("Wait", f"pod '{pod['metadata']['name']}': {unschedulable}", reason=conditions.UNSCHEDULABLE)
    attempt = int(annotations_of(pod).get(labels.RUNNER_ATTEMPT, "1"))
    return Action("Wait", f"attempt {attempt}" if attempt > 1 else "")


def _last_words(pod: Object) -> str:
    """What the reader said of its fault, from the pod's status: one line of printable characters."""
    for item in status_of(pod).get("containerStatuses") or ():
        said = ((item.get("state") or {}).get("terminated") or {}).get("message") or ""
        return "".join(char if char.isprintable() else " " for char in said.strip())[:WORDS_LIMIT]
    return ""


def parse_output(output: bytes) -> Object:
    """The AppDef that the pod printed. It comes from outside, whoever printed it. Raises `Unreadable`."""
    if len(output) > OUTPUT_LIMIT + 1:
        raise Unreadable(f"it has more than {OUTPUT_LIMIT} bytes")
    try:
        found = json.loads(output.decode())
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no AppDef: {str(error)[:WORDS_LIMIT]}") from error
    if not isinstance(found, dict):
        raise Unreadable("it is no AppDef, which is a JSON object")
    if fault := faults.find_fault(found, "appDef"):
        raise Unreadable(fault)
    return found


def build_pod(source: AppSource, shape: Shape, attempt: int) -> Object:
    """The pod: the image as a volume, our reader, and nothing else. It has no token, no network, and writes nothing."""
    spec: Object = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "activeDeadlineSeconds": ACTIVE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": CONTAINER,
                "image": shape.nestor_image,
                "imagePullPolicy": "IfNotPresent",
                "args": ["reader"],
                "resources": RESOURCES,
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "app", "mountPath": IMAGE_FOLDER, "readOnly": True}],
            }
        ],
        "volumes": [{"name": "app", "image": {"reference": source.image, "pullPolicy": "IfNotPresent"}}],
    }
    if source.image_pull_secret_name:
        spec["imagePullSecrets"] = [{"name": shape.child("pull")}]
    annotations = {labels.APP_IMAGE: str(source.image), labels.RUNNER_ATTEMPT: str(attempt)}
    metadata = shape.metadata(shape.child(PART), component=labels.COMPONENT_READER, annotations=annotations)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def build_policy(shape: Shape) -> Object:
    """The reader connects to nobody, and nobody to it."""
    selector = {"matchLabels": shape.pod_labels(labels.COMPONENT_READER)}
    return {
        "metadata": shape.metadata(shape.child(PART)),
        "spec": {"podSelector": selector, "policyTypes": ["Ingress", "Egress"]},
    }

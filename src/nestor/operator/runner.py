"""The runner's pod: how it is built, and what to do with the one that is there. Pure."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal

from nestor import times
from nestor.api import labels
from nestor.cluster.shape import Shape
from nestor.contracts import runner as contract
from nestor.contracts.cluster import DOMAIN, RUNNER_KUBECONFIG
from nestor.contracts.runner import Exit
from nestor.kube import Forbidden, Invalid
from nestor.objects import Object, annotations_of, is_terminating
from nestor.operator import pods
from nestor.operator.resolve import Resolved
from nestor.steps import Plan

MAX_ATTEMPTS = 6
RESULT_SECONDS = 30
"""How long a result may take from the nested cluster to the NestedCluster's status."""
PAUSES: dict[int, float] = {Exit.NO_API: 10, Exit.NO_VOLUME: 60}
"""How long until it waits again. For the API it has waited for long already; this is for one that comes and goes."""
NO_IMAGE_VOLUMES = (
    "this cluster has no image volumes, which app images need: on by default from Kubernetes 1.35, feature gate ImageVolume "
    "before; templates from a ConfigMap need nothing"
)
NEW_NAMESPACE_SECONDS = 3
RESOURCES: Object = {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}


@dataclass(frozen=True)
class Action:
    """What to do: `Keep` what is, `Create`, `Replace`, look again after `delay`, or give up with `message`."""

    kind: Literal["Keep", "Create", "Replace", "Wait", "GiveUp"]
    attempt: int = 0
    delay: float = 0
    message: str = ""


def decide_runner(pod: Object | None, plan_hash: str, *, is_over: bool, now: datetime.datetime) -> Action:
    """`is_over`: the plan's result is recorded. A pod that ended without one is made anew, later and later.

    That has an end where the runner is at fault, and none where it waits for an API: an image that can be pulled an hour later
    is no failure, and the templates are still to be applied then.
    """
    if pod is None:
        return Action("Keep") if is_over else Action("Create", attempt=1)
    if is_terminating(pod):
        return Action("Keep") if is_over else Action("Wait", delay=1)
    annotations = annotations_of(pod)
    if annotations.get(labels.PLAN_HASH) != plan_hash:
        return Action("Replace", attempt=1)
    if is_over or not pods.is_finished(pod):
        return Action("Keep")
    return _decide_ended(pod, int(annotations.get(labels.RUNNER_ATTEMPT, "1")), now)


def _decide_ended(pod: Object, attempt: int, now: datetime.datetime) -> Action:
    code, finished, reason = pods.find_end(pod)
    since = times.seconds_since(finished, now) if finished else 0.0
    # Results are on their way; if none arrives, that is a crash too. Crashes are repeated, 1, 2, 4 … s later.
    is_result, is_waiting = code in (Exit.SUCCEEDED, Exit.STEP_FAILED), code in PAUSES
    delay = RESULT_SECONDS if is_result else PAUSES.get(code or 0, min(60.0, 2.0 ** (attempt - 1)))
    is_last = attempt >= MAX_ATTEMPTS and not is_waiting
    if finished and since < delay and (is_result or not is_last):
        return Action("Wait", delay=delay - since)
    if is_last:
        why = [f"exit code {code}" if code is not None else "", reason, "its record never arrived" if is_result else ""]
        said = ", ".join(part for part in why if part) or "unknown"
        name = pod["metadata"]["name"]
        return Action("GiveUp", message=f"the runner's pod '{name}' ended {attempt} times without a result, last: {said}")
    return Action("Replace", attempt=attempt if is_waiting else attempt + 1)


def decide_refused(pod: Object, error: Forbidden | Invalid, seconds: float) -> tuple[str | None, float]:
    """What to tell of a refused pod when the steps wait since `seconds`, and when to ask again: twice as late each time.

    In the first moments of a namespace its service account or its quota's status may be missing, which is nobody's business.
    """
    is_ordinary = isinstance(error, Forbidden) and seconds < NEW_NAMESPACE_SECONDS
    return None if is_ordinary else explain_refusal(pod, error), min(60.0, max(0.2, seconds))


def explain_refusal(pod: Object, error: Forbidden | Invalid) -> str:
    """Why the host's API server does not take the pod, and what to do where its own words do not say."""
    meta = pod["metadata"]
    said = f"the {meta['labels'][labels.COMPONENT]}'s pod '{meta['name']}' is refused: {error.message}"
    images = [f"spec.volumes[{index}]" for index, volume in enumerate(pod["spec"]["volumes"]) if "image" in volume]
    # An API server that does not even know the field misses the volume's type.
    if isinstance(error, Invalid) and any(cause.get("field") in images for cause in error.details.get("causes") or ()):
        said += f" ({NO_IMAGE_VOLUMES})"
    return said


def find_dropped(resolved: Resolved, pod: Object | None, plan_hash: str) -> str | None:
    """What to tell of a pod without the app image: with the feature gate off, the API server takes the volume out of the pod."""
    if not resolved.app.image or pod is None:
        return None
    annotations = annotations_of(pod)
    if annotations.get(labels.PLAN_HASH) != plan_hash or any("image" in volume for volume in pod["spec"].get("volumes") or ()):
        return None
    return f"the runner's pod '{pod['metadata']['name']}' lost its volume of the app image: {NO_IMAGE_VOLUMES}"


def build_plan_config_map(shape: Shape, plan: Plan) -> Object:
    """The plan, as the runner reads it."""
    return {"metadata": shape.metadata(shape.child("plan")), "data": {contract.PLAN_FILE: plan.to_json()}}


def build_pod(resolved: Resolved, shape: Shape, plan: Plan, dns_address: str, attempt: int) -> Object:
    """The pod. It holds the nested cluster's keys and no token of the host; its DNS is the nested cluster's, which knows both."""
    app, templates = _build_sources(resolved, shape)
    spec: Object = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "dnsPolicy": "None",
        "dnsConfig": {
            "nameservers": [dns_address],
            "searches": [f"default.svc.{DOMAIN}", f"svc.{DOMAIN}", DOMAIN],
            "options": [{"name": "ndots", "value": "5"}],
        },
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_build_container(shape, templates)],
        "volumes": [
            app,
            {"name": "plan", "configMap": {"name": shape.child("plan")}},
            {
                "name": "kubeconfig",
                "secret": {
                    "secretName": shape.child("access"),
                    "defaultMode": 0o440,
                    "items": [{"key": RUNNER_KUBECONFIG, "path": contract.KUBECONFIG_FILE}],
                },
            },
            {"name": "work", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}},
        ],
    }
    if resolved.app.image_pull_secret_name:
        spec["imagePullSecrets"] = [{"name": shape.child("pull")}]
    annotations = {labels.PLAN_HASH: plan.hash, labels.RUNNER_ATTEMPT: str(attempt)}
    metadata = shape.metadata(shape.child("run"), component=labels.COMPONENT_RUNNER, annotations=annotations)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _build_sources(resolved: Resolved, shape: Shape) -> tuple[Object, Object]:
    """The volume with the templates, and its mount: the app image as a whole, or a copied ConfigMap in its place, or nothing."""
    if resolved.app.image:
        image = {"reference": resolved.app.image, "pullPolicy": "IfNotPresent"}
        return {"name": "app", "image": image}, {"name": "app", "mountPath": contract.IMAGE_FOLDER, "readOnly": True}
    if not resolved.app.templates_from:
        return {"name": "app", "emptyDir": {}}, {"name": "app", "mountPath": contract.TEMPLATES_FOLDER, "readOnly": True}
    config_map = {"name": shape.child("templates")}
    return {"name": "app", "configMap": config_map}, {"name": "app", "mountPath": contract.TEMPLATES_FOLDER, "readOnly": True}


def _build_container(shape: Shape, templates: Object) -> Object:
    return {
        "name": "runner",
        "image": shape.nestor_image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["runner"],
        "resources": RESOURCES,
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            templates,
            {"name": "plan", "mountPath": contract.PLAN_FOLDER, "readOnly": True},
            {"name": "kubeconfig", "mountPath": contract.KUBECONFIG_FOLDER, "readOnly": True},
            {"name": "work", "mountPath": contract.WORK_FOLDER},
            {"name": "tmp", "mountPath": contract.TEMPORARY_FOLDER},
        ],
    }

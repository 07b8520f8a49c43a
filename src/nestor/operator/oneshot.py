"""Pods that run once to a result (runner, reader): created, and recreated after a pause if they end without one.

What counts as a result, and how long the pauses are, is decided by the modules of these pods (`job.runner_pod` and
`admission.reader_pod`); what they share is here.
"""

import logging
from dataclasses import dataclass
from typing import Any, Literal

from nestor.api import labels, pod_status
from nestor.api.class_parts import ImagesPolicy
from nestor.api.images import name_on_host
from nestor.api.objects import Object, annotations_of, is_terminating
from nestor.kube import Api, Conflict, Forbidden, Invalid, kinds
from nestor.operator.world.context import Result, read_refusal

log = logging.getLogger(__name__)

NO_IMAGE_VOLUMES = (
    "this cluster has no image volumes, which app images need: they are on by default since Kubernetes 1.35; before that, "
    "enable the feature gate ImageVolume; templates from a ConfigMap do not need them"
)
NEW_NAMESPACE_SECONDS = 3
RUNNER_RESOURCES: Object = {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}
UNPRIVILEGED: Object = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
"""The security context of our own containers."""
_USER = 65532
ENDING_SECONDS = 1
"""How soon to look again while a pod's predecessor is still terminating."""
MOST_SECONDS = 60.0


@dataclass(frozen=True)
class Action:
    """What to do: create a pod (`Create`), replace the existing one (`Replace`), leave it (`Keep`, or `Wait` with a message),
    read its result (`Read`), or stop with `message` (`GiveUp`, `Refuse`).
    """

    kind: Literal["Keep", "Create", "Replace", "Wait", "Read", "GiveUp", "Refuse"]
    message: str = ""
    attempt: int = 1
    """Number of the pod to create or to wait for."""
    delay: float | None = None
    """Seconds until the next look at the pod, even without an event."""
    reason: str = ""
    """A condition's reason, if the pod's state implies one."""


def build_user(**more: int) -> Object:
    user = {"runAsNonRoot": True, "runAsUser": _USER, "runAsGroup": _USER}
    return {**user, **more, "seccompProfile": {"type": "RuntimeDefault"}}


def build_pod(
    metadata: Object,
    image: str,
    arguments: list[str],
    resources: Object,
    *,
    grace: int,
    container: Object | None = None,
    **spec: Any,
) -> Object:
    """A pod that runs `nestor` with these arguments, without a token. `container`, `spec`: what else they have."""
    own = {
        "name": arguments[0],
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments,
        "resources": resources,
        "securityContext": UNPRIVILEGED,
    }
    body = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": grace,
        "securityContext": build_user(),
        "containers": [own | (container or {})],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body | spec}


def build_app_volume(image: str, images: ImagesPolicy) -> Object:
    return {"name": "app", "image": {"reference": name_on_host(image, images.allowed), "pullPolicy": images.pull_policy}}


def read_attempt(pod: Object) -> int:
    return int(annotations_of(pod).get(labels.RUNNER_ATTEMPT, "1"))


def find_pause(attempt: int, first: float = 1.0, most: float = MOST_SECONDS) -> float:
    """Seconds to wait after an attempt: 1, 2, 4 … 60, unless the `first` and the `most` are others."""
    return min(most, first * 2.0 ** min(attempt - 1, 10))


def lacks_image_volume(pod: Object) -> bool:
    """Whether the app image is missing: with the feature gate off, the API server removes the volume from the pod."""
    return not any("image" in volume for volume in pod["spec"].get("volumes") or ())


async def make(api: Api, body: Object, former: Object | None, *, is_patient: bool, refused_since: float) -> Result:
    """Create a pod, replacing `former` if there is one; returns what the host refuses, and when to try again.

    `is_patient`: a former pod that is still working gets its grace period, and the new one waits for it. `refused_since`: for
    how many seconds the host has refused such a pod.
    """
    meta = body["metadata"]
    if former is not None:
        is_working = is_patient and not pod_status.is_terminal(former)
        log.info("%s: replacing pod %s", meta["namespace"], meta["name"])
        uid, grace = former["metadata"]["uid"], None if is_working else 0
        await api.delete(kinds.POD, meta["name"], meta["namespace"], uid=uid, grace_seconds=grace)
        if is_working:
            return Result(ENDING_SECONDS)
    try:
        await api.create(kinds.POD, body)
    except Conflict as conflict:
        # The cache lags behind our own write, or the former pod is still terminating.
        if not conflict.already_exists:
            raise
        return Result(ENDING_SECONDS)
    except (Forbidden, Invalid) as error:
        log.info("%s: pod %s is refused: %s", meta["namespace"], meta["name"], read_refusal(error))
        # In a new namespace, the service account or the quota's status may be missing for a moment.
        is_ordinary = isinstance(error, Forbidden) and refused_since < NEW_NAMESPACE_SECONDS
        return Result(min(MOST_SECONDS, max(0.2, refused_since)), None if is_ordinary else explain_refusal(body, error))
    return Result()


async def end(api: Api, pod: Object | None) -> None:
    """Delete a pod that is still working. A finished one stays, and with it its log: so one that has changed since it was cached
    is left to the next pass, which its change brings about.
    """
    if pod is None or is_terminating(pod) or pod_status.is_terminal(pod):
        return
    meta = pod["metadata"]
    await api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], version=meta.get("resourceVersion"))


def explain_refusal(pod: Object, error: Forbidden | Invalid) -> str:
    """Why the host's API server refuses the pod, and what to do if its own message does not say."""
    meta = pod["metadata"]
    text = f"the {meta['labels'][labels.COMPONENT]}'s pod '{meta['name']}' is refused: {error.message}"
    images = [f"spec.volumes[{index}]" for index, volume in enumerate(pod["spec"]["volumes"]) if "image" in volume]
    # An API server that does not know the field complains about the missing volume type.
    if isinstance(error, Invalid) and any(cause.get("field") in images for cause in error.details.get("causes") or ()):
        text += f" ({NO_IMAGE_VOLUMES})"
    return text

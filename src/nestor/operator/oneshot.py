"""Pods that run once to a result, a runner's or a reader's: made, and made again after a pause when they end without one.

What counts as a result, and which pauses there are, is decided by these pods' own modules (`job.runner_pod` and
`admission.reader_pod`); what they share is here.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal

from nestor.api import labels
from nestor.kube import Api, Conflict, Forbidden, Invalid, RetryLater, kinds
from nestor.objects import Object, annotations_of, is_terminating
from nestor.operator.result import Result
from nestor.operator.world import pod_status

log = logging.getLogger(__name__)

NO_IMAGE_VOLUMES = (
    "this cluster has no image volumes, which app images need: on by default from Kubernetes 1.35, feature gate ImageVolume "
    "before; templates from a ConfigMap need nothing"
)
NEW_NAMESPACE_SECONDS = 3
ENDING_SECONDS = 1
"""How soon a pod is looked at again whose predecessor is still on its way out."""
MOST_SECONDS = 60.0


@dataclass(frozen=True)
class Action:
    """What to do: make a pod (`Create`), make another one in place of the one there is (`Replace`), leave it (`Keep`, or
    `Wait` with a message), take its result (`Read`), or stop with `message` (`GiveUp`, `Refuse`).
    """

    kind: Literal["Keep", "Create", "Replace", "Wait", "Read", "GiveUp", "Refuse"]
    message: str = ""
    attempt: int = 1
    """Of the pod that is made or waited for."""
    delay: float | None = None
    """Seconds until the pod is looked at again although no event comes."""
    reason: str = ""
    """A condition's, where the pod tells one."""


def read_attempt(pod: Object) -> int:
    """Which of the pods of its kind this is, from 1."""
    return int(annotations_of(pod).get(labels.RUNNER_ATTEMPT, "1"))


def find_pause(attempt: int) -> float:
    """Seconds between the end of a pod and its successor: 1, 2, 4 … 60."""
    return float(min(MOST_SECONDS, 2.0 ** min(attempt - 1, 10)))


def lacks_image_volume(pod: Object) -> bool:
    """True where the app image is missing: with the feature gate off, the API server takes the volume out of the pod."""
    return not any("image" in volume for volume in pod["spec"].get("volumes") or ())


async def make(api: Api, body: Object, former: Object | None, *, is_patient: bool, refused_since: float) -> Result:
    """Make a pod, in place of its `former` if there is one; says what the host refuses, and when to try again.

    `is_patient`: a former pod that still works gets its time to stop, and this one waits for that. `refused_since`: for how many
    seconds the host has refused such a pod.
    """
    meta = body["metadata"]
    if former is not None:
        is_working = is_patient and not pod_status.is_finished(former)
        log.info("%s: replacing pod %s", meta["namespace"], meta["name"])
        uid, grace = former["metadata"]["uid"], None if is_working else 0
        await api.delete(kinds.POD, meta["name"], meta["namespace"], uid=uid, grace_seconds=grace)
        if is_working:
            return Result(ENDING_SECONDS)
    try:
        await api.create(kinds.POD, body)
    except Conflict as conflict:
        # The cache lags behind our own write, or the former pod is still on its way out.
        if not conflict.already_exists:
            raise
        return Result(ENDING_SECONDS)
    except (Forbidden, Invalid) as error:
        if isinstance(error, Forbidden) and error.is_terminating:
            raise RetryLater(1, error.message) from None
        log.info("%s: pod %s is refused: %s", meta["namespace"], meta["name"], error)
        return decide_refused(body, error, refused_since)
    return Result()


async def end(api: Api, pod: Object | None) -> None:
    """Delete a pod that still works. One that has ended stays, and with it its log."""
    if pod is None or is_terminating(pod) or pod_status.is_finished(pod):
        return
    meta = pod["metadata"]
    await api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"])


def decide_refused(pod: Object, error: Forbidden | Invalid, seconds: float) -> Result:
    """What to tell of a pod that is refused for `seconds`, and when to try again: twice as late each time.

    In the first moments of a namespace its service account or its quota's status may be missing: nobody needs to know.
    """
    is_ordinary = isinstance(error, Forbidden) and seconds < NEW_NAMESPACE_SECONDS
    return Result(min(MOST_SECONDS, max(0.2, seconds)), None if is_ordinary else explain_refusal(pod, error))


def explain_refusal(pod: Object, error: Forbidden | Invalid) -> str:
    """Why the host's API server does not take the pod, and what to do where its own words do not say."""
    meta = pod["metadata"]
    text = f"the {meta['labels'][labels.COMPONENT]}'s pod '{meta['name']}' is refused: {error.message}"
    images = [f"spec.volumes[{index}]" for index, volume in enumerate(pod["spec"]["volumes"]) if "image" in volume]
    # An API server that does not even know the field misses the volume's type.
    if isinstance(error, Invalid) and any(cause.get("field") in images for cause in error.details.get("causes") or ()):
        text += f" ({NO_IMAGE_VOLUMES})"
    return text

"""What a pod's status says about why it does not run yet. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from nestor.objects import Object, conditions_of, is_terminating, status_of

IMAGE_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
ORDINARY_REASONS = frozenset({"ContainerCreating", "PodInitializing"})


@dataclass(frozen=True)
class Waiting:
    """One container that waits, by the pod's own words."""

    container: str
    image: str
    reason: str
    message: str

    @property
    def is_image(self) -> bool:
        """Whether it waits for an image that cannot be pulled."""
        return self.reason in IMAGE_REASONS

    def describe(self, pod: Object) -> str:
        """A sentence with the pod's own reason and message."""
        text = f"pod '{pod['metadata']['name']}', container '{self.container}': {self.reason}"
        return f"{text}: {self.message}" if self.message else text


def find_waiting(pod: Object) -> Waiting | None:
    """The first container that waits for more than its ordinary start."""
    status = status_of(pod)
    for item in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        waiting = (item.get("state") or {}).get("waiting")
        if waiting and waiting.get("reason") and waiting["reason"] not in ORDINARY_REASONS:
            return Waiting(item["name"], item.get("image", ""), waiting["reason"], waiting.get("message", ""))
    return None


def find_unschedulable(pod: Object) -> str | None:
    """Why the scheduler has no node for the pod, or None."""
    scheduled = find_condition(pod, "PodScheduled")
    if scheduled and scheduled.get("status") == "False":
        return str(scheduled.get("message") or scheduled.get("reason") or "no node")
    return None


def is_ready(pod: Object) -> bool:
    """Whether the pod is Ready, and not on its way out."""
    ready = find_condition(pod, "Ready")
    return bool(ready and ready.get("status") == "True") and not is_terminating(pod)


def is_finished(pod: Object) -> bool:
    """Whether no container of the pod will run again."""
    return status_of(pod).get("phase") in ("Succeeded", "Failed")


def find_end(pod: Object) -> tuple[int | None, str, str]:
    """Exit code, when (RFC 3339, may be empty) and why the pod's first container ended."""
    status = status_of(pod)
    for item in status.get("containerStatuses") or ():
        ended = (item.get("state") or {}).get("terminated")
        if ended:
            return ended.get("exitCode"), ended.get("finishedAt") or "", ended.get("reason") or ""
    return None, "", status.get("reason") or status.get("message") or ""


def find_condition(pod: Object, kind: str) -> Object | None:
    """One of the pod's conditions."""
    return next((item for item in conditions_of(pod) if item["type"] == kind), None)

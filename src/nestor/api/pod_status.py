"""What a pod's status says about why it does not run yet. Pure."""

from dataclasses import dataclass

from nestor.api import conditions
from nestor.api.objects import Object, conditions_of, is_terminating, spec_of, status_of

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
OUT_OF_MEMORY = "OOMKilled"
ORDINARY_REASONS = frozenset({"ContainerCreating", "PodInitializing"})
TERMINAL = ("Succeeded", "Failed")
"""The phases of pods that have ended."""


@dataclass(frozen=True)
class Waiting:
    """One waiting container, as the pod's status describes it."""

    container: str
    image: str
    reason: str
    message: str
    last: str = ""
    """How it ended before, if it did."""

    @property
    def is_image(self) -> bool:
        return self.reason in IMAGE_REASONS

    def __str__(self) -> str:
        text = f"container '{self.container}': {self.reason}"
        return text + (f": {self.message}" if self.message else "") + (f"; before, it {self.last}" if self.last else "")

    def describe(self, pod: Object) -> str:
        return f"pod '{pod['metadata']['name']}', {self}"


def find_first_waiting(pod: Object) -> Waiting | None:
    """The first container that waits for more than its ordinary start; others may wait for something else."""
    status = status_of(pod)
    for item in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        waiting = (item.get("state") or {}).get("waiting")
        if waiting and waiting.get("reason") and waiting["reason"] not in ORDINARY_REASONS:
            return Waiting(item["name"], item.get("image", ""), waiting["reason"], waiting.get("message", ""), _find_last(item))
    return None


def _find_last(item: Object) -> str:
    ended = (item.get("lastState") or {}).get("terminated")
    if not ended:
        return ""
    reason = f" ({ended['reason']})" if ended.get("reason") not in (None, "", "Error") else ""
    said = str(ended.get("message") or "").strip()
    return f"ended with exit code {ended.get('exitCode')}{reason}" + (f": {said}" if said else "")


def find_starved(pod: Object) -> str | None:
    """The first container that was ended because it needed more memory than it may have, and is not ready since."""
    for item in status_of(pod).get("containerStatuses") or ():
        ended = [(item.get(key) or {}).get("terminated") or {} for key in ("state", "lastState")]
        if not item.get("ready") and any(end.get("reason") == OUT_OF_MEMORY for end in ended):
            return str(item["name"])
    return None


def find_held(pod: Object) -> str:
    """Why a pod that should run does not, in a sentence; empty if it does, or just starts."""
    if is_terminal(pod) or is_terminating(pod):
        return ""
    return str(find_first_waiting(pod) or find_unschedulable(pod) or "")


def find_unschedulable(pod: Object) -> str | None:
    scheduled = conditions.find(conditions_of(pod), "PodScheduled")
    if scheduled and scheduled.get("status") == "False":
        return str(scheduled.get("message") or scheduled.get("reason") or "no node")
    return None


def find_obstacle(pod: Object, otherwise: conditions.Reason) -> tuple[conditions.Reason, str] | None:
    """A condition's reason why the pod does not start, and a sentence that names the pod: it has no image, or no node, or a
    container waits for something else, which is `otherwise`.
    """
    if waiting := find_first_waiting(pod):
        return conditions.IMAGE_PULL_FAILED if waiting.is_image else otherwise, waiting.describe(pod)
    if unschedulable := find_unschedulable(pod):
        return conditions.UNSCHEDULABLE, f"pod '{pod['metadata']['name']}': {unschedulable}"
    return None


def is_ready(pod: Object) -> bool:
    """Whether the pod is Ready and not terminating."""
    return conditions.is_true(conditions_of(pod), "Ready") and not is_terminating(pod)


def is_terminal(pod: Object) -> bool:
    """Whether no container of the pod will run again."""
    return status_of(pod).get("phase") in TERMINAL


def find_end(pod: Object) -> tuple[int | None, str, str]:
    """Exit code, end time (RFC 3339, may be empty) and reason of the pod's first terminated container."""
    status = status_of(pod)
    for item in status.get("containerStatuses") or ():
        ended = (item.get("state") or {}).get("terminated")
        if ended:
            return ended.get("exitCode"), ended.get("finishedAt") or "", ended.get("reason") or ""
    return None, "", status.get("reason") or status.get("message") or ""


def find_grace(pod: Object, most: int) -> int | None:
    """In how many seconds a pod that may have so many should end; None if it is being deleted, and has no longer than that."""
    grace = min(spec_of(pod).get("terminationGracePeriodSeconds", 30), most)
    is_ending = is_terminating(pod) and pod["metadata"].get("deletionGracePeriodSeconds", 0) <= grace
    return None if is_ending else grace

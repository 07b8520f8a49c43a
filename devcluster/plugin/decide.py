"""What is to be done next with a pod's containers: Kubernetes' rules for init containers and restarts. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from devcluster.plugin.record import Container, Pod

MAX_BACKOFF_SECONDS = 30.0


@dataclass(frozen=True)
class Step:
    """The next thing to do."""

    start: tuple[str, ...] = ()
    """Containers to start now."""
    wait: float | None = None
    """Seconds until there may be more to do; None: not before a container ends."""
    is_finished: bool = False
    """Whether nothing of the pod runs or will ever run again."""


def next_step(record: Pod, now: float) -> Step:
    """What to do at `now`, in seconds since 1970."""
    if record.failure:
        return Step(is_finished=True)
    init = next((item for item in record.containers if item.is_init and not has_succeeded(item)), None)
    if init is not None:
        # An init container runs until it succeeds, whatever the policy, unless that is Never.
        return _step([init], "Never" if record.restart_policy == "Never" else "OnFailure", now)
    return _step([item for item in record.containers if not item.is_init], record.restart_policy, now)


def _step(containers: Sequence[Container], policy: str, now: float) -> Step:
    due = [item for item in containers if not item.is_running and will_run(item, policy)]
    start = tuple(item.name for item in due if item.not_before <= now)
    wait = min((item.not_before - now for item in due if item.not_before > now), default=None)
    is_finished = not due and not any(item.is_running for item in containers)
    return Step(start, wait, is_finished)


def will_run(container: Container, policy: str) -> bool:
    """Whether a container that does not run is to be started, now or later."""
    if container.last is None or policy == "Always":
        return True
    return policy == "OnFailure" and container.last.code != 0


def has_succeeded(container: Container) -> bool:
    """Whether its last run ended with exit code 0."""
    return container.last is not None and bool(container.last.finished) and container.last.code == 0


def backoff(base: float, failures: int) -> float:
    """Seconds to wait after so many failures in a row."""
    return float(min(base * 2 ** max(failures - 1, 0), MAX_BACKOFF_SECONDS))

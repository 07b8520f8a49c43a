"""What holds up an application's pods, and what to do about a job that does not get on. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nestor.api import conditions, labels
from nestor.api.objects import Object, annotations_of, conditions_of, is_terminating, labels_of, spec_of, status_of
from nestor.operator.world import pod_status
from nestor.operator.world.trim import HELD


def explain_held(pods: Iterable[Object], nodes: Mapping[str, Object]) -> str | None:
    """Why one of the application's pods does not start, and how many more there are. `nodes`: the virtual ones, by name."""
    found = {_name(pod): text for pod in pods if _is_of_app(pod) and (text := _find_held(pod, nodes))}
    if not found:
        return None
    name = min(found)
    more = f"; {len(found) - 1} more are held up" if len(found) > 1 else ""
    return f"{name}: {found[name]}{more}"


def _find_held(pod: Object, nodes: Mapping[str, Object]) -> str | None:
    node = nodes.get(spec_of(pod).get("nodeName") or "")
    ready = conditions.find(conditions_of(node), conditions.READY) or {}
    is_lost = node is not None and ready.get("status") != "True"
    if is_lost and not pod_status.is_finished(pod):
        backend = labels_of(node).get(labels.BACKEND, "")
        said = ready.get("message") or ready.get("reason") or "its process has reported nothing"
        return f"node '{spec_of(pod)['nodeName']}' of backend '{backend}' is not ready: {said}"
    found: str | None = status_of(pod).get(HELD)
    return found


def _is_of_app(pod: Object) -> bool:
    return labels_of(pod).get(labels.COMPONENT) == labels.COMPONENT_APP and not is_terminating(pod)


def _name(pod: Object) -> str:
    """As the nested cluster's users know it."""
    own = annotations_of(pod)
    name = own.get(labels.NESTED_NAME)
    if name is None:
        return f"pod '{pod['metadata']['name']}'"
    return f"pod '{name}' in namespace '{own.get(labels.NESTED_NAMESPACE, '')}'"


def find_next_step(found: Iterable[Object]) -> str | None:
    """What to do, by a job's conditions: about its end; otherwise about the first that waits for somebody; otherwise about the
    first that is not True, as what follows from that may pass with it.
    """
    found = list(found)
    ended = conditions.find(found, conditions.SUCCEEDED) or {}
    if ended.get("status") in ("True", "False"):
        return conditions.reason_of(ended).advice or None
    stages = [item for stage in conditions.STAGES if (item := conditions.find(found, stage))]
    reasons = [conditions.reason_of(item) for item in stages if item.get("status") != "True"]
    urgent = [reason for reason in reasons if reason.needs != "nobody"]
    at_least = [conditions.reason_of(item) for item in stages if item.get("status") == "True"]  # such as a host without walls
    chosen = [*urgent, *reasons[:1], *(reason for reason in at_least if reason.needs != "nobody")]
    return next((reason.advice for reason in chosen if reason.advice), None)

"""Why a pod does not run, according to its status. Pure."""

from __future__ import annotations

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, spec_of, status_of

ORDINARY = ("ContainerCreating", "PodInitializing")
RESTARTS = 3
"""Restarts that are suspicious even if the container is running now."""


def describe_trouble(pod: Object) -> str | None:
    """One sentence, or None if the pod is fine or starting normally."""
    name, status = pod["metadata"]["name"], status_of(pod)
    for item in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        if said := _describe_container(item):
            return f"pod '{name}', container '{item['name']}': {said}"
    if spec_of(pod).get("schedulingGates") and (gang := annotations_of(pod).get(labels.GANG_NAME)):
        size = annotations_of(pod).get(labels.GANG_SIZE)
        more = "its condition in the nested cluster says what is missing"
        return f"pod '{name}' waits until one place has room for all {size} pods of gang '{gang}': {more}"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"pod '{name}' is not scheduled: {condition.get('message') or condition.get('reason')}"
    if status.get("phase") == "Pending" and status.get("reason") and (node := spec_of(pod).get("nodeName")):
        return f"pod '{name}' waits at node '{node}': {status['reason']}{_join(status.get('message'))}"
    if status.get("phase") == "Failed":
        return f"pod '{name}' failed: {status.get('message') or status.get('reason') or 'a container exited'}"
    return None


def _describe_container(item: Object) -> str | None:
    state = item.get("state") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
    if waiting.get("reason") and waiting["reason"] not in ORDINARY:
        last = ((item.get("lastState") or {}).get("terminated")) or {}
        ending = f" (it ended earlier: {_describe_end(last)})" if last else ""
        return f"{waiting['reason']}{_join(waiting.get('message'))}{ending}"
    if ended.get("exitCode"):
        return f"ended: {_describe_end(ended)}"
    if item.get("restartCount", 0) >= RESTARTS:
        return f"restarted {item['restartCount']} times"
    return None


def _join(message: str | None) -> str:
    return f": {message}" if message else ""


def _describe_end(ended: Object) -> str:
    return f"{ended.get('reason') or 'Error'}, exit code {ended.get('exitCode')}"

"""Patches that carry later changes of a nested pod to its host pod."""

from __future__ import annotations

from nestor.api.policy import Policy
from nestor.objects import Object, annotations_of
from nestor.translate import containers, downward, pod, refusals, scheduling
from nestor.translate.target import Target

_RESIZABLE = ("requests", "limits")


def build_update(nested: Object, host: Object, target: Target) -> Object | None:
    """A strategic merge patch that brings the host pod up to date, or None if nothing changed.

    Compares with what was last carried over, not with the host pod itself, so that changes by the host's webhooks stay.
    """
    annotations = pod.build_annotations(nested, target)
    old = annotations_of(host)
    if old.get(pod.APPLIED) == annotations[pod.APPLIED]:
        return None
    stale = {key: None for key in old if key.startswith(downward.PREFIX) and key not in annotations}
    labels = pod.build_labels(nested, target)
    gone = {key: None for key in pod.applied(host).get("labels") or [] if key not in labels}
    return {
        "metadata": {"uid": host["metadata"]["uid"], "labels": labels | gone, "annotations": annotations | stale},
        "spec": _spec(nested, host, target),
    }


def build_debug(nested: Object, host: Object, target: Target, policy: Policy) -> Object | None:
    """A patch that adds ephemeral containers (`kubectl debug`) to the host pod, or None if there is no new one that may run."""
    known = {item["name"] for item in host["spec"].get("ephemeralContainers") or []}
    wanted = refusals.find_permitted_debug(nested, policy) - known
    built = containers.build_containers(nested, "ephemeralContainers", target, policy)
    fresh = [item for item in built if item["name"] in wanted]
    return {"spec": {"ephemeralContainers": fresh}} if fresh else None


def build_resize(nested: Object, host: Object) -> Object | None:
    """A patch of the host pod's resources (in-place resize), or None. Defaults that the host added stay."""
    there = {item["name"]: item.get("resources") or {} for item in host["spec"]["containers"]}
    changed = [
        {"name": item["name"], "resources": {part: item["resources"][part] for part in _RESIZABLE if part in item["resources"]}}
        for item in nested["spec"]["containers"]
        if item.get("resources") and not _within(item["resources"], there.get(item["name"], {}))
    ]
    return {"spec": {"containers": changed}} if changed else None


def _within(wanted: Object, there: Object) -> bool:
    return all(
        (there.get(part) or {}).get(name) == value for part in _RESIZABLE for name, value in (wanted.get(part) or {}).items()
    )


def _spec(nested: Object, host: Object, target: Target) -> Object:
    own, result = nested["spec"], {}
    for group in ("containers", "initContainers"):
        if images := [{"name": item["name"], "image": item["image"]} for item in own.get(group) or []]:
            result[group] = images
    if own.get("activeDeadlineSeconds") is not None:
        result["activeDeadlineSeconds"] = own["activeDeadlineSeconds"]
    there = host["spec"].get("tolerations") or []
    if added := [item for item in scheduling.build_tolerations(own) if item not in there]:
        result["tolerations"] = [*there, *added]
    return result

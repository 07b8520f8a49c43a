"""Changes of a host pod as patches of its pod in another cluster. Pure."""

from collections.abc import Iterator

from nestor.api import labels as marks
from nestor.api.objects import Object, annotations_of, labels_of
from nestor.overflow.remote.build import (
    EACH,
    GROUPS,
    WHOLE,
    build_annotations,
    build_containers,
    build_labels,
    read_carried,
    read_changeable,
    read_labels,
    write_json,
)
from nestor.overflow.remote.refusals import find_refusals
from nestor.overflow.remote.settings import Settings
from nestor.pods.providers.base import Part
from nestor.pods.translate import downward

_DEBUG = "ephemeralContainers"


def build_patches(pod: Object, there: Object, settings: Settings) -> Iterator[tuple[Part, Object]]:
    """Strategic merge patches that bring the pod there up to date, each with the part of the pod that it is of.

    Each kind of change is one of its own, and so is each debug container: one that is refused must not hold up others.
    """
    if meta := _build_metadata(pod, there, settings):
        yield "", {"metadata": meta}
    before, now = read_carried(there), read_changeable(pod["spec"])
    if before:  # a pod there that does not say counts as up to date
        deadline = now.get("activeDeadlineSeconds")
        sizes = _compare(before, now, "resources")
        if now.get("resources") and now["resources"] != before.get("resources"):
            sizes["resources"] = now["resources"]
        if images := _compare(before, now, "image"):
            yield "", {"spec": images}
        if deadline is not None and deadline != before.get("activeDeadlineSeconds"):
            yield "", {"spec": {"activeDeadlineSeconds": deadline}}
        if sizes:
            yield "resize", {"spec": sizes}
    for item in _find_debug(pod, there):
        if not _check_debug(pod, item):
            yield "ephemeralcontainers", {"spec": {_DEBUG: build_containers(_with_debug(pod, item), _DEBUG, has_links=False)}}


def find_refused(pod: Object, there: Object) -> list[str]:
    """One message per field that keeps a debug container from being added there."""
    return [text for item in _find_debug(pod, there) for text in _check_debug(pod, item)]


def build_note(there: Object, patch: Object) -> Object:
    """The patch there that notes which changes of the spec have been carried. Empty: nothing is to be noted."""
    before, spec = read_carried(there), patch.get("spec") or {}
    if not before:
        return {}
    now = before | {key: spec[key] for key in WHOLE if key in spec}
    for group in GROUPS:
        changed = {item["name"]: {key: item[key] for key in EACH if key in item} for item in spec.get(group) or []}
        now[group] = {name: item | changed.get(name, {}) for name, item in before[group].items()}
    return {"metadata": {"annotations": {marks.HOST_SPEC: write_json(now)}}} if now != before else {}


def _compare(before: Object, now: Object, field: str) -> Object:
    """The containers of which this field has changed."""
    result: Object = {}
    for group in GROUPS:
        known = {name: item.get(field) for name, item in before[group].items()}
        items = [
            {"name": name, field: item[field]}
            for name, item in now[group].items()
            if item.get(field) and item[field] != known.get(name)
        ]
        if items:
            result[group] = items
    return result


def _find_debug(pod: Object, there: Object) -> list[Object]:
    """The debug containers that the pod there does not have."""
    known = {item["name"] for item in there["spec"].get(_DEBUG) or []}
    return [item for item in pod["spec"].get(_DEBUG) or [] if item["name"] not in known]


def _check_debug(pod: Object, container: Object) -> list[str]:
    """Faults of the pod itself are left out: it runs already."""
    before = find_refusals(pod | {"spec": pod["spec"] | {_DEBUG: []}})
    return [text for text in find_refusals(_with_debug(pod, container)) if text not in before]


def _with_debug(pod: Object, container: Object) -> Object:
    return pod | {"spec": pod["spec"] | {_DEBUG: [container]}}


def _build_metadata(pod: Object, there: Object, settings: Settings) -> Object:
    """Labels and annotations that differ; those that are gone are removed."""
    wanted = {"labels": build_labels(pod, settings), "annotations": build_annotations(pod)}
    were = {
        "labels": build_labels(pod | {"metadata": pod["metadata"] | {"labels": read_labels(there)}}, settings),
        "annotations": {key: value for key, value in annotations_of(there).items() if key.startswith(downward.PREFIX)},
    }
    live = {"labels": labels_of(there), "annotations": annotations_of(there)}
    result: Object = {}
    for key, values in wanted.items():
        gone: Object = {name: None for name in were[key] if name not in values and name in live[key]}
        new = {name: value for name, value in values.items() if live[key].get(name) != value}
        if gone | new:
            result[key] = gone | new
    # Two changes at the same time must not undo each other.
    return result | {"resourceVersion": there["metadata"]["resourceVersion"]} if result else {}

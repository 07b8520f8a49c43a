"""What of a host pod can change while it runs, and means something at a backend. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from nestor.api.objects import Object, annotations_of, labels_of
from nestor.pods.providers.base import Part

_DEBUG = "ephemeralContainers"
_GROUPS = ("containers", "initContainers")


def read_changeable(pod: Object) -> Object:
    """What can change: `notes`, which are labels and annotations; `spec`; and the names of `debug` containers."""
    spec = pod["spec"]
    own: Object = {key: spec[key] for key in ("activeDeadlineSeconds", "resources") if key in spec}
    for group in _GROUPS:
        own[group] = [{key: item.get(key) for key in ("name", "image", "resources")} for item in spec.get(group) or []]
    return {
        "notes": [labels_of(pod), annotations_of(pod)],
        "spec": own,
        "debug": [item["name"] for item in spec.get(_DEBUG) or []],
    }


def build_patches(pod: Object, there: Object) -> Iterator[tuple[Part, Object]]:
    """Strategic merge patches from the pod as the backend has it (`there`) to the host pod, with the part that each is of.

    Each kind of change is one of its own, and so is each debug container: one that is refused must not hold up others.
    """
    own, known = pod["spec"], there["spec"]
    gone = dict.fromkeys(labels_of(there).keys() - labels_of(pod).keys())
    plain: Object = {"metadata": {"labels": {**labels_of(pod), **gone}, "annotations": annotations_of(pod)}}
    yield "", plain
    if images := _compare(own, known, "image"):
        yield "", {"spec": images}
    deadline = own.get("activeDeadlineSeconds")
    if deadline is not None and deadline != known.get("activeDeadlineSeconds"):
        yield "", {"spec": {"activeDeadlineSeconds": deadline}}
    names = {item["name"] for item in known.get(_DEBUG) or []}
    for item in own.get(_DEBUG) or []:
        if item["name"] not in names:
            yield "ephemeralcontainers", {"spec": {_DEBUG: [item]}}
    sizes = _compare(own, known, "resources")
    if own.get("resources") and own["resources"] != known.get("resources"):
        sizes["resources"] = own["resources"]
    if sizes:
        yield "resize", {"spec": sizes}


def _compare(own: Object, known: Object, field: str) -> Object:
    """The containers whose field differs, by group."""
    result: Object = {}
    for group in _GROUPS:
        before = {item["name"]: item.get(field) for item in known.get(group) or []}
        items = [item for item in own.get(group) or [] if item.get(field) and item[field] != before.get(item["name"])]
        if items:
            result[group] = [{"name": item["name"], field: item[field]} for item in items]
    return result

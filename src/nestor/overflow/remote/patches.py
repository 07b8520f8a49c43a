"""Changes of a host pod as changes of its pod in another cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from nestor.api import labels as marks
from nestor.api.objects import Object, annotations_of, labels_of
from nestor.overflow.remote import refusals
from nestor.overflow.remote.build import (
    EACH,
    GROUPS,
    WHOLE,
    build_annotations,
    build_containers,
    build_labels,
    read_carried,
    read_labels,
    write_json,
)
from nestor.overflow.remote.settings import Settings
from nestor.pods.providers.base import Part
from nestor.pods.providers.errors import InvalidInput
from nestor.pods.translate import downward

_DEBUG = "ephemeralContainers"
_SPEC = frozenset({"activeDeadlineSeconds", "containers", "initContainers", "terminationGracePeriodSeconds"})
_OF_HOST = frozenset({"tolerations", "schedulingGates"})
"""What the host's scheduler reads."""
_OF_RESIZE = frozenset({"containers", "initContainers", "resources"})
_CONTAINER = {"": frozenset({"name", "image"}), "resize": frozenset({"name", "resources", "resizePolicy"})}


def build_patch(pod: Object, there: Object, patch: Object, part: Part, settings: Settings) -> Object:
    """The patch there. Empty: nothing changes. `pod`: the host pod. Raises `InvalidInput`, naming a field that cannot change."""
    if part == "status":
        raise InvalidInput("the status of a pod in another cluster comes from its kubelet there")
    if part == "ephemeralcontainers":
        return {"spec": {_DEBUG: list(_build_debug(pod, patch))}}
    spec = {key: value for key, value in (patch.get("spec") or {}).items() if key not in _OF_HOST}
    spec = _pick(spec, _OF_RESIZE if part == "resize" else _SPEC, "spec")
    for group in ("containers", "initContainers"):
        for index, item in enumerate(spec.get(group) or []):
            _pick(item, _CONTAINER[part], f"spec.{group}[{index}]")
    meta = _build_metadata(pod, there, patch.get("metadata") or {}, settings)
    return ({"metadata": meta} if meta else {}) | ({"spec": spec} if spec else {})


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


def _pick(found: Object | None, known: frozenset[str], path: str) -> Object:
    for key in sorted((found or {}).keys() - known):
        raise InvalidInput(f"`{path}.{key}` cannot be changed of a pod in another cluster")
    return found or {}


def _build_debug(pod: Object, patch: Object) -> Iterator[Object]:
    wanted = (patch.get("spec") or {}).get(_DEBUG) or []
    whole = pod | {"spec": pod["spec"] | {_DEBUG: wanted}}
    plain = pod | {"spec": {key: value for key, value in pod["spec"].items() if key != _DEBUG}}
    before = refusals.find_refusals(plain)
    if found := [text for text in refusals.find_refusals(whole) if text not in before]:
        raise InvalidInput("; ".join(found))
    yield from build_containers(whole, _DEBUG, has_links=False)


def _build_metadata(pod: Object, there: Object, meta: Object, settings: Settings) -> Object:
    """Labels and annotations as they are then; those that are gone are removed."""
    if not {"labels", "annotations"} & meta.keys():
        return {}
    before = {"labels": read_labels(there), "annotations": annotations_of(pod)}
    after = {key: _merge(before[key], meta.get(key) or {}) for key in before}
    changed = pod | {"metadata": pod["metadata"] | after}
    wanted = {"labels": build_labels(changed, settings), "annotations": build_annotations(changed)}
    were = {"labels": build_labels(pod | {"metadata": pod["metadata"] | {"labels": before["labels"]}}, settings)}
    were["annotations"] = {key: value for key, value in annotations_of(there).items() if key.startswith(downward.PREFIX)}
    live = {"labels": labels_of(there), "annotations": annotations_of(there)}
    result: Object = {}
    for key, values in wanted.items():
        gone: Object = {name: None for name in were[key] if name not in values and name in live[key]}
        new = {name: value for name, value in values.items() if live[key].get(name) != value}
        if gone | new:
            result[key] = gone | new
    # Two changes at the same time must not undo each other.
    return result | {"resourceVersion": there["metadata"]["resourceVersion"]} if result else {}


def _merge(before: dict[str, str], patch: Object) -> dict[str, str]:
    kept = {key: value for key, value in before.items() if key not in patch}
    return kept | {key: str(value) for key, value in patch.items() if value is not None}


def as_host(pod: Object, there: Object) -> Object:
    """The host pod as the pod there was given it, but for its status."""
    meta = pod["metadata"] | ({"labels": read_labels(there)} if marks.HOST_LABELS in annotations_of(there) else {})
    spec = {key: value for key, value in pod["spec"].items() if key != _DEBUG}
    if carried := read_carried(there):
        spec = {key: value for key, value in spec.items() if key not in WHOLE}
        spec |= {key: carried[key] for key in WHOLE if key in carried}
        for group in GROUPS:
            if group in spec:
                spec[group] = [_as_carried(item, carried[group]) for item in spec[group] or []]
    if debug := (there.get("spec") or {}).get(_DEBUG):
        spec[_DEBUG] = debug
    return pod | {"metadata": meta, "spec": spec}


def _as_carried(container: Object, carried: Object) -> Object:
    plain = {key: value for key, value in container.items() if key not in EACH}
    return plain | {key: value for key, value in (carried.get(container["name"]) or {}).items() if key in EACH}

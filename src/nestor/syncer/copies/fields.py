"""The difference between an object as it is and as it should be, by the fields that we own. Pure.

What we do not own stays: defaults of the server, fields that webhooks set, other people's labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from nestor.objects import Object


@dataclass(frozen=True)
class Field:
    """One field that we own. See the functions below for what there is; their paths are written `spec.ports`."""

    path: tuple[str, ...]
    is_map: bool = False
    """Compared and patched key by key; otherwise as one value, which is taken away when it is not desired any more."""
    compares: Literal["Everything", "Desired", "Nothing"] = "Everything"
    """What of a map makes a difference: every key, those that are desired, or none."""
    removes: bool = True
    """Whether a map's other keys are taken away, once it is patched."""
    is_sparse: bool = False
    """Patched only if it differs itself, because it may be large."""
    is_fixed: bool = False
    """Cannot be patched."""
    ignores: frozenset[str] = frozenset()
    """Keys that make no difference, anywhere within."""


def value(path: str, *, ignores: Iterable[str] = ()) -> Field:
    """A value that is ours as a whole; lists are compared item by item, for what is desired of each."""
    return Field(_split(path), ignores=frozenset(ignores))


def mapping(path: str, *, is_sparse: bool = False) -> Field:
    """A map all of whose keys are ours."""
    return Field(_split(path), is_map=True, is_sparse=is_sparse)


def mirrored(path: str) -> Field:
    """A map whose desired keys make a difference; others do not, but are taken away with the next one that does."""
    return Field(_split(path), is_map=True, compares="Desired")


def no_annotation(key: str) -> Field:
    """An annotation of ours that is taken away."""
    return Field(("metadata", "annotations", key))


def fixed(path: str) -> Field:
    """A field that cannot change: where it differs, another object is needed."""
    return Field(_split(path), is_fixed=True)


LABELS = Field(("metadata", "labels"), is_map=True, compares="Desired", removes=False)
"""Our labels, among others."""
ANNOTATIONS = Field(("metadata", "annotations"), is_map=True, compares="Nothing", removes=False)
"""Our annotations: they go along with every patch, but say nothing that labels do not."""


def is_current(there: Object, desired: Object, fields: Iterable[Field]) -> bool:
    """True when `there` says what `desired` says, as far as we own it."""
    return all(_is_same(field, _read(there, field.path), _read(desired, field.path)) for field in fields)


def needs_another(there: Object, desired: Object, fields: Iterable[Field]) -> bool:
    """True when no patch can make `there` what is desired."""
    return not is_current(there, desired, [field for field in fields if field.is_fixed])


def build_patch(there: Object, desired: Object, fields: Iterable[Field]) -> Object:
    """A merge patch from `there` to `desired`. It names the UID, so that no successor of the same name is changed by it."""
    patch: Object = {"metadata": {"uid": there["metadata"]["uid"]}}
    for field in fields:
        now, wanted = _read(there, field.path), _read(desired, field.path)
        if field.is_fixed or (field.is_sparse and _is_same(field, now, wanted)):
            continue
        if field.is_map:
            gone = {key: None for key in now or {} if key not in (wanted or {})} if field.removes else {}
            wanted = gone | (wanted or {})
        _write(patch, field.path, wanted)
    return patch


def _is_same(field: Field, now: Any, wanted: Any) -> bool:
    if field.is_fixed:
        return wanted is None or bool(now == wanted)
    if not field.is_map:
        return _says(now, wanted, field.ignores)
    there, desired = now or {}, wanted or {}
    if field.compares == "Everything":
        return bool(there == desired)
    return field.compares == "Nothing" or all(there.get(key) == item for key, item in desired.items())


def _says(now: Any, wanted: Any, ignores: frozenset[str]) -> bool:
    """Whether `now` says all of `wanted`, to which servers add defaults. What is empty says the same as what is missing."""
    if not now and not wanted:
        return True
    if isinstance(wanted, dict):
        return isinstance(now, dict) and all(_says(now.get(key), wanted[key], ignores) for key in wanted.keys() - ignores)
    if isinstance(wanted, list):
        is_list = isinstance(now, list) and len(now) == len(wanted)
        return is_list and all(_says(one, two, ignores) for one, two in zip(now, wanted, strict=True))
    return bool(now == wanted)


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _read(obj: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        obj = (obj or {}).get(key)
    return obj


def _write(patch: Object, path: tuple[str, ...], item: Any) -> None:
    *parents, last = path
    for key in parents:
        patch = patch.setdefault(key, {})
    patch[last] = item

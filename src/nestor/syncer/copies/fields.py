"""Compares an object with its desired state, in the fields that we own. Pure.

Everything else stays: server defaults, fields set by webhooks, other people's labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from nestor.api.objects import Object


@dataclass(frozen=True)
class Field:
    """One field that we own. Create it with the functions below, which take paths like `spec.ports`."""

    path: tuple[str, ...]
    is_map: bool = False
    """Compared and patched key by key; otherwise as a single value, removed once it is no longer desired. Keys that are not
    desired are removed only if everything is compared.
    """
    compares: Literal["Everything", "Desired", "Nothing"] = "Everything"
    """Which keys of a map are compared: all, only the desired ones, or none. `Desired` of a value: only if it is desired."""
    is_exact: bool = False
    """Of a list, the items' own fields count too: what the server knows in addition is a difference."""
    is_fixed: bool = False
    """Cannot be patched; a difference requires a new object."""
    ignores: frozenset[str] = frozenset()
    """Keys to ignore in the comparison, at any depth."""


def value(path: str, *, ignores: Iterable[str] = ()) -> Field:
    """A value that must contain what is desired. What it has besides, keys or fields of items, does not count, whether the server
    has added it or the source has dropped it. For a dictionary that is to equal the source's, use `mapping`.
    """
    return Field(_split(path), ignores=frozenset(ignores))


def exact(path: str) -> Field:
    """A list that we own as a whole and whose items have no defaults, or none that we do not write."""
    return Field(_split(path), is_exact=True)


def optional(path: str) -> Field:
    """A value that we own as long as it is desired; otherwise it is left as it is."""
    return Field(_split(path), compares="Desired")


def mapping(path: str) -> Field:
    """A map whose keys are all ours."""
    return Field(_split(path), is_map=True)


def annotation(key: str) -> Field:
    """An annotation of ours; removed once it is no longer desired, or if it never is."""
    return Field(("metadata", "annotations", key))


def fixed(path: str) -> Field:
    """An immutable field: if it differs, the object must be replaced."""
    return Field(_split(path), is_fixed=True)


LABELS = Field(("metadata", "labels"), is_map=True, compares="Desired")
"""Our labels, among others."""
ANNOTATIONS = Field(("metadata", "annotations"), is_map=True, compares="Nothing")
"""Our annotations: included in every patch, but not compared, because the labels say the same."""


def is_current(there: Object, desired: Object, fields: Iterable[Field]) -> bool:
    """True if `there` matches `desired` in all fields that we own."""
    return all(_is_same(field, _read(there, field.path), _read(desired, field.path)) for field in fields)


def needs_another(there: Object, desired: Object, fields: Iterable[Field]) -> bool:
    """True if no patch can turn `there` into `desired`."""
    return not is_current(there, desired, [field for field in fields if field.is_fixed])


def build_patch(there: Object, desired: Object, fields: Iterable[Field]) -> Object:
    """A merge patch from `there` to `desired`: what differs or is not compared. The UID protects a successor of the same name."""
    patch: Object = {"metadata": {"uid": there["metadata"]["uid"]}}
    for field in fields:
        now, wanted = _read(there, field.path), _read(desired, field.path)
        if field.is_fixed or (_is_same(field, now, wanted) and field.compares != "Nothing"):
            continue
        if field.is_map:
            gone = {key: None for key in now or {} if key not in (wanted or {})} if field.compares == "Everything" else {}
            wanted = gone | (wanted or {})
        _write(patch, field.path, wanted)
    return patch


def _is_same(field: Field, now: Any, wanted: Any) -> bool:
    if field.is_fixed:
        return wanted is None or bool(now == wanted)
    if field.is_exact:
        return bool((now or []) == (wanted or []))
    if not field.is_map:
        return (field.compares == "Desired" and wanted is None) or _says(now, wanted, field.ignores)
    there, desired = now or {}, wanted or {}
    if field.compares == "Everything":
        return bool(there == desired)
    return field.compares == "Nothing" or all(there.get(key) == item for key, item in desired.items())


def _says(now: Any, wanted: Any, ignores: frozenset[str]) -> bool:
    """Whether `now` contains `wanted`; servers may have added defaults. Empty and missing are equal."""
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

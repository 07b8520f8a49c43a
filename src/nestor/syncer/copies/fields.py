"""Compares an object with its desired state, in the fields that we own. Pure.

Everything else stays: server defaults, fields set by webhooks, other people's labels.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from nestor.api.objects import Object

How = Literal["Contains", "Wanted", "Equals", "Fixed", "Keys", "Written"]
"""`Contains`: what is there contains what is desired; servers may have added to it. `Wanted`: the same, if it is desired at all.
`Equals`: a map or a list is what is desired and nothing else. `Fixed`: it cannot be patched; a difference requires a new object.
`Keys`: of a map, the desired keys count alone. `Written`: of a map, they are in every patch, and not compared.
"""


@dataclass(frozen=True)
class Field:
    """One field that we own, removed once it is no longer desired. The functions below take paths like `spec.ports`."""

    path: tuple[str, ...]
    how: How = "Contains"
    ignores: frozenset[str] = frozenset()
    """Keys to ignore in the comparison, at any depth."""


def value(path: str, *, ignores: Iterable[str] = ()) -> Field:
    """A value that must contain what is desired. What it has besides, keys or fields of items, does not count, whether the server
    has added it or the source has dropped it. For a dictionary that is to equal the source's, use `exact`.
    """
    return Field(_split(path), ignores=frozenset(ignores))


def exact(path: str) -> Field:
    """A map whose keys are all ours, or a list whose items have no defaults, or none that we do not write."""
    return Field(_split(path), "Equals")


def optional(path: str) -> Field:
    """A value that we own as long as it is desired; otherwise it is left as it is."""
    return Field(_split(path), "Wanted")


def annotation(key: str) -> Field:
    """An annotation of ours; removed once it is no longer desired, or if it never is."""
    return Field(("metadata", "annotations", key))


def fixed(path: str) -> Field:
    """An immutable field: if it differs, the object must be replaced."""
    return Field(_split(path), "Fixed")


LABELS = Field(("metadata", "labels"), "Keys")
"""Our labels, among others."""
ANNOTATIONS = Field(("metadata", "annotations"), "Written")
"""Our annotations: not compared, because the labels say the same."""


def is_current(there: Object, desired: Object, fields: Iterable[Field]) -> bool:
    """True if `there` matches `desired` in all fields that we own."""
    return all(_is_same(field, _read(there, field.path), _read(desired, field.path)) for field in fields)


def needs_another(there: Object, desired: Object, fields: Iterable[Field]) -> bool:
    """True if no patch can turn `there` into `desired`."""
    return not is_current(there, desired, [field for field in fields if field.how == "Fixed"])


def build_patch(there: Object, desired: Object, fields: Iterable[Field]) -> Object:
    """A merge patch from `there` to `desired`: what differs or is not compared. The UID protects a successor of the same name."""
    patch: Object = {"metadata": {"uid": there["metadata"]["uid"]}}
    for field in fields:
        now, wanted = _read(there, field.path), _read(desired, field.path)
        if field.how == "Fixed" or (_is_same(field, now, wanted) and field.how != "Written"):
            continue
        if field.how == "Equals" and isinstance(now, dict):
            wanted = dict.fromkeys(now) | (wanted or {})
        _write(patch, field.path, wanted)
    return patch


def _is_same(field: Field, now: Any, wanted: Any) -> bool:
    if field.how in ("Fixed", "Wanted") and wanted is None:
        return True
    if field.how == "Fixed":
        return bool(now == wanted)
    if field.how == "Equals":
        return (now or None) == (wanted or None)
    if field.how == "Keys":
        return all((now or {}).get(key) == item for key, item in (wanted or {}).items())
    return field.how == "Written" or _says(now, wanted, field.ignores)


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

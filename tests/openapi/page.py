"""Writes `docs/fields.md`, what becomes of each field, from the tables: `python -m tests.openapi.page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nestor.translate.fields import TABLES, Rule
from tests.openapi import Field, read_fields, read_versions

PAGE = Path(__file__).parents[2] / "docs/fields.md"
_FIRST = {
    "PodSpec": "Pods",
    "Container": "Containers",
    "Volume": "Volumes",
    "VolumeProjection": "Projected volumes",
    "ServiceSpec": "Services",
    "ServicePort": "Ports of Services",
    "PersistentVolumeClaimSpec": "PersistentVolumeClaims",
    "NetworkPolicySpec": "NetworkPolicies",
    "PodDisruptionBudgetSpec": "PodDisruptionBudgets",
    "DeviceClaim": "ResourceClaims",
    "ExactDeviceRequest": "Requests of ResourceClaims",
}
_NOTES = {
    "PodDisruptionBudgetSpec": "Only if the class sets `placement.disruptionBudgets`; otherwise budgets hold in the nested "
    "cluster alone, and an event `NotCarried` says so."
}
"""By type: what is to be known before its table."""
_WORDS = {
    "Pass": "as it is",
    "Translate": "translated",
    "Class": "by the class",
    "Refuse": "refused",
    "Ignore": "no effect, told by an event",
    "Own": "not needed on the host",
}
_HEAD = """# What becomes of each field

Generated from `src/nestor/translate/fields`. For each field of a nested object, this page says what the object in the host
cluster has of it: the same value (*as it is*); its counterpart, such as the host's name of a Secret (*translated*); what the
NestedClass allows (*by the class*, with the class's field, and an event on the object if it does not); nothing, because the
object is *refused* with an event; or nothing, which an event says. Fields that are *not needed on the host* have done their work
in the nested cluster, or go with another one. Fields that are newer than {newest} have no effect, and an event says so. Fields
carried as they are include everything below them, apart from what the last table names.
"""


def build_page() -> str:
    """The page."""
    found = read_fields()
    of_type = {owner: [field for field in found if field.owner == owner] for owner in _FIRST}
    parts = [_HEAD.format(newest=read_versions()[-1])]
    for owner, title in _FIRST.items():
        note = f"{_NOTES[owner]}\n\n" if owner in _NOTES else ""
        parts.append(f"## {title}\n\n{note}{_build_table(of_type[owner], is_whole=False)}\n")
    deeper = [
        field
        for field in found
        if field.owner not in _FIRST and field.owner in TABLES and _find(field).how not in ("Pass", "Translate")
    ]
    deeper = [field for field in deeper if field.owner != "EphemeralContainer"]
    parts.append(f"## Inside others\n\n{_build_table(deeper, is_whole=True)}\n")
    return "\n".join(parts)


def _build_table(found: list[Field], *, is_whole: bool) -> str:
    rows = [_build_row(field, is_whole=is_whole) for field in found]
    return "\n".join(["| field | on the host | |", "|---|---|---|", *rows])


def _build_row(field: Field, *, is_whole: bool) -> str:
    rule = _find(field)
    name = f"{field.owner}.{field.name}" if is_whole else field.name
    return f"| `{name}`{_since(field)} | {_WORDS[rule.how]} | {'; '.join(_note(rule))} |"


def _since(field: Field) -> str:
    versions = field.versions
    if not versions:
        return ""
    return f" (from {versions[0]} on)" if versions[-1] == read_versions()[-1] else f" ({', '.join(versions)})"


def _note(rule: Rule) -> Iterator[str]:
    if rule.note:
        yield ", ".join(f"`{name}`" for name in rule.note.split(", ")) if rule.how == "Class" else rule.note
    if rule.changes:
        yield {"Patch": "may change later", "Resize": "may be resized", "Add": "may be added later"}[rule.changes]


def _find(field: Field) -> Rule:
    return TABLES[field.owner][field.name]


if __name__ == "__main__":
    PAGE.write_text(build_page())

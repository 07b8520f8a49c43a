"""The page about what the host gets of each field, from the tables."""

from collections.abc import Iterator

from nestor.pods.translate.fields import TABLES, Rule
from tests.openapi import Field, read_fields, read_versions

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
    "cluster alone, and an event `NotCarried` reports it."
}
"""By type: what is to be known before its table."""
_WORDS = {
    "Pass": "unchanged",
    "Translate": "translated",
    "Class": "by the class",
    "Refuse": "refused",
    "Ignore": "no effect, reported in an event",
    "Own": "not needed on the host",
}
_HEAD = """# Fields on the host

What the host cluster gets of each field of a nested object. Generated from `src/nestor/pods/translate/fields`. An unchanged field
includes everything below it, except for what the last table names. Fields that are newer than {newest} have no effect, which an
event reports.

| on the host | meaning |
|---|---|
| unchanged | the same value |
| translated | its counterpart, such as the host's name of a Secret |
| by the class | what the named field of the NestedClass allows; otherwise an event on the object |
| refused | the object is not created on the host, and an event says why |
| no effect | ignored, and an event says that |
| not needed on the host | used in the nested cluster, or part of another field |
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

"""What becomes of a field of a nested object: one rule for each, in tables by type."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

How = Literal["Pass", "Translate", "Class", "Refuse", "Ignore", "Own"]
"""`Pass`: the host object has it as it is. `Translate`: the host object has its counterpart. `Class`: the class decides.
`Refuse`: the object is refused. `Ignore`: it has no effect, and its owner is told. `Own`: there is nothing to tell, because it
has done its work in the nested cluster, or goes with another field.
"""


@dataclass(frozen=True)
class Rule:
    how: How
    note: str = ""
    """`Class`: the field of the class. `Refuse`, `Ignore`: why, as the message's end. `Own`: why there is nothing to tell."""
    changes: Literal["", "Patch", "Resize", "Add"] = ""
    """How a later change reaches the host object, if the API allows one: in a patch, as a resize, or as a debug container."""


Table = Mapping[str, Rule]
"""The rules of one type, by field."""

PASS = Rule("Pass")
TRANSLATE = Rule("Translate")
POD_SECURITY = Rule("Class", "namespace.podSecurity")


def table(passed: str = "", translated: str = "", refused: str = "", **others: Rule) -> Table:
    """A table from the names of the fields, divided by blanks."""
    groups = ((passed, PASS), (translated, TRANSLATE), (refused, Rule("Refuse")))
    return {name: rule for names, rule in groups for name in names.split()} | others


def find(fields: Table, how: How, note: str | None = None) -> tuple[str, ...]:
    """Names of the fields with this rule, sorted; with `note`, only those that have it."""
    return tuple(sorted(name for name, rule in fields.items() if rule.how == how and note in (None, rule.note)))


def find_unknown(path: str, there: Mapping[str, Any], fields: Table) -> Iterator[str]:
    """One message per field of an object that is in no table: its API server is newer than this version of Nestor."""
    for name in sorted(key for key in there.keys() - fields.keys() if there[key]):
        yield f"`{path}.{name}` is set, but this version of Nestor does not know the field"


def find_changing(fields: Table) -> tuple[str, ...]:
    return tuple(sorted(name for name, rule in fields.items() if rule.changes == "Patch"))

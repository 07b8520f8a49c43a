"""Keys of an AppDef that mean nothing here: each is named, with the known key that its author may have meant. Pure."""

import difflib
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from pydantic import BaseModel

from nestor.api import faults

WARNING_LIMIT = 10
"""Unknown keys that are told at once; the others are counted."""
_KEY_LIMIT = 60
"""Characters of a key that may be a misspelt one."""
_KNOWN_LIMIT = 100
"""A user's AppDef may have so many commands and parameters that a look at all of them takes seconds."""
_LIKENESS = 0.75
_PART_LIMIT = 4
"""The shortest part of a key that may stand for it, as `port` for `service_port`."""


class UnknownKey(NamedTuple):
    """A key that nothing reads."""

    where: str
    key: str
    known: Collection[str]
    """Those that may stand in its place."""
    note: str = ""
    """What to say of it where it is known elsewhere."""


def find_unknown(model: BaseModel, where: str, spelled: dict[str, str] | None = None) -> Iterator[UnknownKey]:
    """What the model and its parts kept without knowing it; `spelled`: how the AppDef writes some fields."""
    fields = {name: field.alias or name for name, field in type(model).model_fields.items()}
    for key in model.model_extra or ():
        yield UnknownKey(where, key, fields.values())
    for name, alias in fields.items():
        value = getattr(model, name)
        field = faults.name_field(where, [(spelled or {}).get(alias, alias)])
        if isinstance(value, BaseModel):
            yield from find_unknown(value, field)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from find_unknown(item, f"{field}[{index}]")


def warn_of_unknown(unknown: Iterable[UnknownKey]) -> list[str]:
    """A sentence for each of the first ones, and one for all others."""
    found = list(unknown)
    sentences = [_describe(item) for item in found[:WARNING_LIMIT]]
    more = len(found) - WARNING_LIMIT
    return [*sentences, f"{more} more unknown keys of the AppDef, ignored"] if more > 0 else sentences


def find_nearest(key: str, known: Collection[str]) -> str | None:
    """The known key that is most like `key`, whatever its capitals, dashes and underscores; None if none is."""
    if len(key) > _KEY_LIMIT or len(known) > _KNOWN_LIMIT:
        return None
    plain = {_simplify(name): name for name in known}
    wanted = _simplify(key)
    like = difflib.get_close_matches(wanted, plain, n=1, cutoff=_LIKENESS)
    if like:
        return plain[like[0]]
    if len(wanted) < _PART_LIMIT:
        return None
    return min((name for part, name in plain.items() if wanted in part), key=len, default=None)


def suggest(given: str, known: Collection[str], mark: str = "'") -> str:
    """What to add to a sentence about a name that does not exist; empty if none is like it."""
    nearest = find_nearest(given, known)
    return f"; did you mean {mark}{faults.name_field('', [nearest])}{mark}?" if nearest else ""


def _describe(item: UnknownKey) -> str:
    field = faults.name_field(item.where, [item.key])
    return f"`{field}` {item.note}" if item.note else f"`{field}`: unknown key, ignored{suggest(item.key, item.known, '`')}"


def _simplify(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")

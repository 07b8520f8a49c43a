"""One entry of `templates` → one step of the plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from nestor.api.appdef_keys import UnknownKey
from nestor.apps.steps.fields import Fields, list_words
from nestor.apps.steps.plan import Remote, Step
from nestor.apps.steps.types import TYPES, Entry, StepType

COUNT_LIMIT = 10_000
SECONDS_LIMIT = 86_400


@dataclass(frozen=True)
class Defaults:
    """Settings of steps that set none of their own."""

    retry: int
    retry_sleep: int
    render: bool


def read(entry: Entry, defaults: Defaults) -> Step | None:
    """The step, with the default for each setting that it leaves out; None if it has faults."""
    fields = entry.fields
    before = len(fields.faults)
    kind = fields.read_choice("type", tuple(TYPES))
    if kind is None and fields.get("type") is None:
        fields.fault("type", f"must be set: {list_words(tuple(TYPES))}")
    row = TYPES.get(kind or "")
    common = _read_common(fields, defaults)
    if row is None:
        return None
    content = row.read(entry)
    _refuse_misplaced(fields, kind or "", row)
    if len(fields.faults) > before:
        return None
    return Step.model_validate({"name": entry.name, "type": kind, "timeout_seconds": row.timeout_seconds} | content | common)


def find_unknown(fields: Fields, where: str) -> list[UnknownKey]:
    """The keys of an entry that `read` has not asked for. A type that is unknown says nothing about them."""
    kind = fields.get("type")
    elsewhere = frozenset().union(*map(_list_keys, TYPES))
    known = fields.asked if isinstance(kind, str) and kind in TYPES else elsewhere
    found = []
    for key in fields.unread:
        if key not in known:
            note = f"has no effect for type '{kind}'" if key in elsewhere else ""
            found.append(UnknownKey(where, key, known, note))
    return found


@cache
def _list_keys(kind: str) -> frozenset[str]:
    """The keys that steps of a type may have: those that are asked for where there are none."""
    fields = Fields({"type": kind}, "", [])
    read(Entry(fields, "", Remote(), {}), Defaults(0, 0, False))
    return fields.asked


def _read_common(fields: Fields, defaults: Defaults) -> dict[str, int]:
    """The keys of every type."""
    retry, sleep = fields.read_count("retry", COUNT_LIMIT), fields.read_count("retry_sleep", SECONDS_LIMIT)
    timeout = fields.read_count("timeout_seconds", SECONDS_LIMIT, least=1)
    render = fields.read_flag("render")
    return {
        "render": defaults.render if render is None else render,
        "retry": defaults.retry if retry is None else retry,
        "retry_sleep_seconds": defaults.retry_sleep if sleep is None else sleep,
    } | ({"timeout_seconds": timeout} if timeout else {})


def _refuse_misplaced(fields: Fields, kind: str, row: StepType) -> None:
    """Keys that mean something elsewhere and would do nothing here: their author counts on them."""
    if "format" not in row.takes and fields.get("format") not in (None, "file"):
        fields.fault("format", f"may be 'url' only for {_name_types('format')}")
    if "server_side" not in row.takes and fields.read_flag("server_side"):
        fields.fault("server_side", f"may be set only for {_name_types('server_side')}")
    if "namespace" not in row.takes and fields.get("namespace") is not None:
        why = ": the script passes it to the tools that it calls" if row.is_script else ""
        fields.fault("namespace", f"may not be set for type '{kind}'{why}")
    if fields.get("sha256") is not None and not ("sha256" in row.takes and fields.get("format") == "url"):
        fields.fault("sha256", "may be set only together with `format: url`: files of the image need no checksum")


def _name_types(key: str) -> str:
    """The types that take a shared key, as the end of a sentence."""
    words = [f"'{name}'" for name, row in TYPES.items() if key in row.takes]
    return f"type {words[0]}" if len(words) == 1 else f"types {', '.join(words[:-1])} and {words[-1]}"

"""How a job narrows its class's rules about overflow: a wish that would let more pods out has no effect, and is told. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, get_args

from nestor.api.placement import Overflow, OverflowMode
from nestor.api.placement_rules import JobOverflow

_MODES: tuple[OverflowMode, ...] = get_args(OverflowMode)
"""Each lets more pods out than the one before."""
_LIMITS = ("local_parallelism", "backend_parallelism")


def narrow(said: Overflow, wish: JobOverflow) -> Overflow:
    """The class's rules as they hold for the job. What it wishes beyond them comes to what the class says."""
    changes: dict[str, Any] = {}
    if wish.mode is not None:
        changes["mode"] = min(said.mode, wish.mode, key=_MODES.index)
    if wish.gpu in _list_gpu_places(said):
        changes["gpu"] = wish.gpu
    if wish.backends is not None:
        changes["backends"] = [item for item in said.backends if item.name in wish.backends]
    if wish.completions_trigger is not None and _is_trigger_allowed(said, wish.completions_trigger):
        changes["completions_trigger"] = wish.completions_trigger
    for field in _LIMITS:
        if (own := getattr(wish, field)) is not None and not _is_fixed(field, said, wish):
            changes[field] = min(filter(None, (own, getattr(said, field))), default=0)
    return replace(said, **changes)


def find_excess(said: Overflow | None, wish: JobOverflow) -> Iterator[str]:
    """Why the wish is more than the class allows. `said`: None if the class lets no pod out."""
    backends = [item.name for item in said.backends] if said else []
    for name in wish.backends or []:
        if name not in backends:
            yield f"`spec.placement.overflow.backends` must not contain '{name}': {list_allowed(backends)}"
    if said is None or not backends:
        fields = [("mode", wish.mode not in (None, "Never")), ("gpu", wish.gpu == "Backend")]
        if asked := [f"`spec.placement.overflow.{field}`" for field, is_asked in fields if is_asked]:
            yield f"{', '.join(asked)} may not ask for a backend: the class allows none"
        return
    yield from _find_wider_places(said, wish)
    yield from _find_wider_numbers(said, wish)


def list_allowed(names: Iterable[str]) -> str:
    """What the class allows, for a message."""
    return "the class allows " + (", ".join(f"'{item}'" for item in names) or "none")


def _find_wider_places(said: Overflow, wish: JobOverflow) -> Iterator[str]:
    modes = _MODES[: _MODES.index(said.mode) + 1]
    for field, own, allowed in (("mode", wish.mode, modes), ("gpu", wish.gpu, _list_gpu_places(said))):
        if own is not None and own not in allowed:
            yield f"`spec.placement.overflow.{field}` may not be '{own}': {list_allowed(allowed)}"


def _find_wider_numbers(said: Overflow, wish: JobOverflow) -> Iterator[str]:
    trigger, least = wish.completions_trigger, said.completions_trigger
    if trigger is not None and not _is_trigger_allowed(said, trigger):
        allowed = f"{least} or more, and 0" if least else "only 0"
        yield f"`spec.placement.overflow.completionsTrigger` may not be {trigger}: the class allows {allowed}"
    for field in _LIMITS:
        own, most = getattr(wish, field), getattr(said, field)
        spelled = JobOverflow.model_fields[field].alias
        if own is not None and _is_fixed(field, said, wish):
            if own != most:
                yield f"`spec.placement.overflow.{spelled}` may not be {own} under `mode: WhenFull`: the class allows only {most}"
        elif own is not None and most and not 0 < own <= most:
            yield f"`spec.placement.overflow.{spelled}` may not be {own or '0, for no limit'}: the class allows at most {most}"


def _is_fixed(field: str, said: Overflow, wish: JobOverflow) -> bool:
    """Under `WhenFull`, what is above the limit here goes out: a lower one would send out more, and a higher one is no limit."""
    return field == "local_parallelism" and said.mode == "WhenFull" and wish.mode != "Never"


def _list_gpu_places(said: Overflow) -> tuple[str, ...]:
    if said.gpu != "Any":
        return (said.gpu,)
    # Under `Never`, `Any` means that pods with a GPU stay as well.
    return ("Host", "Any") if said.mode == "Never" else ("Host", "Backend", "Any")


def _is_trigger_allowed(said: Overflow, trigger: int) -> bool:
    """A lower number of completions sends more Jobs out, and 0 none."""
    least = said.completions_trigger
    return trigger == 0 or said.mode == "Always" or 0 < least <= trigger

"""Which clusters of the pools go, and for which class the next one is made. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LIFE_SECONDS = 24 * 3600.0
START_SECONDS = 600.0
"""How long one may take to become ready."""


@dataclass(frozen=True)
class Pool:
    size: int
    key: str
    """Digest of what its clusters are made of."""


@dataclass(frozen=True)
class Member:
    namespace: str
    uid: str
    key: str
    class_name: str | None
    """The class whose status has it; None: nobody knows who made it."""
    age: float
    """In seconds. Of one that was ready before, and is not: since it was."""
    is_ready: bool = False
    is_given: bool = False
    """A job's status has it."""
    is_ending: bool = False


def decide(
    pools: Mapping[str, Pool], members: Sequence[Member], *, is_busy: bool = False, is_short: bool = False, last: str = ""
) -> tuple[list[Member], str | None]:
    """Those that go, and the class for which one is made.

    `is_busy`: a job is starting. `is_short`: a job's pod lacks room. `last`: the class that got the last one.
    """
    mine = [item for item in members if not item.is_given]
    there = sorted((item for item in mine if not item.is_ending), key=lambda item: (not item.is_ready, item.age))
    kept: list[Member] = []
    for item in there:
        pool = pools.get(item.class_name or "")
        if pool is not None and _is_good(item, pool) and _count(kept, item.class_name) < pool.size:
            kept.append(item)
    drop = [item for item in there if item not in kept]
    if is_short and kept and not drop and not any(item.is_ending for item in mine):
        return [kept[-1]], None
    if is_busy or is_short or drop or not all(item.is_ready for item in kept):
        return drop, None
    lacking = [name for name, pool in pools.items() if _count(kept, name) < pool.size]
    return [], min(lacking, key=lambda name: (name <= last, name), default=None)


def _is_good(item: Member, pool: Pool) -> bool:
    return item.key == pool.key and item.age < (LIFE_SECONDS if item.is_ready else START_SECONDS)


def _count(members: Sequence[Member], class_name: str | None) -> int:
    return sum(item.class_name == class_name for item in members)

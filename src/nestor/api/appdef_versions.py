"""Which of a class's Kubernetes versions an AppDef gets. Pure.

An AppDef names the version that its author had; years later no class offers it. Applications that run with one version of
Kubernetes mostly run with the next, so the nearest newer one is taken, and the job says so. A version that the job itself
asks for is a user's own and recent wish: there, another version is never taken.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

_FORM = re.compile(r"v([0-9]{1,3})\.([0-9]{1,3})", re.ASCII)


class Offer(NamedTuple):
    """The version that is taken, and what the user should know about it; empty if it is the one that was asked for."""

    version: str
    note: str = ""


def find_offer(wanted: str, offered: Collection[str]) -> Offer | None:
    """`wanted`, or the nearest newer version; None if all that are offered are older. Versions are of the form `v1.36`."""
    if wanted in offered:
        return Offer(wanted)
    least = _read(wanted)
    newer = [version for version in offered if least is not None and (_read(version) or least) > least]
    if not newer:
        return None
    nearest = sort_versions(newer)[0]
    return Offer(
        nearest, f"the AppDef's Kubernetes version '{wanted}' is not offered; {nearest}, the nearest newer one, is taken"
    )


def sort_versions(versions: Iterable[str]) -> list[str]:
    """By their numbers, the highest last."""
    return sorted(versions, key=lambda version: _read(version) or (0, 0))


def _read(version: str) -> tuple[int, int] | None:
    form = _FORM.fullmatch(version)
    return (int(form[1]), int(form[2])) if form else None

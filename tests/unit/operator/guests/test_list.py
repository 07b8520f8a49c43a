"""The list of guests."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from nestor.operator import guests
from nestor.operator.guest import Guest
from nestor.operator.job.guests import GUESTS


def test_every_guest_is_in_the_list() -> None:
    for module in walk_packages(guests.__path__, f"{guests.__name__}."):
        import_module(module.name)
    ours = {found for found in Guest.__subclasses__() if found.__module__.startswith(guests.__name__)}
    assert {found.__name__ for found in ours - {*GUESTS}} == set(), "add it to operator/job/guests.py"

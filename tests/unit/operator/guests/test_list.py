"""The list of guests, and the contract of their imports."""

import tomllib
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, walk_packages

from nestor.operator import guests
from nestor.operator.guest import Guest
from nestor.operator.job.guests import GUESTS


def test_every_guest_is_in_the_list() -> None:
    for module in walk_packages(guests.__path__, f"{guests.__name__}."):
        import_module(module.name)
    ours = {found for found in Guest.__subclasses__() if found.__module__.startswith(guests.__name__)}
    assert {found.__name__ for found in ours - {*GUESTS}} == set(), "add it to operator/job/guests.py"


def test_every_guest_is_in_the_contract_of_their_imports() -> None:
    contracts = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = [item for item in contracts if item["name"] == "The operator's guests do not know each other"]
    found = {f"{guests.__name__}.{module.name}" for module in iter_modules(guests.__path__)}
    assert found == {*contract["modules"]}, "add it to pyproject.toml"

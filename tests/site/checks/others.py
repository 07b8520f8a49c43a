"""`make`, `pip` and `python`: targets, variables, extras and modules."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections.abc import Collection, Iterator

from tests.site.checks.files import ROOT, find_missing


def check_make(words: list[str], _files: Collection[str]) -> Iterator[str]:
    """Targets that the Makefile has, variables that it or what it runs reads."""
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", text, re.MULTILINE))
    for word in words:
        name, is_variable, _ = word.partition("=")
        if is_variable and not re.search(rf"\b{name}\b", text):
            yield f"the Makefile does not know {name}"
        if not is_variable and word not in targets and not word.startswith("-") and word != "…":
            yield f"there is no target '{word}'"


def check_pip(words: list[str], _files: Collection[str]) -> Iterator[str]:
    """Extras that the package has."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in re.findall(r"(?:\.|nestor)\[(\w+)\]", " ".join(words)):
        if name not in extras:
            yield f"the package has no extra '{name}'"


def check_python(words: list[str], files: Collection[str]) -> Iterator[str]:
    """Modules and files."""
    if words[:1] == ["-m"]:
        if importlib.util.find_spec(words[1]) is None:
            yield f"there is no module '{words[1]}'"
        words = [word for word in words[2:] if word.endswith(".py")]
    yield from find_missing([word for word in words if word.endswith(".py")], files)

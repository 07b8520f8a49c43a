"""`make`, `pip` and `python`: targets, variables, extras and modules."""

import argparse
import contextlib
import functools
import importlib.util
import io
import re
import tomllib
from collections.abc import Iterator

import devcluster.__main__
import devcluster.build.__main__
import devcluster.conformance.__main__
from tests.site.checks.files import ROOT, Place, find_missing

_PARSERS = {
    "devcluster": devcluster.__main__.build_parser,
    "devcluster.build": devcluster.build.__main__.build_parser,
    "devcluster.conformance": devcluster.conformance.__main__.build_parser,
}
"""Of modules with arguments. The others take none, or files."""


def check_make(words: list[str], _place: Place) -> Iterator[str]:
    """Targets that the Makefile has, variables that it or what it runs reads."""
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for word in words:
        name, is_variable, _ = word.partition("=")
        if is_variable and name not in _list_words():
            yield f"neither the Makefile nor devcluster knows {name}"
        if not is_variable and word not in targets and not word.startswith("-") and word != "…":
            yield f"there is no target '{word}'"


@functools.cache
def _list_words() -> frozenset[str]:
    """Those of the Makefile, and of the development cluster that its targets run."""
    files = [ROOT / "Makefile", *(ROOT / "devcluster").rglob("*.py")]
    return frozenset(word for file in files for word in re.findall(r"\w+", file.read_text()))


def check_pip(words: list[str], _place: Place) -> Iterator[str]:
    """Extras that the package has."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in re.findall(r"(?:\.|nestor)\[(\w+)\]", " ".join(words)):
        if name not in extras:
            yield f"the package has no extra '{name}'"


def check_python(words: list[str], place: Place) -> Iterator[str]:
    """Modules, their arguments, and files."""
    if words[:1] == ["-m"]:
        if importlib.util.find_spec(words[1]) is None:
            yield f"there is no module '{words[1]}'"
        if words[1] in _PARSERS:
            yield from _parse(_PARSERS[words[1]](), words[2:])
        words = [word for word in words[2:] if word.endswith(".py")]
    yield from find_missing([word for word in words if word.endswith(".py")], place)


def _parse(parser: argparse.ArgumentParser, arguments: list[str]) -> Iterator[str]:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser.parse_args(arguments)
    except SystemExit:
        yield said.getvalue().strip().splitlines()[-1]

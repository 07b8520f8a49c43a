"""What is wrong with a command, without running it: options, resources, fields, values, files and targets that do not exist."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from tests.site.checks import helm, kubectl, nestor, others

Check = Callable[[list[str], Collection[str]], Iterator[str]]

_CHECKS: dict[str, Check] = {
    "nestor": nestor.check,
    "kubectl": kubectl.check,
    "helm": helm.check,
    "make": others.check_make,
    "pip": others.check_pip,
    "python": others.check_python,
}


def find_faults(words: list[str], files: Collection[str] = ()) -> list[str]:
    """What is wrong; `files`: those that the page has its reader make."""
    if words[:2] == ["kubectl", "nestor"]:
        words = words[1:]
    check = _CHECKS.get(words[0])
    return list(check(words[1:], files)) if check else []

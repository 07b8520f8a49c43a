"""What is wrong with a command, without running it: options, resources, fields, values, files and targets that do not exist."""

from collections.abc import Callable, Iterator

from tests.site.checks import helm, kubectl, nestor, others
from tests.site.checks.files import TOP, Place

Check = Callable[[list[str], Place], Iterator[str]]

_CHECKS: dict[str, Check] = {
    "nestor": nestor.check,
    "kubectl": kubectl.check,
    "helm": helm.check,
    "make": others.check_make,
    "pip": others.check_pip,
    "python": others.check_python,
}


def find_faults(words: list[str], place: Place = TOP) -> list[str]:
    """What is wrong, also with a command that another one runs: `nestor exec JOB -- COMMAND`."""
    if words[:2] == ["kubectl", "nestor"]:
        words = words[1:]
    check = _CHECKS.get(words[0])
    inner = words[words.index("--") + 1 :] if "--" in words else []
    return [*(check(words[1:], place) if check else ()), *(find_faults(inner, place) if inner else ())]

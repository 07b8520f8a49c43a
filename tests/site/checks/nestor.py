"""`nestor`: by the command line's own parser. Nothing is run: its callbacks are not called."""

from collections.abc import Iterator
from enum import Enum
from typing import Any

from nestor.__main__ import PROCESSES
from tests.reference.cli import read_commands
from tests.site.checks.files import Place, find_missing

_HELP = {"-h", "--help"}
_FILES = {"validate": "files", "convert": "file", "run": "file"}
"""The parameter of a command that names files which are to be there."""


def check(words: list[str], place: Place) -> Iterator[str]:
    """Faults of the arguments of `nestor`."""
    group = read_commands()
    try:
        options, rest = _parse(group, words)
    except ValueError as error:
        yield str(error)
        return
    if not rest:
        if not options and not _HELP & set(words):
            yield "the command is missing"
        return
    name, arguments = rest[0], rest[1:]
    if name in PROCESSES or name not in group.commands:
        if name not in PROCESSES and name != "COMMAND":
            yield f"there is no command '{name}'"
        return
    command = group.commands[name]
    if hasattr(command, "commands") and arguments and arguments[0] in command.commands:
        command, arguments = command.commands[arguments[0]], arguments[1:]
    try:
        found, left = _parse(command, arguments)
    except ValueError as error:
        yield f"{name}: {error}"
        return
    if left:
        yield f"{name}: too many arguments: {' '.join(left)}"
    if not _HELP & set(arguments):
        yield from _check_values(command, found)
        given = found.get(_FILES.get(name, "")) or ()
        yield from find_missing([given] if isinstance(given, str) else given, place)


def _parse(command: Any, arguments: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Values by parameter, and what is left; without types, defaults and callbacks."""
    parser = command.make_parser(command.context_class(command, info_name=command.name, **command.context_settings))
    try:
        found, left, _ = parser.parse_args(args=[word for word in arguments if word not in _HELP])
    except Exception as error:
        raise ValueError(getattr(error, "message", str(error))) from error
    return found, left


def _check_values(command: Any, found: dict[str, Any]) -> Iterator[str]:
    for param in command.params:
        value = found.get(param.name)
        if param.required and not value:
            yield f"{command.name}: `{param.name}` is missing"
        kind = param.type_descriptor.annotation
        if isinstance(kind, type) and issubclass(kind, Enum) and isinstance(value, str):
            allowed = [str(item.value) for item in kind]
            if not set(value.split("|")) <= set(allowed):
                yield f"{command.name}: {param.opts[0]} must be one of {', '.join(allowed)}, not '{value}'"

"""The page about the commands, from their own definitions. Pure."""

import textwrap
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from nestor.__main__ import add_pages
from nestor.clients.cli.main import EPILOG, app
from tests.reference.words import escape, join

_HEAD = """# Commands

Every command of `nestor` with its arguments and options. Built from the command line's own definitions by
`python -m tests.reference`; `nestor COMMAND --help` prints the same. [The command line](../cli.md) shows the commands at work.
"""
_VALUES = {int: "NUMBER", Path: "FILE"}
_SKIPPED = {"help", "install_completion", "show_completion"}


def read_commands() -> Any:
    """The whole command line, as its library parses it."""
    if not any(item.name == "ui" for item in app.registered_commands):
        add_pages()
    return typer.main.get_command(app)


def build_page() -> str:
    """The page."""
    group = read_commands()
    shown = [command for command in group.commands.values() if not command.hidden]
    parts = [_HEAD, *_write_options("## Options of all commands\n\nThey stand before the command's name.", group)]
    for command in shown:
        parts += _write_command(command, command.name)
        for inner in getattr(command, "commands", {}).values():
            parts += _write_command(inner, f"{command.name} {inner.name}")
    parts.append(f"## Exit codes and colors\n\n{' '.join(EPILOG.split())}\n")
    return "\n".join(parts)


def _write_command(command: Any, name: str) -> Iterator[str]:
    arguments = " ".join(_write_argument(item) for item in command.params if item.param_type_name == "argument")
    yield f"## {name}\n"
    yield f"`nestor {name} [OPTIONS]{' ' + arguments if arguments else ''}`\n"
    said, _, examples = command.help.partition("\n\n\b\nExamples:\n")
    yield "\n\n".join(" ".join(part.split()) for part in said.split("\n\n")) + "\n"
    if examples:
        yield f"```bash\n{textwrap.dedent(examples)}\n```\n"
    rows = [
        f"| `{escape(_write_argument(item))}` | {escape(item.help or '')} |"
        for item in command.params
        if item.param_type_name == "argument"
    ]
    if rows:
        yield "\n".join(["| argument | |", "|---|---|", *rows]) + "\n"
    yield from _write_options("", command)


def _write_options(title: str, command: Any) -> Iterator[str]:
    rows = [
        _write_option(item)
        for item in command.params
        if item.param_type_name == "option" and item.name not in _SKIPPED and not item.hidden
    ]
    if title:
        yield f"{title}\n"
    if rows:
        yield "\n".join(["| option | |", "|---|---|", *rows]) + "\n"


def _write_option(option: Any) -> str:
    kind = option.type_descriptor.annotation
    choices = [item.value for item in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []
    value = "" if option.is_flag else f" {option.metavar or _VALUES.get(kind, 'TEXT')}"
    names = [f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts)]
    says = escape(option.help or "")
    if choices:
        says += f" One of {join([f'`{item}`' for item in choices], 'or')}."
    if isinstance(option.default, Enum):
        says += f" Default: `{option.default.value}`."
    return f"| {', '.join(names)} | {says} |"


def _write_argument(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    return name if argument.required else f"[{name}]"

"""The terminal, or the file or pipe in its place: where colors, symbols and live lines are allowed.

Results go to standard output, alone, so that scripts can take them; progress, notes and problems go to standard error.
"""

import os
import sys
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.text import Text
from rich.theme import Theme

THEME = Theme(
    {
        "good": "green",
        "bad": "bold red",
        "warn": "yellow",
        "busy": "cyan",
        "dim": "bright_black",
        "name": "bold",
        "head": "bold",
        "url": "underline cyan",
    },
    inherit=False,
)

PLAIN_WIDTH = 100_000
"""A file has no right edge: nothing is wrapped or cut in it."""


@dataclass(frozen=True)
class Symbols:
    good: str = "✓"
    bad: str = "✗"
    warn: str = "!"
    busy: str = "●"
    waiting: str = "○"
    retry: str = "↻"
    advice: str = "→"


ASCII = Symbols("+", "x", "!", "*", "-", "~", "->")


def symbols(console: Console) -> Symbols:
    return Symbols() if console.encoding.startswith("utf") else ASCII


def out(*, is_cut: bool = True) -> Console:
    """Standard output; lines too long for a terminal are cut or wrapped, or else left to the terminal, as kubectl does."""
    return _build(is_error=False, is_cut=is_cut)


def err() -> Console:
    return _build(is_error=True)


def is_live() -> bool:
    """Whether lines may be redrawn: both outputs are a terminal that can, and nobody asked for plain text."""
    terminals = sys.stdout.isatty() and sys.stderr.isatty()
    return terminals and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def _build(*, is_error: bool, is_cut: bool = True) -> Console:
    stream = sys.stderr if is_error else sys.stdout
    is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    return Console(
        stderr=is_error,
        theme=THEME,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        force_terminal=is_terminal,
        width=None if is_terminal and is_cut else PLAIN_WIDTH,
        no_color=True if os.environ.get("NO_COLOR") or not is_terminal else None,
    )


def show(part: RenderableType, *, target: Console | None = None) -> None:
    """A page or table, by default on standard output."""
    target = target or out()
    if target.width < PLAIN_WIDTH:
        target.print(part)
        return
    with target.capture() as captured:
        target.print(part)
    # Padding and columns extend to the edge, which is far away in a file.
    target.file.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))


def clean(text: str) -> str:
    """Text without control characters, so that it cannot control the user's terminal. Newlines and tabs stay."""
    return "".join(
        character if character in "\n\t" or (character.isprintable() or character == " ") else "\N{REPLACEMENT CHARACTER}"
        for character in text.replace("\r\n", "\n")
    )


def tell_problem(message: str, hint: str = "") -> None:
    console = err()
    console.print(Text.assemble(("error: ", "bad"), clean(message)), soft_wrap=True)
    if hint:
        console.print(Text.assemble(("hint: ", "warn"), clean(hint)), soft_wrap=True)


def tell(message: str, *, mark: str = "", style: str = "") -> None:
    """A note for the user, beside the result."""
    console = err()
    shown = getattr(symbols(console), mark) + " " if mark else ""
    console.print(Text.assemble((shown, style or mark), clean(message)), soft_wrap=True)

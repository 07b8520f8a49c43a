"""Output as it was agreed on, in tests/golden/cli. NESTOR_REWRITE_GOLDEN=1 writes it anew."""

import io
import os
from pathlib import Path

from rich.console import Console, RenderableType

from nestor.clients.cli.console import PLAIN_WIDTH, THEME, show

FOLDER = Path(__file__).parents[3] / "golden/cli"
FORMS = ("terminal", "plain")


def render(part: RenderableType, form: str) -> str:
    """As a terminal of 100 columns gets it, colors included, or as a file does."""
    stream = io.StringIO()
    is_terminal = form == "terminal"
    console = Console(
        file=stream,
        theme=THEME,
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=is_terminal,
        no_color=not is_terminal,
        color_system="standard" if is_terminal else None,
        width=100 if is_terminal else PLAIN_WIDTH,
        legacy_windows=False,
    )
    show(part, target=console)
    return "".join(line.rstrip() + "\n" for line in stream.getvalue().splitlines()) if is_terminal else stream.getvalue()


def check(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("NESTOR_REWRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()

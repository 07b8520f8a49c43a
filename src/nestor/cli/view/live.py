"""A job that is being followed in a terminal: what is redrawn several times a second. Pure."""

from __future__ import annotations

import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nestor.cli.console import Symbols, clean
from nestor.cli.view import times
from nestor.cli.view.job import render_name, render_stages, render_steps
from nestor.objects import Object, status_of


def render_live(
    job: Object, now: datetime.datetime, marks: Symbols, *, elapsed: float, spinner: RenderableType, note: str = ""
) -> Group:
    """Title with the time since the start, stages, steps, and a note below them. `spinner` shows that somebody is there."""
    head = Table.grid(padding=(0, 1, 0, 0))
    head.add_row(spinner, Text.assemble(render_name(job), (f"  {times.exact(elapsed)}", "dim")))
    parts: list[RenderableType] = [head, render_stages(job, marks)]
    if status_of(job).get("steps"):
        parts += [Text(), render_steps(job, now, marks)]
    return Group(*parts, *([Text(clean(note), "warn")] if note else []))

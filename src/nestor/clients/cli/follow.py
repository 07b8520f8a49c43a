"""Following a job until it is ready or has ended: a watch delivers its states, each is told once or redrawn in place."""

import asyncio
import contextlib
import datetime
import time
from collections.abc import AsyncGenerator, Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from nestor.api.objects import Object, status_of
from nestor.api.times import now
from nestor.clients.cli import console
from nestor.clients.cli.console import Symbols, clean
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.session import Session, watch_one
from nestor.clients.cli.view import times
from nestor.clients.cli.view.facts import Ending, address, condition, find_ending
from nestor.clients.cli.view.job import render_name, render_page, render_stages, render_steps
from nestor.clients.cli.view.story import Story
from nestor.kube import kinds

NOBODY_SECONDS = 10
"""A running operator reports on a new job in far less."""


class PlainDisplay:
    """Lines for files, pipes and people who asked for no colors: each news once, with the time since the start."""

    def __init__(self, target: Console) -> None:
        self._console = target
        self._start = time.monotonic()
        self._story = Story()

    def update(self, job: Object) -> None:
        for line in self._story.tell(job, now()):
            self.note(line)

    def note(self, text: str) -> None:
        self._console.print(f"{time.monotonic() - self._start:7.1f} s  {console.clean(text)}", soft_wrap=True)


class LiveDisplay:
    """The job's stages and steps, redrawn in place several times a second."""

    def __init__(self, target: Console) -> None:
        self._marks = console.symbols(target)
        self.job: Object | None = None
        self._note = ""
        self._start = time.monotonic()
        self._spinner = Spinner("dots", style="busy")

    def update(self, job: Object) -> None:
        self.job = job
        self._note = ""

    def note(self, text: str) -> None:
        self._note = text

    def draw(self) -> Group:
        if self.job is None:
            return Group()
        return render_live(
            self.job, now(), self._marks, elapsed=time.monotonic() - self._start, spinner=self._spinner, note=self._note
        )


Display = PlainDisplay | LiveDisplay


@contextlib.contextmanager
def display() -> Iterator[Display]:
    """The display that fits the outputs. A live one leaves the last state as a page."""
    target = console.err()
    if not console.is_live():
        yield PlainDisplay(target)
        return
    shown = LiveDisplay(target)
    try:
        with Live(get_renderable=shown.draw, console=target, refresh_per_second=8, transient=True):
            yield shown
    finally:
        if shown.job is not None:
            console.show(render_page(shown.job, now(), console.symbols(target)), target=target)


async def follow(session: Session, job: Object, *, until_finished: bool, timeout: float | None = None) -> tuple[Object, Ending]:
    """Show the job until its end; the last state and how it ended. Raises `Failure` on time-out, or when it is deleted."""
    last = job
    with display() as shown:
        shown.update(job)
        wondering = asyncio.create_task(_wonder(shown, job))
        try:
            async with asyncio.timeout(timeout), contextlib.aclosing(states(session, job)) as coming:
                async for state in coming:
                    last = state
                    if condition(state, "Ready"):
                        wondering.cancel()
                    shown.update(state)
                    if ending := find_ending(state, until_finished=until_finished):
                        return state, ending
        except TimeoutError:
            name = job["metadata"]["name"]
            raise Failure(
                f"timed out waiting for job '{name}': {describe_delay(last)}",
                Code.TIMED_OUT,
                hint=f"the job keeps running; `nestor status {address(job)} --follow` follows it again",
            ) from None
        finally:
            wondering.cancel()
    raise AssertionError("a watch ends only by an exception")


async def states(session: Session, job: Object) -> AsyncGenerator[Object]:
    """Each state of the job from now on. Raises `Failure` when it is deleted."""
    meta = job["metadata"]
    watching = watch_one(session.api, kinds.NESTED_APP_JOB, meta["namespace"], meta["name"])
    async with contextlib.aclosing(watching):
        async for found in watching:
            if found is None or found["metadata"]["uid"] != meta["uid"]:
                raise Failure(f"job '{meta['name']}' was deleted")
            yield found


async def _wonder(shown: Display, job: Object) -> None:
    """Say so if the job gets no status."""
    if condition(job, "Ready"):
        return
    await asyncio.sleep(NOBODY_SECONDS)
    shown.note(describe_delay(job))


def describe_delay(job: Object) -> str:
    ready = condition(job, "Ready")
    if ready is None:
        return "no status reported yet; is the operator running? Check with `nestor doctor`"
    return f"{ready.get('reason')}: {ready.get('message')}"


def render_live(
    job: Object, now: datetime.datetime, marks: Symbols, *, elapsed: float, spinner: RenderableType, note: str = ""
) -> Group:
    """Title with the time since the start, stages, steps, and a note below them. `spinner` shows that somebody is there."""
    head = Table.grid(padding=(0, 1, 0, 0))
    head.add_row(spinner, Text.assemble(render_name(job), (f"  {times.short(elapsed)}", "dim")))
    parts: list[RenderableType] = [head, render_stages(job, marks)]
    if status_of(job).get("steps"):
        parts += [Text(), render_steps(job, now, marks)]
    return Group(*parts, *([Text(clean(note), "warn")] if note else []))

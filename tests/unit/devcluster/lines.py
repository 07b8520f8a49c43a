"""A progress that remembers what it was told."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from devcluster.progress import Stage


class Lines:
    """Remembers titles and notes."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.notes: list[str] = []
        self.on_begin: Callable[[str], object] = lambda _: None

    @contextlib.contextmanager
    def stage(self, title: str) -> Iterator[Stage]:
        """Remember the title; `on_begin` gets it before the body runs."""
        self.titles.append(title)
        self.on_begin(title)
        yield Stage(title)

    def note(self, text: str) -> None:
        """Remember the line."""
        self.notes.append(text)

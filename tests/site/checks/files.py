"""The files that commands name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
OF_THE_READER = {"-", "your-values.yaml", "AppDef.json", "job.yaml", "jobs.yaml", "jobs/", "tests/unit/providers/test_mine.py"}
"""What readers bring along."""


def find_missing(names: Iterable[str], files: Collection[str]) -> Iterator[str]:
    """Those that neither the repository has nor the reader was told to make."""
    for name in names:
        if name not in OF_THE_READER and name not in files and "…" not in name and not (ROOT / name).exists():
            yield f"there is no file '{name}'"

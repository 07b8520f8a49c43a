"""The files that commands name."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
OF_THE_READER = {"nestor-values.yaml", "AppDef.json", "job.yaml", "jobs.yaml", "jobs/", "tests/unit/pods/providers/test_mine.py"}
"""What readers bring along. An example's folder has all that its README names."""


@dataclass(frozen=True)
class Place:
    """Where a reader gives the commands of a page."""

    folder: Path = ROOT
    made: Collection[str] = ()
    """Files that the page has its reader make."""

    def has(self, name: str) -> bool:
        """Whether the file is there, or may be."""
        is_own = name == "-" or "…" in name or name in self.made or (self.folder == ROOT and name in OF_THE_READER)
        return is_own or (self.folder / name).exists()


TOP = Place()
"""Where the repository begins."""


def find_missing(names: Iterable[str], place: Place) -> Iterator[str]:
    """Those that neither the place has nor the reader was told to make."""
    yield from (f"there is no file '{name}'" for name in names if not place.has(name))

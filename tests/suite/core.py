"""Reads `tests/e2e/core.txt`: the end-to-end tests that `make test` runs."""

from pathlib import Path

FILE = Path(__file__).parents[1] / "e2e" / "core.txt"


def read_rows() -> list[tuple[int, str]]:
    """Of each line: how many nested clusters its tests start, and the beginning of their node ids."""
    lines = (line.partition("#")[0].split() for line in FILE.read_text().splitlines())
    return [(int(words[0]), words[1]) for words in lines if words]


def is_core(node: str) -> bool:
    """Whether a test with this node id is among them; a suffix of pytest-xdist's does not matter."""
    return any(node == start or node.startswith((f"{start}::", f"{start}[", f"{start}@")) for _, start in read_rows())

"""The slice of the tests that belongs to `make jobs`: for each part of the cluster some of the fastest."""

from pathlib import Path

import yaml

FILE = Path(__file__).parent / "slice.yaml"


def read() -> dict[str, list[str]]:
    """The tests' names, by part."""
    found: dict[str, list[str]] = yaml.safe_load(FILE.read_text())
    return found


def names() -> list[str]:
    """The tests' names."""
    return [name for part in read().values() for name in part]

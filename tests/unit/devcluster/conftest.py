"""The stand-ins' own tests: a change of `devcluster` wants them (tests/suite/groups.py), one of Nestor does not."""

from pathlib import Path

import pytest

STAND_INS = [Path(__file__).parent / name for name in ("cluster", "conformance", "plugin")]
"""Not the build, which makes Nestor's own image."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only `make test-full` runs them, and `make test SINCE=<commit>`."""
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in STAND_INS):
            item.add_marker(pytest.mark.slow)

"""For all kinds of tests: what a run by several workers relies on."""

from __future__ import annotations

import pytest


def pytest_collection_finish(session: pytest.Session) -> None:
    """End a run whose tests are not kept together: each worker would make the clusters that one is to make for all of a group."""
    if not session.config.getoption("loadgroup", False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
            raise pytest.UsageError(f"pytest-xdist does not see the group of {item.nodeid}")

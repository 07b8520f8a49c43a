"""For all tests of copies."""

import pytest

from nestor.syncer.copies.rows import config


@pytest.fixture(autouse=True)
def _no_lingering(monkeypatch: pytest.MonkeyPatch) -> None:
    """But where a test says so, copies go with their last pod."""
    monkeypatch.setattr(config.PodsRow, "linger_seconds", 0)

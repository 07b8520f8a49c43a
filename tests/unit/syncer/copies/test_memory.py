"""What is remembered by key is forgotten again."""

from __future__ import annotations

import pytest

from nestor.kube import RetryLater
from nestor.syncer.copies.memory import Patience, Told
from nestor.syncer.pods.events import WAITING_LIMIT


def test_the_same_is_told_once_until_it_is_over() -> None:
    told: Told[str] = Told()
    assert [told.is_news("a", "x"), told.is_news("a", "x"), told.is_news("a", "y"), told.is_news("b", "y")] == [
        True,
        False,
        True,
        True,
    ]
    told.forget("a")
    told.forget("never")
    assert told.is_news("a", "y")
    assert len(told) == 2


def test_as_many_as_there_are_come_to_an_end() -> None:
    patience: Patience[int] = Patience(1, 0)
    for key in range(WAITING_LIMIT):
        with pytest.raises(RetryLater):
            patience.wait(key, "an object")
    for key in range(WAITING_LIMIT):
        patience.wait(key, "an object")

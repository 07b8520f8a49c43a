"""What is remembered by key is forgotten again."""

from __future__ import annotations

from nestor.syncer.copies.memory import Told


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

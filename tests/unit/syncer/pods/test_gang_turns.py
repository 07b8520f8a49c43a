"""Which gang may fill a quota that several share."""

from __future__ import annotations

from nestor.syncer.pods.gang_turns import TURN_SECONDS, Turns


class Clock:
    """A time that only tests move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def build(**created: str) -> tuple[Turns, Clock]:
    """Gangs of two pods each, by when they were created."""
    clock = Clock()
    turns = Turns(clock)
    for key, time in created.items():
        for number in range(2):
            turns.join(f"{key}-{number}", key, time)
    return turns, clock


def test_a_gang_that_has_room_is_behind_nobody() -> None:
    turns, _ = build(old="1", young="2")
    assert not turns.is_behind("young")
    assert turns.refuse("young-0")
    assert not turns.is_behind("young")
    assert not turns.is_behind("old")


def test_a_pod_of_no_gang_has_no_turn() -> None:
    turns, _ = build(old="1")
    assert not turns.refuse("other")
    assert turns.admit("other") == turns.forget("other") == []
    assert not turns.is_behind("other")
    assert not turns.is_behind("")


def test_the_oldest_comes_first_whoever_asked_first() -> None:
    turns, _ = build(young="2", old="1")
    turns.refuse("young-0")
    turns.refuse("old-0")
    assert turns.is_behind("young")
    assert not turns.is_behind("old")


def test_when_it_is_complete_the_others_may_ask_again() -> None:
    turns, _ = build(old="1", young="2")
    for uid in ("old-0", "old-1", "young-0"):
        turns.refuse(uid)
    assert turns.admit("old-0") == []
    assert turns.is_behind("young")
    assert turns.admit("old-1") == ["young-0"]
    assert not turns.is_behind("young")


def test_when_its_pods_are_gone_too() -> None:
    turns, _ = build(old="1", young="2")
    for uid in ("old-0", "young-0"):
        turns.refuse(uid)
    assert turns.forget("old-1") == []
    assert turns.forget("old-0") == ["young-0"]
    assert not turns.is_behind("young")
    turns.join("old-2", "old", "3")
    turns.refuse("old-2")
    assert turns.is_behind("old")  # it is the younger one now


def test_one_that_does_not_become_complete_lets_the_next_one_try() -> None:
    turns, clock = build(huge="1", small="2")
    for uid in ("huge-0", "small-0"):
        turns.refuse(uid)
    assert turns.is_behind("small")
    clock.now += TURN_SECONDS - 1
    assert turns.is_behind("small")
    clock.now += 1
    assert not turns.is_behind("small")
    assert turns.is_behind("huge")
    # The turn is whole: it begins when it comes.
    clock.now += TURN_SECONDS - 1
    assert turns.is_behind("huge")
    assert turns.admit("small-0") == ["huge-0"]
    assert not turns.is_behind("huge")


def test_two_that_never_become_complete_take_turns() -> None:
    turns, clock = build(a="1", b="2")
    for uid in ("a-0", "b-0"):
        turns.refuse(uid)
    order = []
    for _ in range(4):
        order.append("a" if turns.is_behind("b") else "b")
        clock.now += TURN_SECONDS
    assert order == ["a", "b", "a", "b"]


def test_one_that_is_alone_keeps_its_turn() -> None:
    turns, clock = build(a="1", b="2")
    turns.refuse("a-0")
    assert not turns.is_behind("a")
    clock.now += 10 * TURN_SECONDS
    assert not turns.is_behind("a")


def test_a_gang_is_as_old_as_its_oldest_pod() -> None:
    turns, _ = build(old="1", young="2")
    turns.join("old-2", "old", "9")
    for uid in ("old-2", "young-0"):
        turns.refuse(uid)
    assert turns.is_behind("young")
    assert not turns.is_behind("old")

"""Who asks for room, who waits, and what is taken for news about it."""

import pytest

from nestor.api.objects import Object
from nestor.syncer import limits
from nestor.syncer.pods import room
from nestor.syncer.pods.room import Room
from tests.unit.pods.translate.builders import build_pod

FULL = "exceeded quota: ten"


class Scene:
    """A room with a clock, and who was called."""

    def __init__(self) -> None:
        self.now = 100.0
        self.room = Room(lambda: self.now)
        self.calls: list[tuple[str, float]] = []
        self.room.wake = lambda uid, delay: self.calls.append((uid, delay))

    def refuse(self, *uids: str, size: str = "s") -> list[float | None]:
        """All of these asked, and there was no room."""
        return [self.room.refuse(uid, size, FULL) for uid in uids]

    def take_calls(self) -> list[str]:
        """Whose turn it was since the last time."""
        found = [uid for uid, _ in self.calls]
        self.calls.clear()
        return found


@pytest.mark.parametrize(
    ("quota", "quota_class", "advice"),
    [
        ("nestor", "small", "ask an administrator to raise `namespace.quota` of class 'small'"),
        ("nestor", "", "ask an administrator of the host cluster to raise this quota"),
        ("team", "small", "ask an administrator of the host cluster to raise this quota"),
        ("nestor-2", "small", "ask an administrator of the host cluster to raise this quota"),
    ],
)
def test_who_can_raise_a_quota_is_told(quota: str, quota_class: str, advice: str) -> None:
    reason = f"exceeded quota: {quota}, requested: pods=1, used: pods=9, limited: pods=9"
    assert limits.advise(reason, quota_class) == f"{reason}; {advice}"


def test_of_all_that_are_refused_one_asks_again_ever_more_rarely() -> None:
    scene = Scene()
    assert scene.room.find_wait("a", "s") == ""
    assert scene.refuse("a", "b", "c") == [5, None, None]
    assert scene.room.find_wait("a", "s") == ""
    assert scene.room.find_wait("b", "s") == scene.room.find_wait("d", "s") == FULL
    assert scene.refuse(*"aaaaaa") == [10, 20, 40, 60, 60, 60]
    assert scene.calls == []


def test_another_size_has_its_own_turn() -> None:
    scene = Scene()
    scene.refuse("a", size="large")
    assert scene.room.find_wait("b", "small") == ""
    scene.room.admit("b", "small")
    assert scene.room.find_wait("c", "large") == FULL


def test_room_for_one_lets_the_next_ask_and_room_for_many_lets_many() -> None:
    scene = Scene()
    scene.refuse(*"abcdefgh")
    scene.room.admit("a", "s")
    assert scene.take_calls() == ["b"]
    scene.room.admit("b", "s")
    assert scene.take_calls() == ["c", "d"]
    scene.room.admit("c", "s")
    assert scene.take_calls() == ["e", "f"]
    assert scene.refuse("d", "e", "f") == [None, None, 5]
    assert scene.room.find_wait("g", "s") == FULL
    for uid in "fghde":
        assert scene.room.find_wait(uid, "s") == ""
        scene.room.admit(uid, "s")
    assert scene.room.find_wait("new", "s") == ""
    assert not scene.room._lines
    assert not scene.room._places


def test_one_that_goes_or_fails_otherwise_leaves_its_turn_to_the_next() -> None:
    scene = Scene()
    scene.refuse("a", "b", "c")
    scene.room.leave("b")
    scene.room.leave("a")
    assert scene.take_calls() == ["c"]
    scene.room.leave("c")
    assert not scene.room._lines
    assert not scene.room._places


def test_an_admitted_pod_that_is_refused_the_next_time_waits_like_all_others() -> None:
    scene = Scene()
    scene.room.admit("a", "s")
    assert scene.refuse("b", "a") == [5, None]
    assert scene.room.find_wait("a", "s") == FULL


def test_news_of_room_bring_the_next_attempt_forward_but_not_at_once_after_a_refusal() -> None:
    scene = Scene()
    scene.refuse("a", "a", "a", "b")
    scene.room.reopen()
    assert scene.calls == [("a", 0.25)]
    scene.now += 10
    scene.room.reopen()
    scene.room.reopen(1)
    assert scene.calls[1:] == [("a", 0), ("a", 1)]
    assert scene.refuse("a") == [5]


def quota(hard: dict[str, str], used: dict[str, str] | None = None) -> Object:
    return {"spec": {"hard": hard}, "status": {"hard": hard, "used": used or {}}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, quota({"pods": "1"}), False),
        (quota({"pods": "1"}), None, True),
        (quota({"pods": "1"}), quota({"pods": "1"}), False),
        (quota({"pods": "1"}), quota({"pods": "2"}), True),
        (quota({"pods": "2"}), quota({"pods": "1"}), False),
        (quota({"pods": "1", "requests.cpu": "1"}), quota({"pods": "1"}), True),
        (quota({"pods": "1"}), quota({"pods": "1", "requests.cpu": "1"}), False),
        (quota({"requests.cpu": "1"}, {"requests.cpu": "1"}), quota({"requests.cpu": "1"}, {"requests.cpu": "900m"}), True),
        (quota({"requests.cpu": "1"}, {"requests.cpu": "0"}), quota({"requests.cpu": "1"}, {"requests.cpu": "1"}), False),
    ],
)
def test_a_quota_that_leaves_more_is_news(old: Object | None, new: Object | None, expected: bool) -> None:
    assert room.is_freed(old, new) is expected


def test_pods_of_one_template_are_of_one_size_and_others_are_not() -> None:
    small, large = ({"resources": {"requests": {"cpu": cpu}}} for cpu in ("1", "2"))
    first = build_pod(container=small, labels={"a": "b"})
    second = build_pod(container=small, hostname="web-1")
    assert room.find_size(first) == room.find_size(second)
    others = [
        build_pod(container=large),
        build_pod(container=small, initContainers=[{"name": "i", **large}]),
        build_pod(container=small, resources={"requests": {"cpu": "4"}}),
        build_pod(container=small, activeDeadlineSeconds=5),
        build_pod(container=small, affinity={"podAffinity": {}}),
    ]
    assert len({room.find_size(pod) for pod in [first, *others]}) == 6

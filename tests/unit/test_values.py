"""Our dataclasses are Python's in all that anybody sees of them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

import pytest

from nestor import values

Decorator = Callable[..., Any]


def build_classes(decorate: Decorator) -> tuple[Any, Any, Any, Any]:
    """The same classes: one with all kinds of fields, one that extends it, one that may change, one with methods of its own."""

    @decorate(frozen=True)
    class Point:
        x: int
        tags: list[str] = field(default_factory=list)
        secret: str = field(default="", repr=False)
        note: str = field(default="", compare=False)

    @decorate(frozen=True)
    class Named(Point):
        name: str = "n"

    @decorate
    class Open:
        x: int = 1

    @decorate(frozen=True, kw_only=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    @decorate(frozen=True)
    class Same:  # noqa: PLW1641 - the decorator gives it one
        x: int

        def __eq__(self, other: object) -> bool:
            return True

    Own.same = Same  # type: ignore[attr-defined]
    return Point, Named, Open, Own


def observe(act: Callable[[], Any]) -> Any:
    """What it returns or raises."""
    try:
        return act()
    except Exception as error:
        return type(error)


def change(item: Any) -> Any:
    """With another value."""
    item.x = 2
    return item


def add_itself(item: Any) -> Any:
    """With itself in its list."""
    item.tags.append(item)
    return item


ACTS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "shown": lambda point, *_: repr(point(1, ["a"], "hidden", "b")).rpartition(".")[2],
    "shown, of a class that extends another": lambda _, named, *__: repr(named(1, name="m")).rpartition(".")[2],
    "shown, of itself": lambda point, *_: repr(add_itself(point(1))).count("x=1"),
    "equal": lambda point, *_: point(1, ["a"]) == point(1, ["a"]),
    "not equal": lambda point, *_: point(1, ["a"]) == point(1, ["b"]),
    "what is not compared": lambda point, *_: point(1, note="a") == point(1, note="b"),
    "another class": lambda point, named, *_: (point(1) == named(1), point(1) != named(1), point(1) == 1),
    "hash of equals": lambda _, __, ___, own: hash(own(x=1)),
    "hash of what has a list": lambda point, *_: hash(point(1)),
    "hash of what may change": lambda _, __, open_, ___: hash(open_()),
    "one of its own": lambda _, __, ___, own: (own(x=1) == own(x=2), repr(own(x=1))),
    "hash of what says itself what is equal": lambda _, __, ___, own: hash(own.same(1)) == hash(own.same(1)),
    "a change": lambda point, *_: change(point(1)),
    "a change of what may change": lambda _, __, open_, ___: change(open_()).x,
    "a default for each": lambda point, *_: point(1).tags is point(1).tags,
    "too little": lambda point, *_: point(),
    "too much": lambda _, __, ___, own: own(1),
    "replaced": lambda _, named, *__: replace(named(1), x=2, name="m") == named(2, name="m"),
    "copied": lambda point, *_: copy.copy(point(1, ["a"])) == point(1, ["a"]),
    "fields": lambda _, named, *__: [item.name for item in dataclasses.fields(named)],
    "as a dictionary": lambda _, named, *__: dataclasses.asdict(named(1)),
    "matched": lambda _, named, *__: named.__match_args__,
}


@pytest.mark.parametrize("act", ACTS)
def test_they_behave_as_python_s_do(act: str) -> None:
    ours, theirs = (build_classes(decorate) for decorate in (values.dataclass, dataclasses.dataclass))
    assert observe(lambda: ACTS[act](*ours)) == observe(lambda: ACTS[act](*theirs))


def test_equals_have_the_same_hash() -> None:
    @values.dataclass(frozen=True)
    class Key:
        name: str
        note: str = field(default="", compare=False)

    assert {Key("a", "x"), Key("a", "y"), Key("b")} == {Key("a"), Key("b")}


def test_two_without_fields_are_equal() -> None:
    @values.dataclass(frozen=True)
    class Nothing:
        pass

    assert {Nothing(), Nothing()} == {Nothing()}


def test_only_the_way_to_make_one_is_compiled() -> None:
    ours = build_classes(values.dataclass)[0]
    other = build_classes(values.dataclass)[1]
    assert ours.__repr__ is other.__repr__
    assert ours.__eq__ is other.__eq__
    assert ours.__init__ is not other.__init__

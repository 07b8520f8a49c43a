"""Modules that are read when something of them is used."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from nestor.process.later import is_unread, later

NAMES = ("heap_of_things", "heap_of_things.part", "heap_of_things.broken")


@pytest.fixture
def heap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package that notes how often it is read."""
    folder = tmp_path / NAMES[0]
    folder.mkdir()
    (folder / "__init__.py").write_text("import sys\nsys.heap_reads.append(__name__)\nthing, other = 'a', 'b'\n")
    (folder / "part.py").write_text(
        "import sys\nsys.heap_reads.append(__name__)\nfrom heap_of_things import thing\npiece = thing\n"
    )
    (folder / "broken.py").write_text(
        "import sys\nsys.heap_reads.append(__name__)\nif len(sys.heap_reads) < 3: raise OSError('no')\nx = 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "heap_reads", [], raising=False)
    yield folder
    for name in NAMES:
        sys.modules.pop(name, None)


def reads() -> list[str]:
    """What was read so far."""
    return sys.heap_reads  # type: ignore[attr-defined,no-any-return]


def take(name: str = NAMES[0]) -> ModuleType:
    """The module, not read yet."""
    with later(NAMES):
        return importlib.import_module(name)


def test_a_module_is_read_when_something_of_it_is_used(heap: Path) -> None:
    found = take()
    assert is_unread(found)
    assert found.__file__ == str(heap / "__init__.py")
    assert importlib.import_module(NAMES[0]) is found
    assert reads() == []
    assert (found.thing, found.other) == ("a", "b")
    assert not is_unread(found)
    assert type(found) is ModuleType
    assert reads() == [NAMES[0]]


@pytest.mark.usefixtures("heap")
def test_a_part_of_a_package_does_not_read_the_package() -> None:
    part = take(NAMES[1])
    assert is_unread(sys.modules[NAMES[0]])
    assert sys.modules[NAMES[0]].part is part
    assert reads() == []
    assert part.piece == "a"
    assert reads() == [NAMES[1], NAMES[0]]


@pytest.mark.usefixtures("heap")
def test_what_is_not_there_is_missing_as_ever() -> None:
    with pytest.raises(AttributeError, match="module 'heap_of_things' has no attribute 'nothing'"):
        _ = take().nothing
    assert not hasattr(take("heap_of_things.part"), "__path__")


@pytest.mark.usefixtures("heap")
def test_what_is_set_stays() -> None:
    found = take()
    found.thing = "mine"  # type: ignore[attr-defined]
    assert (found.thing, found.other) == ("mine", "b")


@pytest.mark.usefixtures("heap")
def test_a_module_that_cannot_be_read_is_tried_again() -> None:
    found = take("heap_of_things.broken")
    for _ in range(2):
        with pytest.raises(OSError, match="no"):
            _ = found.x
    assert found.x == 1


@pytest.mark.usefixtures("heap")
def test_of_several_threads_one_reads_a_module_and_the_others_wait() -> None:
    found, seen = take(), []
    threads = [threading.Thread(target=lambda: seen.append((found.thing, found.other))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [("a", "b")] * 8
    assert reads() == [NAMES[0]]


@pytest.mark.usefixtures("heap")
def test_other_modules_are_read_at_once_and_so_is_everything_afterwards() -> None:
    with later(["something.else"]):
        assert not is_unread(importlib.import_module(NAMES[0]))
    with later(NAMES), pytest.raises(ModuleNotFoundError):
        importlib.import_module("heap_of_things.missing")
    assert not is_unread(importlib.import_module(NAMES[1]))
    assert reads() == list(NAMES[:2])

"""How the demo of overflow follows a job and its pods."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from devcluster.demo import overflow, scene
from devcluster.demo.places import Places
from devcluster.progress import Silent
from nestor.api import labels

Object = dict[str, Any]

NAMESPACE = "nestor-default-parts-1"


class FakeInformer:
    """A watch whose objects come one after the other, as far as the test lets them."""

    story: ClassVar[dict[str, list[list[Object]]]] = {}
    namespaces: ClassVar[list[str]] = []

    def __init__(self, _: object, kind: Any, namespace: str, **options: str) -> None:
        self.namespaces.append(namespace)
        self._states = self.story[kind.plural]
        self._now: list[Object] = []
        self._handlers: list[Callable[[object], None]] = []

    def on_change(self, handler: Callable[[object], None]) -> None:
        """As an Informer."""
        self._handlers.append(handler)

    def __iter__(self) -> Iterator[Object]:
        return iter(self._now)

    async def run(self) -> None:
        """As an Informer."""
        for state in self._states:
            self._now = state
            for handler in self._handlers:
                handler(None)
            for _ in range(5):  # whoever waits for it looks first
                await asyncio.sleep(0)
        await asyncio.Event().wait()


class Notes(Silent):
    """What was told, without its time."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        """Keep a line."""
        self.lines.append(text.split(" s  ", 1)[1])


def job(*, status: str = "Unknown", reason: str = "AppRunning") -> Object:
    condition = {"type": "Succeeded", "status": status, "reason": reason, "message": "all parts are done"}
    return {"metadata": {"name": "parts", "namespace": "default"}, "status": {"namespace": NAMESPACE, "conditions": [condition]}}


def pod(name: str, node: str) -> Object:
    return {"metadata": {"annotations": {labels.NESTED_NAME: name}}, "spec": {"nodeName": node}, "status": {"phase": "Running"}}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Notes:
    monkeypatch.setattr(overflow, "Informer", FakeInformer)
    FakeInformer.namespaces.clear()
    return Notes()


def follow(told: Notes) -> overflow.Telling:
    return overflow.Telling(None, "parts", Places({"small": "", "far": scene.PLUGIN}), told)  # type: ignore[arg-type]


async def test_it_tells_of_pods_until_the_job_has_ended(told: Notes) -> None:
    ended = job(status="True", reason="Completed")
    FakeInformer.story = {
        "nestedappjobs": [[], [job()], *[[job()]] * 8, [ended]],
        "pods": [[], [pod("a", "small")], [pod("a", "small"), pod("b", "far")], []],
    }
    telling = follow(told)
    assert await telling.run(10) == ended
    assert FakeInformer.namespaces == [scene.NAMESPACE, NAMESPACE]
    assert told.lines == [
        f"pods: 0 here, 0 at '{scene.PLUGIN}'",
        "a stays, on node 'small'",
        f"pods: 1 here, 0 at '{scene.PLUGIN}'",
        f"b goes to backend '{scene.PLUGIN}': no node of the host cluster could take it",
        f"pods: 1 here, 1 at '{scene.PLUGIN}'",
        f"pods: 0 here, 0 at '{scene.PLUGIN}'",
        "completed: all parts are done",
    ]
    assert telling.places.found == {"a": "here", "b": scene.PLUGIN}


async def test_a_job_that_does_not_end_is_shown_as_it_is(told: Notes) -> None:
    FakeInformer.story = {"nestedappjobs": [[job()]], "pods": [[]]}
    assert await follow(told).run(0.05) == job()
    assert told.lines == [f"pods: 0 here, 0 at '{scene.PLUGIN}'"]

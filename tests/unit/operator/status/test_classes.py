"""A class says what it comes to, and what guests say of it."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.conditions import Condition
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import status_of
from nestor.kube import NotFound, kinds
from nestor.operator.guest import Guest
from nestor.operator.status.report import reconcile_class
from tests.unit.operator.scene import Scene

Object = dict[str, Any]


class Judge(Guest):
    """Says one thing of all classes."""

    said: Condition | None = None

    def judge(self, item: Object, policy: NestedClassSpec) -> Condition | None:
        return self.said


class Court:
    """A class, and who judges it."""

    def __init__(self) -> None:
        self.scene = Scene()
        (item,) = self.scene.context.cache.classes
        self.scene.change(kinds.NESTED_CLASS, item)
        self.scene.change(kinds.NESTED_CLASS, item | {"spec": {}})
        self.judge = Judge(self.scene.context)

    async def reconcile(self, name: str = "default") -> Object:
        """The status after a pass, and whether it was written."""
        await reconcile_class(self.scene.context, [Guest(self.scene.context), self.judge], name)
        return status_of(self.scene.api.look(kinds.NESTED_CLASS, name))


async def test_an_empty_class_is_all_that_its_profile_and_the_operator_say() -> None:
    status = await Court().reconcile()
    assert status.keys() == {"effective", "observedGeneration"}
    effective = status["effective"]
    assert effective["profile"] == "Tenants"
    assert effective["cluster"] == {"versions": ["v1.37", "v1.36", "v1.9"], "nodes": "InUse"}
    assert effective["namespace"] == {"podSecurity": "Baseline", "quota": {"requests.cpu": 8, "requests.memory": "32Gi"}}
    assert "storage" not in effective


async def test_it_is_written_when_something_changes_and_only_then() -> None:
    court = Court()
    first = await court.reconcile()
    asked = len(court.scene.api.asked)
    assert await court.reconcile() == first
    assert len(court.scene.api.asked) == asked
    court.judge.said = Condition("NetworkEnforced", "False", "NetworkNotEnforced", "x")
    (found,) = (await court.reconcile())["conditions"]
    assert (found["type"], found["status"], found["reason"]) == ("NetworkEnforced", "False", "NetworkNotEnforced")
    court.judge.said = None
    (kept,) = (await court.reconcile())["conditions"]
    assert kept == found, "nothing new is known"


async def test_what_is_no_class_has_no_status(monkeypatch: pytest.MonkeyPatch) -> None:
    court = Court()
    assert await court.reconcile("unknown") == {}

    async def apply(*_: Any, **__: Any) -> Object:
        raise NotFound(404, "NotFound", "gone")

    monkeypatch.setattr(court.scene.api, "apply", apply)
    assert await court.reconcile() == {}

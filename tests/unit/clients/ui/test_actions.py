"""What the page does with a job that the operator changes at the same time."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.clients.cli.exits import Failure
from nestor.clients.ui.pages import actions
from nestor.clients.ui.visitor import Visitor
from nestor.kube import Conflict, Forbidden, Kind


class Busy:
    """An API server at which a job was changed so many times since it was read."""

    def __init__(self, changes: int) -> None:
        self.version, self.changes, self.patches = 1, changes, list[Object]()

    def build(self) -> Object:
        meta = {"name": "shop", "namespace": "team", "uid": "u", "resourceVersion": str(self.version)}
        return {"metadata": meta, "spec": {"activeDeadlineSeconds": 60 * self.version}}

    async def get(self, _kind: Kind, _name: str, _namespace: str) -> Object:
        return self.build()

    async def patch(self, _kind: Kind, _name: str, _namespace: str, body: Object, *, strict: bool) -> Object:
        assert strict
        if self.changes:
            self.changes -= 1
            self.version += 1
        if body["metadata"]["resourceVersion"] != str(self.version):
            raise Conflict(409, "Conflict", "the object has been modified")
        self.patches.append(body)
        return body


def visitor(api: Busy) -> Visitor:
    return Visitor(cast(Any, api), cast(Any, None), cast(Any, None), "jane")


async def test_a_job_that_changes_meanwhile_gets_its_time_from_what_it_has_then() -> None:
    api = Busy(changes=3)
    await actions.add_time(visitor(api), api.build(), "stop", 3600)
    assert api.patches == [{"metadata": {"resourceVersion": "4", "uid": "u"}, "spec": {"activeDeadlineSeconds": 240 + 3600}}]


async def test_a_job_that_never_holds_still_is_given_up() -> None:
    api = Busy(changes=1000)
    with pytest.raises(Conflict):
        await actions.add_time(visitor(api), api.build(), "stop", 3600)
    assert api.version == actions.ATTEMPTS + 1


async def test_what_has_no_such_end_is_not_extended() -> None:
    api = Busy(changes=0)
    with pytest.raises(Failure, match="nothing to extend"):
        await actions.add_time(visitor(api), api.build(), "keep", 3600)


async def test_a_job_gets_no_more_time_than_its_class_allows() -> None:
    """More would be refused, and later changes with it."""
    api = Bounded(changes=0)
    job = api.build() | {"status": {"className": "short"}}
    assert await actions.add_time(visitor(api), job, "stop", 30) is False
    assert await actions.add_time(visitor(api), job, "stop", 3600) is True
    assert [body["spec"] for body in api.patches] == [{"activeDeadlineSeconds": 90}, {"activeDeadlineSeconds": 100}]
    job["spec"]["activeDeadlineSeconds"] = 100
    with pytest.raises(Failure, match="at most"):
        await actions.add_time(visitor(api), job, "stop", 3600)


async def test_whose_class_cannot_be_seen_is_left_to_the_operator() -> None:
    api = Bounded(changes=0, is_hidden=True)
    job = api.build() | {"status": {"className": "short"}}
    assert await actions.add_time(visitor(api), job, "stop", 3600) is False


class Bounded(Busy):
    """The class lets jobs run for 100 seconds."""

    def __init__(self, changes: int, *, is_hidden: bool = False) -> None:
        super().__init__(changes)
        self.is_hidden = is_hidden

    async def find(self, _kind: Kind, name: str) -> Object:
        assert name == "short"
        if self.is_hidden:
            raise Forbidden(403, "Forbidden", "no")
        return {"spec": {"maxActiveDeadlineSeconds": 100}}

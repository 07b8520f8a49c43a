"""A new job with passwords: what becomes of them when the answer is an error, or none."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.kube import ApiError, Conflict, Forbidden, Kind, Unreachable, kinds
from nestor.objects import Object
from nestor.ui.models.apps import App
from nestor.ui.models.inputs import Entered
from nestor.ui.models.launch import Form
from nestor.ui.pages import launch
from nestor.ui.visitor import Visitor
from tests.fakes.api import MemoryApi

FORM = Form("shop", "team-a", "default:", "run")
READ = Entered({}, {"password": "secret"}, ())


class Server(MemoryApi):
    """Answers the job's creation with an error, before or after it has made it."""

    def __init__(self, error: ApiError, *, is_made: bool) -> None:
        super().__init__()
        self._error, self._is_made, self._time = error, is_made, 0

    async def create(self, kind: Kind, body: Object, **_: Any) -> Object:
        self._time += 1
        dated = body | {"metadata": body["metadata"] | {"creationTimestamp": f"2026-01-01T00:00:0{self._time}Z"}}
        if kind == kinds.NESTED_APP_JOB and not self._is_made:
            raise self._error
        made = await super().create(kind, dated)
        if kind == kinds.NESTED_APP_JOB:
            raise self._error
        return made


async def create(api: Server) -> bool:
    """What the form's button does."""
    visitor = Visitor(cast(Any, api), cast(Any, None), cast(Any, None), "jane")
    return await launch._create(visitor, cast(App, type("A", (), {"name": "shop"})), FORM, READ)


async def test_the_passwords_of_a_job_that_was_made_stay_and_go_with_it() -> None:
    api = Server(Unreachable("no answer"), is_made=True)
    assert await create(api)
    secret = api.look(kinds.SECRET, "shop-parameters", "team-a") or {}
    job = api.look(kinds.NESTED_APP_JOB, "shop", "team-a") or {}
    assert [owner["uid"] for owner in secret["metadata"]["ownerReferences"]] == [job["metadata"]["uid"]]


@pytest.mark.parametrize("error", [Unreachable("no answer"), Forbidden(403, "Forbidden", "no")])
async def test_those_of_a_job_that_was_not_made_go(error: ApiError) -> None:
    api = Server(error, is_made=False)
    with pytest.raises(type(error)):
        await create(api)
    assert api.look(kinds.SECRET, "shop-parameters", "team-a") is None


async def test_an_older_job_of_that_name_gets_no_passwords_of_a_new_one() -> None:
    api = Server(Conflict(409, "AlreadyExists", "already exists"), is_made=False)
    old = {"name": "shop", "namespace": "team-a", "creationTimestamp": "2025-01-01T00:00:00Z"}
    api.put(kinds.NESTED_APP_JOB, {"metadata": old, "spec": {"parametersFrom": {"secretRef": {"name": "shop-parameters"}}}})
    with pytest.raises(Conflict):
        await create(api)
    assert api.look(kinds.SECRET, "shop-parameters", "team-a") is None


async def test_nothing_is_deleted_as_long_as_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Server(Unreachable("no answer"), is_made=True)

    async def fail(*_: Any) -> None:
        raise Unreachable("no answer")

    monkeypatch.setattr(api, "find", fail)
    with pytest.raises(Unreachable):
        await create(api)
    assert api.look(kinds.SECRET, "shop-parameters", "team-a") is not None

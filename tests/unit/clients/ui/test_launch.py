"""A new job with passwords: they are its own from the beginning, and nothing is left of one that could not be made."""

from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.clients.ui.models.apps import App
from nestor.clients.ui.models.inputs import Entered
from nestor.clients.ui.models.launch import Form
from nestor.clients.ui.pages import launch
from nestor.clients.ui.visitor import Visitor
from nestor.kube import ApiError, Conflict, Forbidden, Kind, Unreachable, kinds
from tests.fakes.api import MemoryApi

FORM = Form("shop", "team-a", "default:", "run")
READ = Entered({}, {"password": "secret"}, ())
JOB, SECRET = "nestedappjobs team-a/shop", "secrets team-a/shop-parameters"


class Server(MemoryApi):
    """Takes all that the form asks for."""

    async def create(self, kind: Kind, body: Object, **_: Any) -> Object:
        return await super().create(kind, body)


async def create(api: MemoryApi) -> None:
    visitor = Visitor(cast(Any, api), cast(Any, None), cast(Any, None), "jane")
    await launch._create(visitor, cast(App, type("A", (), {"name": "shop"})), FORM, READ)


async def test_the_passwords_belong_to_the_job_before_it_begins() -> None:
    api = Server()
    await create(api)
    assert api.asked == [f"POST {JOB}", f"POST {SECRET}", f"PATCH {JOB}"], "neither read, changed nor deleted"
    assert api.bodies[0]["spec"]["suspend"] is True
    secret = api.look(kinds.SECRET, "shop-parameters", "team-a") or {}
    job = api.look(kinds.NESTED_APP_JOB, "shop", "team-a") or {}
    assert [owner["uid"] for owner in secret["metadata"]["ownerReferences"]] == [job["metadata"]["uid"]]
    assert job["spec"].get("suspend") is None


@pytest.mark.parametrize("failed", [f"POST {SECRET}", f"PATCH {JOB}"])
@pytest.mark.parametrize("error", [Unreachable("no answer"), Forbidden(403, "Forbidden", "no"), Conflict(409, "Conflict", "no")])
async def test_a_job_that_does_not_get_its_passwords_goes(failed: str, error: ApiError) -> None:
    api = Server()

    def refuse(*_: object) -> ApiError | None:
        return error if api.asked[-1] == failed else None

    api.refusal = refuse
    with pytest.raises(type(error)):
        await create(api)
    assert api.look(kinds.NESTED_APP_JOB, "shop", "team-a") is None


async def test_an_older_job_of_that_name_stays_and_gets_no_passwords_of_a_new_one() -> None:
    api = Server()
    api.put(kinds.NESTED_APP_JOB, {"metadata": {"name": "shop", "namespace": "team-a"}, "spec": {}})
    with pytest.raises(Conflict):
        await create(api)
    assert api.look(kinds.NESTED_APP_JOB, "shop", "team-a") is not None
    assert api.look(kinds.SECRET, "shop-parameters", "team-a") is None

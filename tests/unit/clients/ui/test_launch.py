"""A new job with passwords: they are its own from the beginning, and nothing is left of one that could not be made. And a form
that is filled from another job.
"""

from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.clients.cli import manifests
from nestor.clients.ui.models.again import take_over
from nestor.clients.ui.models.apps import App
from nestor.clients.ui.models.inputs import Entered, read_entered
from nestor.clients.ui.models.launch import Form, read_seconds
from nestor.clients.ui.pages import launch
from nestor.clients.ui.visitor import Visitor
from nestor.kube import ApiError, Conflict, Forbidden, Kind, Unreachable, kinds
from tests.fakes.api import MemoryApi

DECLARED: Object = {
    "SIZE": {"type": "INT", "value": 2},
    "LOGIN": {"type": "BOOL", "value": True},
    "TAGS": {"type": "STR", "multi": True},
    "TITLE": {"type": "STR", "value": "x"},
    "PIN": {"type": "password"},
}
FORM = Form("shop", "team-a", "default:", "run")
READ = Entered({}, {"password": "secret"}, ())
JOB, SECRET = "nestedappjobs team-a/shop", "secrets team-a/shop-parameters"


class Server(MemoryApi):
    """Takes all that the form asks for."""

    async def create(self, kind: Kind, body: Object, **_: Any) -> Object:
        return await super().create(kind, body)


async def create(api: MemoryApi) -> None:
    visitor = Visitor(cast(Any, api), cast(Any, None), cast(Any, None), "jane")
    await launch._create(visitor, cast(App, type("A", (), {"name": "shop"})), FORM, READ, {})


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


def old(**spec: Any) -> Object:
    return {"metadata": {"name": "shop", "namespace": "team-a"}, "spec": {"appRef": {"name": "shop"}} | spec}


def test_a_form_is_filled_with_what_a_job_was_given_but_for_passwords() -> None:
    given = {"SIZE": 5, "LOGIN": False, "TAGS": ["a", "b"], "PIN": "1234", "GONE": 1}
    job = old(parameters=given, parametersFrom={"secretRef": {"name": "mine"}}, className="gpu", machine="large", suspend=True)
    job["spec"] |= {"activeDeadlineSeconds": 5400, "expose": {"host": "a.test", "allTargets": True}, "storage": {"size": "1Gi"}}
    found = take_over(job, DECLARED, "new", "run")
    assert found.form == Form("new", "team-a", "gpu:large", "run", "90", "minutes")
    assert found.entered == {"SIZE": ["5"], "LOGIN": ["false"], "TAGS": ["a", "b"], "TITLE": ["x"], "PIN": []}
    assert found.kept == {"expose": {"allTargets": True}, "storage": {"size": "1Gi"}}
    assert found.missing == ["parameter 'PIN'", "parameter 'GONE'", "the parameters in Secret 'mine'", "host 'a.test'"]
    assert "1234" not in str(found)
    assert job["spec"]["expose"]["host"], "the old job stays as it is"
    # What is left as it is makes the same parameters.
    assert read_entered(DECLARED, found.entered).plain == {"SIZE": 5, "LOGIN": False, "TAGS": ["a", "b"]}


def test_a_form_without_known_parameters_is_filled_with_lines_that_read_as_they_were() -> None:
    given = {"SIZE": 5, "TITLE": "two\nlines: ä", "NUMBER": "5", "LOGIN": True, "TAGS": ["a", "b"]}
    found = take_over(old(parameters=given | {"TOKEN": "hunter2"}), None, "new", "")
    assert manifests.parse_parameters(found.free.splitlines()) == given
    assert found.missing == ["parameter 'TOKEN'"]
    assert take_over(old(), None, "new", "").free == ""


@pytest.mark.parametrize(("seconds", "limit"), [(None, ("", "hours")), (172800, ("2", "days")), (90, ("1.5", "minutes"))])
def test_a_time_limit_is_told_in_its_largest_unit(seconds: int | None, limit: tuple[str, str]) -> None:
    form = take_over(old(activeDeadlineSeconds=seconds), {}, "new", "").form
    assert (form.limit, form.limit_unit) == limit
    assert not seconds or read_seconds(*limit) == seconds


@pytest.mark.parametrize("declared", ["", [], 5, {"x": 1}])
def test_whatever_an_appdef_declares_can_be_filled(declared: Any) -> None:
    assert take_over(old(parameters={"x": 1}), declared, "new", "").form.name == "new"

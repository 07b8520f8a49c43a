"""A job's life by its user: which jobs may be changed, what he is told, and what one failure means for the others."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nestor.api import conditions, labels
from nestor.clients.cli import session
from nestor.clients.cli.commands import life
from nestor.clients.cli.exits import Code
from nestor.clients.cli.session import Session
from nestor.kube import Api, ApiError, Forbidden, Kind, NotFound, Unreachable, kinds
from tests.fakes.api import MemoryApi
from tests.unit.clients.cli import builders
from tests.unit.clients.cli.memory import Object, call, server


def list_patches(api: MemoryApi) -> list[tuple[str, Object]]:
    """By name, in their order."""
    asked = zip(api.asked, api.bodies, strict=True)
    return [(what.rpartition("/")[2], body) for what, body in asked if what.startswith("PATCH ")]


def ended(reason: str, name: str = "shop", status: str = "False") -> Object:
    job = builders.completed()
    job["metadata"]["name"] = name
    for found in job["status"]["conditions"][-2:]:
        found |= {"reason": reason, "status": status if found["type"] == conditions.SUCCEEDED else "False"}
    return job


def named(job: Object, name: str) -> Object:
    job["metadata"]["name"] = name
    return job


@pytest.mark.parametrize(
    ("job", "is_deleted"),
    [
        (ended(conditions.COMPLETED, status="True"), True),
        (ended(conditions.TARGET_FAILED), True),
        (ended(conditions.RESTARTS_EXHAUSTED), True),
        (ended(conditions.DEADLINE_EXCEEDED), True),
        (ended(conditions.STEP_FAILED), False),
        (builders.failed(), False),
        (builders.ready(), False),
        (builders.running(), False),
    ],
)
def test_a_rerun_says_when_it_deletes_the_data(monkeypatch: pytest.MonkeyPatch, job: Object, is_deleted: bool) -> None:
    api = server(job)
    result = call(monkeypatch, api, "rerun", "shop")
    if is_deleted:
        assert (result.exit_code, list_patches(api)) == (Code.USAGE, [])
        assert "hint: add --yes" in result.stderr
        result = call(monkeypatch, api, "rerun", "shop", "--yes")
    assert result.exit_code == Code.OK
    assert "all steps of job 'shop' will run again" in result.stderr
    assert ("in an empty cluster" in result.stderr and "data of the previous run is deleted" in result.stderr) is is_deleted
    ((_, patch),) = list_patches(api)
    assert patch["metadata"]["annotations"][labels.RERUN]


@pytest.mark.parametrize(("answer", "code"), [("y", Code.OK), ("Yes", Code.OK), ("", Code.FAILED), ("no", Code.FAILED)])
@pytest.mark.parametrize("command", ["rerun", "delete"])
def test_on_a_terminal_only_a_yes_deletes_data(monkeypatch: pytest.MonkeyPatch, command: str, answer: str, code: Code) -> None:
    api = server(ended(conditions.TARGET_FAILED))
    monkeypatch.setattr(session, "can_ask", lambda: True)
    result = call(monkeypatch, api, command, "shop", text=f"{answer}\n")
    assert result.exit_code == code
    assert "data" in result.stderr
    assert "[y/N]" in result.stderr
    is_done = [what for what in api.asked if what.startswith(("PATCH", "DELETE"))]
    assert bool(is_done) is (code == Code.OK)


@pytest.mark.parametrize(
    ("job", "more", "changed", "said"),
    [
        (builders.ready(), "30m", {"activeDeadlineSeconds": 5400}, "may run for 90m in all"),
        (builders.ready(), "9h", {"activeDeadlineSeconds": 7200}, "may run for 2h in all, the most that its class allows"),
        (builders.completed(), "1h", {"ttlSecondsAfterFinished": 3660}, "is kept for 61m in all"),
    ],
)
def test_a_job_is_given_more_time(monkeypatch: pytest.MonkeyPatch, job: Object, more: str, changed: Object, said: str) -> None:
    job["spec"] |= {"activeDeadlineSeconds": 3600, "ttlSecondsAfterFinished": 60}
    job["status"]["className"] = "short"
    api = server(job)
    api.put(kinds.NESTED_CLASS, {"metadata": {"name": "short"}, "spec": {"maxActiveDeadlineSeconds": 7200}})
    result = call(monkeypatch, api, "extend", "shop", more)
    assert (result.exit_code, list_patches(api)) == (Code.OK, [("shop", {"spec": changed})])
    assert f"job 'shop' {said}\n" in result.stderr


def test_what_has_no_end_is_not_given_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    result = call(monkeypatch, server(builders.ready()), "extend", "shop", "2h")
    assert (result.exit_code, "does not set `activeDeadlineSeconds`" in result.stderr) == (Code.USAGE, True)


def test_what_failed_in_a_step_may_rest_and_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pods run on, to be looked at."""
    api = server(builders.failed())
    assert call(monkeypatch, api, "suspend", "shop").exit_code == Code.OK
    assert call(monkeypatch, api, "resume", "shop").exit_code == Code.OK
    assert list_patches(api) == [("shop", {"spec": {"suspend": wanted}}) for wanted in (True, False)]


@pytest.mark.parametrize(
    "reason", [conditions.COMPLETED, conditions.TARGET_FAILED, conditions.RESTARTS_EXHAUSTED, conditions.DEADLINE_EXCEEDED]
)
def test_what_has_ended_does_not_rest(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    api = server(ended(reason))
    result = call(monkeypatch, api, "suspend", "shop")
    assert (result.exit_code, list_patches(api)) == (Code.FAILED, [])
    assert f"job 'shop' has already ended ({reason}) and cannot be suspended" in result.stderr


def test_one_failure_does_not_keep_the_other_jobs_from_resting(monkeypatch: pytest.MonkeyPatch) -> None:
    api = server(
        ended(conditions.COMPLETED, "a", "True"),
        named(builders.ready(), "d"),
        b=NotFound(404, "NotFound", "no b", {"name": "b"}),
        c=Forbidden(403, "Forbidden", "not c"),
    )
    result = call(monkeypatch, api, "suspend", "a", "b", "c", "d")
    assert result.exit_code == Code.FAILED, "the first failure's"
    assert [name for name, _ in list_patches(api)] == ["d"]
    for part in ("job 'a' has already ended", "no NestedAppJob 'b'", "not c", "job 'd' is being suspended"):
        assert part in result.stderr


def test_without_a_connection_the_other_jobs_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    api = server(named(builders.ready(), "b"), a=Unreachable("refused"))
    assert call(monkeypatch, api, "suspend", "a", "b").exit_code == Code.NO_ACCESS
    assert list_patches(api) == []


async def test_who_may_not_list_does_not_wait_for_ever() -> None:
    api = server(builders.ready())
    api.fault = lambda *_: Forbidden(403, "Forbidden", "no list")
    with pytest.raises(Forbidden):
        await life.wait_until_gone(Session(cast(Api, api), "team-a", cast(Any, None)), [builders.ready()], timeout=20)


@pytest.mark.parametrize(
    ("answer", "name"),
    [({"userInfo": {"username": "oidc:jane"}}, "oidc:jane"), ({}, ""), (Forbidden(403, "Forbidden", "no"), "")],
)
async def test_whose_a_new_job_is_the_api_server_says_and_nothing_else(answer: Any, name: str) -> None:
    async def create(kind: Kind, body: Object) -> Object:
        assert (kind, body["kind"]) == (kinds.SELF_REVIEW, "SelfSubjectReview")
        if isinstance(answer, ApiError):
            raise answer
        return {"status": answer}

    assert await session.ask_name(cast(Api, SimpleNamespace(create=create))) == name

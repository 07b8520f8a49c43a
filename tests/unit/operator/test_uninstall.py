"""What helm runs before it uninstalls the chart: it refuses, or deletes and waits."""

from typing import Any, cast

import pytest

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Forbidden, Kind, Unreachable, kinds
from nestor.operator import uninstall as module
from nestor.operator.uninstall import SHOWN, uninstall
from tests.fakes.api import MemoryApi


def build(*, has_operator: bool = True) -> MemoryApi:
    """A job with its namespace and cluster, and a backend."""
    api = MemoryApi()
    put(api, kinds.NESTED_APP_JOB, "mine", "team")
    put(api, kinds.NAMESPACE, "nestor-team-mine-1", own={labels.JOB_UID: "1"})
    put(api, kinds.NESTED_CLUSTER, "mine", "nestor-team-mine-1")
    put(api, kinds.OVERFLOW_BACKEND, "hpc")
    real = api.delete

    async def delete(kind: Kind, name: str, namespace: str | None = None, **options: Any) -> bool:
        if not has_operator:
            meta = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
            found = api.look(kind, name, namespace or "") or {}
            api.put(kind, found | {"metadata": found["metadata"] | meta})
            api.asked.append(f"DELETE {kind.plural} {name}")
            return True
        if kind is kinds.NESTED_APP_JOB:  # the operator takes away what belongs to it
            api.drop(kinds.NESTED_CLUSTER, "mine", "nestor-team-mine-1")
            api.drop(kinds.NAMESPACE, "nestor-team-mine-1")
        return await real(kind, name, namespace, **options)

    api.delete = delete  # type: ignore[method-assign]
    return api


def put(api: MemoryApi, kind: Kind, name: str, namespace: str = "", own: Object | None = None) -> None:
    api.put(kind, {"metadata": {"name": name, "labels": own or {}} | ({"namespace": namespace} if namespace else {})})


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0)


async def test_it_refuses_and_deletes_nothing_while_there_is_anything() -> None:
    api = build()
    said = await uninstall(cast(Api, api), deletes=False, limit=1)
    assert said is not None
    assert said.startswith(
        "there are NestedAppJob team/mine, OverflowBackend hpc, Namespace nestor-team-mine-1. Only the "
        "operator can clean up after them: delete them with `kubectl delete naj,ofb -A --all`"
    )
    assert not [item for item in api.asked if item.startswith("DELETE")]


async def test_it_deletes_what_users_made_and_waits_until_all_of_it_is_gone() -> None:
    api = build()
    assert await uninstall(cast(Api, api), deletes=True, limit=60) is None
    assert sorted(item for item in api.asked if item.startswith("DELETE")) == [
        "DELETE nestedappjobs team/mine",
        "DELETE overflowbackends hpc",
    ], "the cluster and the namespace of a job are the operator's to delete"


async def test_pools_go_with_the_jobs_and_their_classes_stay() -> None:
    api = MemoryApi()
    pooled = {"metadata": {"name": "default"}, "spec": {"pool": 2}}
    for name, spec in (("default", pooled["spec"]), ("other", {})):
        api.put(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": spec})
    said = await uninstall(cast(Api, api), deletes=False, limit=1)
    assert said is not None
    assert said.startswith("there are NestedClass default. ")
    assert "set `pool: 0` in classes" in said
    assert await uninstall(cast(Api, api), deletes=True, limit=60) is None
    assert [item for item in api.asked if not item.startswith(("GET", "LIST"))] == ["PATCH nestedclasses default"]


async def test_what_does_not_go_in_time_is_told_and_deleted_once() -> None:
    api = build(has_operator=False)
    said = await uninstall(cast(Api, api), deletes=True, limit=0.05)
    assert said is not None
    assert said.startswith("not gone after 0 s: NestedAppJob team/mine, ")
    deletions = [item for item in api.asked if item.startswith("DELETE")]
    assert sorted(deletions) == sorted(set(deletions))


async def test_where_nothing_is_left_it_has_nothing_against_it() -> None:
    api = MemoryApi()
    put(api, kinds.NAMESPACE, "nestor-looks-like-it")
    put(api, kinds.NAMESPACE, "somebody-elses", own={labels.JOB_UID: "1"})
    for deletes in (False, True):
        assert await uninstall(cast(Api, api), deletes=deletes, limit=1) is None
    assert not [item for item in api.asked if item.startswith("DELETE")]


async def test_a_namespace_that_a_job_has_left_is_told() -> None:
    api = MemoryApi()
    put(api, kinds.NAMESPACE, "nestor-left-1", own={labels.JOB_UID: "1"})
    said = await uninstall(cast(Api, api), deletes=False, limit=1)
    assert said == "jobs that are gone have left Namespace nestor-left-1: if they stay, delete them"


async def test_the_shell_that_a_job_has_left_needs_nobody() -> None:
    api = MemoryApi()
    shell = {"name": "nestor-left-1", "labels": {labels.JOB_UID: "1"}, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    api.put(kinds.NAMESPACE, {"metadata": shell})
    assert await uninstall(cast(Api, api), deletes=False, limit=1) is None


async def test_of_very_many_the_first_are_named() -> None:
    api = MemoryApi()
    for number in range(SHOWN + 3):
        put(api, kinds.OVERFLOW_BACKEND, f"b{number:02}")
    said = await uninstall(cast(Api, api), deletes=False, limit=1)
    assert said is not None
    assert f"OverflowBackend b{SHOWN - 1:02}, and 3 more. Only" in said


async def test_an_api_server_that_does_not_answer_for_a_moment_is_asked_again() -> None:
    api = build()
    answers = [ApiError(503, "ServiceUnavailable", "restarting"), ApiError(429, "TooManyRequests", "later"), None]
    real_list, real_delete = api.list, api.delete

    async def ask(kind: Kind, *arguments: Any, **options: Any) -> list[Object]:
        if (error := answers[0]) is not None:
            answers.pop(0)
            raise error
        return await real_list(kind, *arguments, **options)

    async def delete(*arguments: Any, **options: Any) -> bool:
        api.delete = real_delete  # type: ignore[method-assign]
        answers.insert(0, Unreachable("no answer"))
        raise ApiError(500, "InternalError", "etcd")

    api.list, api.delete = ask, delete  # type: ignore[method-assign]
    assert await uninstall(cast(Api, api), deletes=True, limit=60) is None
    assert answers == [None]


@pytest.mark.parametrize(("error", "limit"), [(Forbidden(403, "Forbidden", "no"), 60), (Unreachable("no answer"), 0)])
async def test_what_does_not_pass_or_takes_too_long_ends_it(error: ApiError, limit: float) -> None:
    api = build()

    async def fail(*_: Any, **__: Any) -> None:
        raise error

    api.list = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(type(error)):
        await uninstall(cast(Api, api), deletes=True, limit=limit)

"""Who may call the kubelet API: of nested nodes the API server alone, of virtual ones whoever the host's API server lets in."""

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Kind, kinds
from nestor.kube.serving.http import Request
from nestor.pods.kubelet.auth import (
    ALLOWED_SECONDS,
    QUEUE_LIMIT,
    REFUSED_SECONDS,
    REVIEWS,
    ApiServerOnly,
    Caller,
    Denied,
    ReviewedAccess,
)
from nestor.pods.kubelet.routes import Route, find_route

POD = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"nodeName": "far"}}
ADMIN = {"subject": ((("organizationName", "ops"),), (("organizationName", "dev"),), (("commonName", "ann"),))}


def ask(*headers: tuple[str, str]) -> Request:
    return Request("GET", ["containerLogs", "shop", "web", "app"], {}, list(headers), b"")


async def status_of(call: Coroutine[Any, Any, Any]) -> int:
    """The HTTP status of a refusal; 200 if there is none."""
    try:
        await call
    except Denied as denied:
        return denied.status
    return 200


def route(method: str = "GET", path: str = "containerLogs/shop/web/app") -> Route:
    found = find_route(method, path.split("/"))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("certificate", "allowed"),
    [
        ({"subject": ((("organizationName", "system:masters"),), (("commonName", "system:apiserver"),))}, True),
        ({"subject": ((("organizationName", "system:apiserver"),), (("commonName", "nestor:coredns"),))}, False),
        ({}, False),
        (None, False),
    ],
)
async def test_only_the_api_server_calls_nested_nodes(certificate: Object | None, allowed: bool) -> None:
    access = ApiServerOnly()
    assert await status_of(access.identify(ask(), certificate)) == (200 if allowed else 403)
    assert await status_of(access.check(Caller("system:apiserver"), route(), POD)) == 200


class Reviewer:
    """Answers reviews: `ann` may read logs on node `far`; the token `good` is that of `bob`."""

    def __init__(self) -> None:
        self.asked: list[Object] = []
        self.error: ApiError | None = None
        self.silence: asyncio.Event | None = None
        """Until when it says nothing about tokens."""

    async def create(self, kind: Kind, body: Object) -> Object:
        self.asked.append(body["spec"])
        if self.error:
            raise self.error
        if kind == kinds.TOKEN_REVIEW:
            if self.silence is not None:
                await self.silence.wait()
            user = {"username": "bob", "uid": "7", "groups": ["dev"], "extra": {"scope": ["x"]}}
            return {"status": {"authenticated": body["spec"]["token"] == "good", "user": user}}
        wanted = body["spec"]["resourceAttributes"]
        return {"status": {"allowed": body["spec"]["user"] == "ann" and (wanted["verb"], wanted["name"]) == ("get", "far")}}


@pytest.fixture
def reviewer() -> Reviewer:
    return Reviewer()


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def access(reviewer: Reviewer, now: list[float]) -> ReviewedAccess:
    return ReviewedAccess(lambda node: cast(Api, reviewer) if node in ("far", "") else None, lambda: now[0])


async def test_a_certificate_names_user_and_groups(access: ReviewedAccess, reviewer: Reviewer) -> None:
    assert await access.identify(ask(), ADMIN) == Caller("ann", ("ops", "dev"))
    assert not reviewer.asked


async def test_a_token_is_reviewed(access: ReviewedAccess) -> None:
    caller = await access.identify(ask(("authorization", "Bearer good")), None)
    assert caller == Caller("bob", ("dev",), "7", (("scope", ("x",)),))


@pytest.mark.parametrize("headers", [(), (("authorization", "Bearer bad"),), (("authorization", "Basic good"),)])
async def test_nobody_else_is_known(access: ReviewedAccess, headers: tuple[tuple[str, str], ...]) -> None:
    assert await status_of(access.identify(ask(*headers), None)) == 401


@pytest.mark.parametrize(
    ("user", "called", "node", "status"),
    [
        ("ann", route(), "far", 200),
        ("bob", route(), "far", 403),
        ("ann", route("POST", "exec/shop/web/app"), "far", 403),
        # WebSockets begin with a GET, which must not pass for reading.
        ("ann", route("GET", "exec/shop/web/app"), "far", 403),
        ("ann", route("GET", "portForward/shop/web"), "far", 403),
        ("ann", route(), "other", 503),
    ],
)
async def test_the_api_server_decides(access: ReviewedAccess, user: str, called: Route, node: str, status: int) -> None:
    assert await status_of(access.check(Caller(user), called, POD | {"spec": {"nodeName": node}})) == status


@pytest.mark.parametrize(("user", "status", "seconds"), [("ann", 200, ALLOWED_SECONDS), ("bob", 403, REFUSED_SECONDS)])
async def test_answers_are_kept_for_a_while(
    access: ReviewedAccess, reviewer: Reviewer, now: list[float], user: str, status: int, seconds: float
) -> None:
    for time, asked in ((0, 1), (seconds - 1, 1), (seconds + 1, 2)):
        now[0] = time
        assert await status_of(access.check(Caller(user), route(), POD)) == status
        assert len(reviewer.asked) == asked


async def test_without_an_answer_nobody_gets_in(access: ReviewedAccess, reviewer: Reviewer) -> None:
    reviewer.error = ApiError(500, "InternalError", "etcd is away")
    assert await status_of(access.check(Caller("ann"), route(), POD)) == 500


async def test_who_may_not_ask_is_not_told_which_pods_there_are(access: ReviewedAccess, reviewer: Reviewer) -> None:
    said = []
    for pod in (POD, None):
        with pytest.raises(Denied) as caught:
            await access.check(Caller("bob"), route(), pod)
        said.append((caught.value.status, caught.value.text))
    assert said[0] == said[1]
    assert [item["resourceAttributes"]["name"] for item in reviewer.asked] == ["far", ""]


async def test_strangers_with_tokens_hold_up_nobody_who_is_known(access: ReviewedAccess, reviewer: Reviewer) -> None:
    reviewer.silence = asyncio.Event()
    strangers = [
        asyncio.create_task(status_of(access.identify(ask(("authorization", f"Bearer {number}")), None)))
        for number in range(REVIEWS + QUEUE_LIMIT)
    ]
    await asyncio.sleep(0)
    assert await status_of(access.identify(ask(("authorization", "Bearer good")), None)) == 429
    assert await status_of(access.check(Caller("ann"), route(), POD)) == 200
    reviewer.silence.set()
    assert {*await asyncio.gather(*strangers)} == {401}
    assert (await access.identify(ask(("authorization", "Bearer good")), None)).name == "bob"

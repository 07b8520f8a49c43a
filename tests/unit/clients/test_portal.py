"""Whom the portal takes a request for, and what it keeps of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

from nestor.clients import portal
from nestor.clients.portal import People, Person, parse, read_person
from nestor.clients.ui.guard import Refused
from nestor.clients.ui.visitor import Hub
from nestor.kube import Api

SETTINGS = parse(["--host=x", "--user-prefix=oidc:", "--group=oidc:team-a", "--groups-prefix=oidc:", "--group=oidc:team-b"])
PLAIN = parse(["--host=x", "--group=system:masters", "--group=team-a"])


def said(user: str, groups: str = "") -> CIMultiDictProxy[str]:
    return CIMultiDictProxy(CIMultiDict({"X-Forwarded-User": user, "X-Forwarded-Groups": groups}))


def test_a_person_has_the_groups_that_count() -> None:
    assert read_person(said("jane", "team-b, team-a,team-c,,oidc:team-a"), SETTINGS) == Person(
        "oidc:jane", ("oidc:team-a", "oidc:team-b")
    )
    assert read_person(said(" jane "), SETTINGS) == Person("oidc:jane")


def test_nobody_is_in_a_group_of_the_clusters_own() -> None:
    assert read_person(said("jane", "system:masters,team-a"), PLAIN) == Person("jane", ("team-a",))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], 401),
        ([("X-Forwarded-Groups", "team-a")], 401),
        *(([("X-Forwarded-User", name)], 401) for name in ("", " ")),
        *(([("X-Forwarded-User", name)], 403) for name in ("system:admin", "system:serviceaccount:kube-system:x")),
        *(([("X-Forwarded-User", name)], 403) for name in ("a\nb", "ä", "x" * 257)),
        # What a browser sent beside what the proxy says.
        ([("X-Forwarded-User", "jane"), ("x-forwarded-user", "admin")], 400),
        ([("X-Forwarded-User", "jane"), ("X-Forwarded-Groups", ""), ("X-Forwarded-Groups", "team-a")], 400),
    ],
)
def test_who_is_not_said_once_by_a_name_that_users_have_is_nobody(headers: list[tuple[str, str]], status: int) -> None:
    with pytest.raises(Refused) as refused:
        read_person(CIMultiDictProxy(CIMultiDict(headers)), PLAIN)
    assert refused.value.status == status


def test_no_prefix_makes_anybody_one_of_the_clusters_own() -> None:
    settings = parse(["--host=x", "--user-prefix=system:", "--groups-prefix=system:", "--group=system:masters"])
    with pytest.raises(Refused):
        read_person(said("admin"), settings)
    plain = parse(["--host=x", "--groups-prefix=system:", "--group=system:masters"])
    assert read_person(said("jane", "masters"), plain) == Person("jane")


def test_the_headers_are_those_that_the_admin_names() -> None:
    settings = parse(["--host=x", "--user-header=X-Email", "--groups-header=X-Teams", "--group=a"])
    headers = CIMultiDictProxy(CIMultiDict({"x-email": "jane", "X-Teams": "a", "X-Forwarded-User": "john"}))
    assert read_person(headers, settings) == Person("jane", ("a",))
    with pytest.raises(Refused):
        read_person(said("john"), settings)


class Server:
    """An API server's client, and those in the names of others."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Any]] = []
        self.closed = 0

    def in_the_name_of(self, user: str, groups: Any) -> Server:
        self.made.append((user, groups))
        return self

    async def close(self) -> None:
        self.closed += 1


async def test_everybody_has_watches_of_their_own() -> None:
    known = People(cast(Api, Server()), PLAIN)
    one, other = [await known.find(cast(web.Request, SimpleNamespace(headers=said(user)))) for user in ("a", "b")]
    assert one.hub is not other.hub


async def test_those_who_look_at_nothing_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portal, "PEOPLE", 2)
    ended = []

    async def end(self: Hub) -> None:
        ended.append(self)

    monkeypatch.setattr(Hub, "close", end)
    server = Server()
    known = People(cast(Api, server), PLAIN)

    async def come(user: str) -> Any:
        return await known.find(cast(web.Request, SimpleNamespace(headers=said(user))))

    a = await come("a")
    await come("b")
    assert await come("a") is a
    await come("c")
    assert (server.closed, len(ended)) == (1, 1)
    assert [user for user, _ in server.made] == ["a", "b", "c"]
    assert await come("a") is a, "the latest stays"
    monkeypatch.setattr(Hub, "is_busy", True)
    with pytest.raises(Refused, match="Too many"):
        await come("d")
    await known.close()
    assert (known.size, server.closed, len(ended)) == (0, 3, 3), "also of the one who was forgotten"

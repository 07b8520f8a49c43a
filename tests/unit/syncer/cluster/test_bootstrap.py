"""What the nested cluster needs is asked for at once, and then patiently."""

import asyncio
from typing import Any, cast

import pytest

from nestor.kube import Api, Forbidden, Invalid, Kind, kinds
from nestor.syncer.cluster import bootstrap
from tests.unit.pods.translate.builders import TARGET

ANSWERS = [*[False] * 8, True, False]


class Server:
    """A nested API server that refuses writes as `ANSWERS` says, one per attempt."""

    def __init__(self) -> None:
        self.answers = list(ANSWERS)
        self.asked = 0
        self.is_refused = False

    async def request(self, *_: object) -> dict[str, Any]:
        if self.is_refused:
            return {"status": {"allowed": False}}
        self.asked += 1
        return {"status": {"allowed": self.asked % 2 == 0}}

    async def apply(self, kind: object, body: dict[str, Any]) -> None:
        if body.get("rules"):
            self.is_refused = not self.answers.pop(0)
            if self.is_refused:
                raise Forbidden(403, "Forbidden", "no")


async def test_a_lasting_refusal_is_asked_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []

    granted: list[int] = []
    said: list[str] = []

    async def sleep(delay: float) -> None:
        if delay < 0.1:
            return
        delays.append(delay)
        if len(delays) == len(ANSWERS):
            raise asyncio.CancelledError

    monkeypatch.setattr(bootstrap.asyncio, "sleep", sleep)  # type: ignore[attr-defined]
    with pytest.raises(asyncio.CancelledError):
        await bootstrap.keep_basics(cast("Api", Server()), TARGET, lambda: granted.append(len(delays)), said.append)
    assert delays == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10, 60, 0.2])
    assert granted == [8]
    assert set(said) == {""}


class Policed:
    """A nested API server whose admission policies refuse to write some objects. DNS had its rights before, or gets them."""

    def __init__(self, *refused: str, has_dns: bool = True) -> None:
        self.refused = refused
        self.has_dns = has_dns
        self.applied: set[str] = set()

    async def request(self, *_: object) -> dict[str, Any]:
        return {"status": {"allowed": self.has_dns or {"nestor:coredns"} <= self.applied}}

    async def apply(self, kind: object, body: dict[str, Any]) -> None:
        name = body["metadata"]["name"]
        if name in self.refused:
            raise Invalid(422, "Invalid", f"{name}: policy 'strict' denied request")
        self.applied.add(name)


async def keep(server: Policed, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """How often DNS was said to have its rights in two attempts, and what was said of the admin's."""
    pauses, granted = 0, 0
    said: list[str] = []

    async def sleep(delay: float) -> None:
        nonlocal pauses
        pauses += delay > 0.1
        if pauses == 2:
            raise asyncio.CancelledError

    def grant() -> None:
        nonlocal granted
        granted += 1

    monkeypatch.setattr(bootstrap.asyncio, "sleep", sleep)  # type: ignore[attr-defined]
    with pytest.raises(asyncio.CancelledError):
        await bootstrap.keep_basics(cast("Api", server), TARGET, grant, said.append)
    return granted, said


async def test_a_policy_that_forbids_admins_keeps_nobody_from_dns(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Policed("nestor:admins", has_dns=False)
    granted, said = await keep(server, monkeypatch)
    assert granted == 2
    assert said == ["nestor:admins: policy 'strict' denied request"] * 2
    assert server.applied == {"nestor:coredns", "kube-dns"}


async def test_a_policy_that_refuses_what_dns_already_has_takes_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    granted, said = await keep(Policed("nestor:coredns"), monkeypatch)
    assert (granted, said) == (2, ["", ""])


async def test_dns_without_rights_is_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    granted, _ = await keep(Policed("nestor:coredns", has_dns=False), monkeypatch)
    assert granted == 0


class Slow:
    """A nested API server whose authorizer learns of rights a moment later, and where a tenant refuses Services."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def request(self, *_: object) -> dict[str, Any]:
        self.log.append("ask")
        return {"status": {"allowed": self.log.count("ask") == 3}}

    async def apply(self, kind: Kind, _: object) -> None:
        if kind == kinds.SERVICE:
            self.log.append("refuse")
            raise Forbidden(403, "Forbidden", "a tenant's policy")


async def test_dns_may_connect_once_its_rights_are_in_force_even_if_its_service_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def sleep(delay: float) -> None:
        if delay >= 0.1:
            raise asyncio.CancelledError

    monkeypatch.setattr(bootstrap.asyncio, "sleep", sleep)  # type: ignore[attr-defined]
    server = Slow()
    with pytest.raises(asyncio.CancelledError):
        await bootstrap.keep_basics(cast("Api", server), TARGET, lambda: server.log.append("open"), lambda _: None)
    assert server.log == ["ask", "ask", "ask", "open", "refuse"]

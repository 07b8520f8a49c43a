"""What the nested cluster needs is asked for at once, and then patiently."""

import asyncio
from typing import Any, cast

import pytest

from nestor.kube import Api, Forbidden, Invalid, Kind
from nestor.syncer.cluster import bootstrap
from tests.unit.pods.translate.builders import TARGET

ANSWERS = [*[False] * 8, True, False]


class Server:
    """A nested API server whose admission policies refuse to write some objects. DNS had its rights before, or gets them: its
    authorizer learns of those when it is asked so many times.
    """

    def __init__(self, *refused: str, has_dns: bool = True, asks: int = 1) -> None:
        self.refused = refused
        self.has_dns = has_dns
        self.asks = asks
        self.log: list[str] = []
        """What was asked and written, and `open` when DNS was said to have its rights."""
        self.said: list[str] = []
        """What was said of the admins' rights."""
        self.delays: list[float] = []

    async def request(self, *_: object) -> dict[str, Any]:
        self.log.append("ask")
        is_granted = "nestor:coredns" in self.log and self.log.count("ask") >= self.asks
        return {"status": {"allowed": self.has_dns or is_granted}}

    async def apply(self, kind: Kind, body: dict[str, Any]) -> None:
        name = body["metadata"]["name"]
        if name in self.refused:
            raise Invalid(422, "Invalid", f"{name}: policy 'strict' denied request")
        self.log.append(name)

    async def keep(self, monkeypatch: pytest.MonkeyPatch, attempts: int = 2) -> None:
        async def sleep(delay: float) -> None:
            if delay < 0.1:
                return
            self.delays.append(delay)
            if len(self.delays) == attempts:
                raise asyncio.CancelledError

        monkeypatch.setattr(bootstrap.asyncio, "sleep", sleep)  # type: ignore[attr-defined]
        with pytest.raises(asyncio.CancelledError):
            await bootstrap.keep_basics(cast("Api", self), TARGET, lambda: self.log.append("open"), self.said.append)


class Refusing(Server):
    """Refuses as `ANSWERS` says, one per attempt."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = list(ANSWERS)

    async def apply(self, kind: Kind, body: dict[str, Any]) -> None:
        if body.get("rules"):
            self.has_dns = self.answers.pop(0)
            if not self.has_dns:
                raise Forbidden(403, "Forbidden", "no")


async def test_a_lasting_refusal_is_asked_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Refusing()
    await server.keep(monkeypatch, len(ANSWERS))
    assert server.delays == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10, 60, 0.2])
    assert server.log == [*["ask"] * 9, "open", "ask"]
    assert set(server.said) == {""}


async def test_a_policy_that_forbids_admins_keeps_nobody_from_dns(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server("nestor:admins", has_dns=False)
    await server.keep(monkeypatch)
    assert server.said == ["nestor:admins: policy 'strict' denied request"] * 2
    assert server.log == ["nestor:coredns", "nestor:coredns", "ask", "open", "kube-dns"] * 2


@pytest.mark.parametrize(("has_dns", "granted"), [(True, 2), (False, 0)])
async def test_a_policy_that_refuses_rights_takes_none_away_and_gives_none(
    has_dns: bool, granted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server("nestor:coredns", has_dns=has_dns)
    await server.keep(monkeypatch)
    assert server.log.count("open") == granted
    assert server.said == ["", ""]


async def test_dns_may_connect_once_its_rights_are_in_force_even_if_its_service_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server("kube-dns", has_dns=False, asks=3)
    await server.keep(monkeypatch, 1)
    assert server.log[-4:] == ["ask", "ask", "ask", "open"]

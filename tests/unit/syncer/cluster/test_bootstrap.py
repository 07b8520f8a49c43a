"""What the nested cluster needs is asked for at once, and then patiently."""

import asyncio
from typing import Any, cast

import pytest

from nestor.kube import Api, Forbidden, Kind, kinds
from nestor.syncer.cluster import bootstrap
from tests.unit.translate.builders import TARGET

ANSWERS = [*[False] * 8, True, False]


class Server:
    """A nested API server that refuses writes as `ANSWERS` says, one per attempt."""

    def __init__(self) -> None:
        self.answers = list(ANSWERS)
        self.asked = 0

    async def request(self, *_: object) -> dict[str, Any]:
        """Whether somebody may do something: after the first question."""
        self.asked += 1
        return {"status": {"allowed": self.asked % 2 == 0}}

    async def apply(self, kind: object, body: dict[str, Any]) -> None:
        """The first write of an attempt decides."""
        if body.get("rules") and not self.answers.pop(0):
            raise Forbidden(403, "Forbidden", "no")


async def test_a_lasting_refusal_is_asked_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []

    granted: list[int] = []

    async def sleep(delay: float) -> None:
        if delay < 0.1:
            return
        delays.append(delay)
        if len(delays) == len(ANSWERS):
            raise asyncio.CancelledError

    monkeypatch.setattr(bootstrap.asyncio, "sleep", sleep)  # type: ignore[attr-defined]
    with pytest.raises(asyncio.CancelledError):
        await bootstrap.keep_basics(cast("Api", Server()), TARGET, lambda: granted.append(len(delays)))
    assert delays == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10, 60, 0.2])
    assert granted == [8]


class Slow:
    """A nested API server whose authorizer learns of rights a moment later, and where a tenant refuses Services."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def request(self, *_: object) -> dict[str, Any]:
        """The third answer is yes."""
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
        await bootstrap.keep_basics(cast("Api", server), TARGET, lambda: server.log.append("open"))
    assert server.log == ["ask", "ask", "ask", "open", "refuse"]

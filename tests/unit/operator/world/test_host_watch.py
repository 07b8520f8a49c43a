"""What is known about the host follows it; what cannot be read stays."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.cluster.shape import Host
from nestor.kube import Api, Kind, NotFound, Unreachable
from nestor.operator.settings import Settings
from nestor.operator.world.context import Cache, Context
from nestor.operator.world.host_facts import keep_host

Object = dict[str, Any]


class FakeApi:
    """A host with these API addresses, one list after the other; None: it does not answer."""

    def __init__(self, *addresses: list[str] | None) -> None:
        self.addresses = list(addresses)

    async def get(self, kind: Kind, name: str) -> Object:
        return {"spec": {"cidrs": ["10.43.0.0/16"]}}

    async def list(self, kind: Kind, namespace: str, *, labels: str) -> list[Object]:
        found = self.addresses.pop(0)
        if found is None:
            raise Unreachable("no answer")
        return [{"addressType": "IPv4", "endpoints": [{"addresses": found}]}]


BEFORE = ["203.0.113.7"]


@pytest.mark.parametrize(
    ("answers", "expected", "times"),
    [
        ([BEFORE, BEFORE], BEFORE, 0),
        ([["203.0.113.8"], ["203.0.113.8"]], ["203.0.113.8"], 1),
        ([None, ["203.0.113.7", "203.0.113.8"]], ["203.0.113.7", "203.0.113.8"], 1),
        ([[], BEFORE], BEFORE, 0),
        ([["203.0.113.8"], BEFORE], BEFORE, 2),
    ],
    ids=["nothing new", "moved", "after an outage", "no endpoint for a moment", "there and back"],
)
async def test_addresses_are_followed(answers: list[list[str] | None], expected: list[str], times: int) -> None:
    api, told = cast(Api, FakeApi(*answers)), list[int]()
    context = Context.create(api, Settings(image="x"), Cache(api), Host(("10.43.0.0/16",), tuple(BEFORE)))
    await keep_host(context, lambda: told.append(1), delays=[0] * len(answers))
    assert context.host == Host(("10.43.0.0/16",), tuple(expected))
    assert len(told) == times


async def test_a_range_that_cannot_be_read_any_more_stays() -> None:
    class Silent(FakeApi):
        """It has no ServiceCIDR any more."""

        async def get(self, kind: Kind, name: str) -> Object:
            raise NotFound(404, "NotFound", "no")

    api = cast(Api, Silent(BEFORE))
    host = Host(("10.43.0.0/16",), tuple(BEFORE))
    context = Context.create(api, Settings(image="x"), Cache(api), host)
    await keep_host(context, lambda: pytest.fail("nothing changed"), delays=[0])
    assert context.host is host

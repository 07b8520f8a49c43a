"""What tests await is what they get, also where it has passed already when they hear of it."""

import asyncio

from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.integration.kube import faults
from tests.waiting import exists, wait_for_any


def build(version: int, state: str) -> Object:
    """A ConfigMap in a state."""
    return {"metadata": {"name": "a", "namespace": "n", "resourceVersion": str(version)}, "data": {"state": state}}


async def pass_by(exchange: faults.Exchange) -> None:
    """The object is in the state that is awaited, and at once in another: both come in one piece."""
    if "watch=true" not in exchange.target:
        await exchange.answer({"metadata": {"resourceVersion": "1"}, "items": [build(1, "before")]})
        return
    await exchange.begin()
    for version, state in ((2, "awaited"), (3, "after")):
        await exchange.send({"type": "MODIFIED", "object": build(version, state)})
    await asyncio.Event().wait()


async def test_a_state_that_has_passed_is_the_one_that_is_returned() -> None:
    async with faults.scripted(pass_by) as server, await Api.from_kubeconfig(faults.kubeconfig(server)) as api:
        found = await exists(api, kinds.CONFIG_MAP, "a", "n", lambda item: item["data"]["state"] == "awaited")
        assert (found or {})["data"] == {"state": "awaited"}
        one = await wait_for_any(api, kinds.CONFIG_MAP, "n", lambda item: bool(item["data"]["state"] == "awaited"))
        assert one["data"] == {"state": "awaited"}

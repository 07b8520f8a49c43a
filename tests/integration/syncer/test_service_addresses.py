"""Addresses of Services: chosen by the host before the nested Service exists, so that none is ever made twice."""

import datetime
import re
import time
from typing import Any

import aiohttp
import pytest

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, labels_of
from nestor.kube import Api, kinds
from nestor.syncer.cluster import webhook
from nestor.syncer.copies.rows import services
from tests.integration.syncer.test_services import build_service, host_service
from tests.integration.syncer.world import World
from tests.waiting import until


async def read_counter(world: World, name: str) -> int:
    """One of the syncer's metrics."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{world.settings.health_port}/metrics") as answer,
    ):
        found = re.search(rf"^nestor_syncer_{name}_total (\d+)\.0$", await answer.text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


async def make_other(host: Api, name: str, **spec: Any) -> Object:
    """A Service of somebody else on the host."""
    body = {"metadata": {"name": name, "namespace": "default"}}
    return await host.create(kinds.SERVICE, body | {"spec": {"ports": [{"port": 80}], **spec}})


async def is_webhook_there(world: World) -> bool:
    """Whether new Services are asked about."""
    return await world.nested.find(kinds.MUTATING_WEBHOOK, webhook.NAME) is not None


async def await_webhook(world: World) -> None:
    """Until the nested API server asks about new Services: it learns of the configuration a moment later."""
    await world.eventually(lambda: is_webhook_there(world))

    async def asked() -> bool:
        before = await read_counter(world, "service_addresses_reserved")
        name = f"probe-{time.monotonic_ns()}"
        await world.nested.create(kinds.SERVICE, build_service("default", name))
        await world.nested.delete(kinds.SERVICE, name, "default")
        return await read_counter(world, "service_addresses_reserved") > before

    await world.eventually(asked)


@pytest.fixture
async def hooked(world: World) -> World:
    """A syncer that is asked about new Services."""
    await await_webhook(world)
    return world


async def test_a_service_made_again_at_once_keeps_neither_name_nor_address_from_its_successor(hooked: World, space: str) -> None:
    world = hooked
    body, uids = build_service(space), set()
    for _ in range(10):
        made = await world.nested.create(kinds.SERVICE, body)
        uids.add(made["metadata"]["uid"])
        body = build_service(space, clusterIP=made["spec"]["clusterIP"])
        await world.nested.delete(kinds.SERVICE, "web", space)
    last = await world.nested.create(kinds.SERVICE, build_service(space))
    await until(
        lambda: host_service(world, space), lambda copy: copy and labels_of(copy)[labels.NESTED_UID] == last["metadata"]["uid"]
    )
    copy = await host_service(world, space)
    assert copy is not None
    assert copy["spec"]["clusterIP"] == last["spec"]["clusterIP"]
    assert labels.RESERVED_UNTIL not in annotations_of(copy)
    assert len(uids) == 10


async def test_an_address_that_is_taken_is_another_one_from_the_beginning(hooked: World, space: str) -> None:
    taken = await make_other(hooked.host, f"first-{space}")
    made = await hooked.nested.create(kinds.SERVICE, build_service(space, clusterIP=taken["spec"]["clusterIP"]))
    host = await hooked.host_object(kinds.SERVICE, "web", space)
    assert host["spec"]["clusterIP"] == made["spec"]["clusterIP"] != taken["spec"]["clusterIP"]


async def test_a_service_that_is_refused_leaves_nothing_behind(
    hooked: World, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_RESERVATION", datetime.timedelta(seconds=1))
    quota = {"metadata": {"name": "none", "namespace": space}, "spec": {"hard": {"services": "0"}}}
    await hooked.nested.create(kinds.RESOURCE_QUOTA, quota)

    async def is_refused() -> bool:
        """The quota counts a moment later."""
        try:
            await hooked.nested.create(kinds.SERVICE, build_service(space))
        except Exception as error:
            return "exceeded quota" in str(error)
        await hooked.nested.delete(kinds.SERVICE, "web", space)
        return False

    await hooked.eventually(is_refused)
    await until(lambda: host_service(hooked, space), lambda found: found is None)


async def test_names_that_are_generated_and_dry_runs(hooked: World, space: str) -> None:
    body = build_service(space)
    body["metadata"] = {"generateName": "web-", "namespace": space}
    made = await hooked.nested.create(kinds.SERVICE, body)
    name = made["metadata"]["name"]
    assert re.fullmatch("web-[a-z0-9]{5}", name)
    host = await hooked.host_object(kinds.SERVICE, name, space)
    assert host["spec"]["clusterIP"] == made["spec"]["clusterIP"]
    await hooked.nested.request("POST", kinds.SERVICE.path(space), {"dryRun": "All"}, build_service(space, "dry"))
    await hooked.heard()
    assert await host_service(hooked, space, "dry") is None


async def test_without_the_syncer_services_are_created_at_once_and_synced_later_or_told(hooked: World, space: str) -> None:
    """The restart comes in the middle. An address that only the host has given away cannot be had, and is named."""
    world = hooked
    taken = await make_other(world.host, f"second-{space}")
    address = taken["spec"]["clusterIP"]
    await world.stop()
    try:
        begin = time.monotonic()
        await world.nested.create(kinds.SERVICE, build_service(space, clusterIP=address))
        free = await world.nested.create(kinds.SERVICE, build_service(space, "free"))
        assert time.monotonic() - begin < webhook.TIMEOUT_SECONDS
    finally:
        await world.start()
    assert (await world.host_object(kinds.SERVICE, "free", space))["spec"]["clusterIP"] == free["spec"]["clusterIP"]

    async def told() -> Object | None:
        events = await world.nested.list(kinds.EVENT, space, fields="involvedObject.name=web,reason=ServiceNotSynced")
        return events[0] if events else None

    assert f"the host has given its address {address} to another Service" in (await world.eventually(told))["message"]
    await world.nested.delete(kinds.SERVICE, "web", space)
    again = await world.nested.create(kinds.SERVICE, build_service(space))
    assert again["spec"]["clusterIP"] != address

    def is_same(found: Object | None) -> bool:
        """A busy machine may be too slow for the webhook: then the host follows."""
        return bool(found and found["spec"]["clusterIP"] == again["spec"]["clusterIP"])

    await until(lambda: host_service(world, space), is_same)


async def test_an_admin_who_changes_or_deletes_the_configuration_gets_it_back(
    hooked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await hooked.stop()
    monkeypatch.setattr(webhook, "_CHECK_SECONDS", 0.2)
    try:
        await hooked.start()
        await hooked.eventually(lambda: is_webhook_there(hooked))
        there = await hooked.nested.get(kinds.MUTATING_WEBHOOK, webhook.NAME)
        strict = [there["webhooks"][0] | {"failurePolicy": "Fail", "timeoutSeconds": 30}]
        await hooked.nested.patch(kinds.MUTATING_WEBHOOK, webhook.NAME, None, {"webhooks": strict})

        async def restored() -> bool:
            found = await hooked.nested.find(kinds.MUTATING_WEBHOOK, webhook.NAME)
            return bool(found and found["webhooks"] == there["webhooks"])

        await hooked.eventually(restored)
        await hooked.nested.delete(kinds.MUTATING_WEBHOOK, webhook.NAME)
        await hooked.eventually(restored)
    finally:
        monkeypatch.undo()
        await hooked.stop()
        await hooked.start()


async def test_whoever_calls_gets_nothing_but_an_answer(hooked: World) -> None:
    """An admin of the nested cluster can reach loopback ports by proxies and webhooks of his own."""
    url = f"https://127.0.0.1:{hooked.settings.services_port}/services"
    async with aiohttp.ClientSession() as session:

        async def post(content: bytes) -> tuple[int, str]:
            headers = {"Content-Type": "application/json"}
            async with session.post(url, data=content, ssl=False, headers=headers) as answer:
                return answer.status, await answer.text()

        assert (await post(b"no"))[0] == 400
        assert (await post(b"[" * 100_000))[0] == 400
        status, text = await post(b'{"request": {"uid": "u", "operation": "CREATE", "object": {"spec": 1}}}')
        assert status == 200
        assert '"allowed": true' in text
        async with session.get(url, ssl=False) as answer:
            assert answer.status == 405

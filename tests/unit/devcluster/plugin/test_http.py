"""Both hops over HTTP. No container runs: `hold` keeps the pods waiting, or containerd, which is a stand-in, has no image."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from devcluster.plugin import server, surroundings
from devcluster.plugin.orders import Client
from devcluster.plugin.server import Settings
from devcluster.plugin.status import is_known
from nestor.api.objects import Object
from tests import waiting
from tests.unit.devcluster.plugin.idle import idle
from tests.unit.devcluster.plugin.pods import container, pod

ADDRESS = "127.0.0.1"


@dataclass
class Backend:
    """The running backend, and somebody who asks it."""

    settings: Settings
    session: aiohttp.ClientSession

    async def ask(self, method: str, route: str, content: Any = None, hop: str = "server", **options: Any) -> tuple[int, str]:
        """Status and text of an answer."""
        url = f"http://{ADDRESS}:{getattr(self.settings.ports, hop)}/{route}"
        async with self.session.request(method, url, json=content, **options) as answer:
            return answer.status, await answer.text()

    async def switch(self, **values: Any) -> None:
        """Set switches as tests of a running cluster do."""
        await asyncio.to_thread(Client(self.settings.socket).switch, **values)

    async def state(self) -> Object:
        """What the backend shows of itself."""
        found: Object = await asyncio.to_thread(Client(self.settings.socket).state)
        return found

    async def statuses(self, *pods: Object) -> list[Object]:
        """The answer about pods, at hop 1, as far as it knows them."""
        status, text = await self.ask("GET", "status", list(pods))
        assert status == 200, text
        return [item for item in json.loads(text) if is_known(item)]

    async def waits_for(self, given: Object, reason: str) -> bool:
        """Whether that is why the pod's container waits."""
        (seen,) = await self.statuses(given)
        return bool(seen["containers"][0]["state"]["waiting"]["reason"] == reason)

    async def is_gone(self) -> bool:
        """Whether `POD` is unknown."""
        return not await self.statuses(POD)


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncIterator[Settings]:
    """A backend of the test's own."""
    made = idle(tmp_path, ADDRESS)
    yield made
    # Pods outlive the plugin, by design.
    for file in made.place.networks.glob("*"):
        await surroundings.remove_network(file)


@pytest.fixture
async def backend(settings: Settings) -> AsyncIterator[Backend]:
    """The backend, which starts no pod."""
    async with AsyncExitStack() as stack:
        found = await start(settings, stack)
        await found.switch(hold=True)
        yield found


async def start(settings: Settings, stack: AsyncExitStack) -> Backend:
    """A backend, until `stack` ends."""
    await server.start(settings, stack)
    return Backend(settings, await stack.enter_async_context(aiohttp.ClientSession()))


POD = pod()
LOG = {"Namespace": "team", "PodUID": "uid-1", "PodName": "one", "ContainerName": "main", "Opts": {}}


async def test_a_pod_is_created_seen_and_deleted(backend: Backend) -> None:
    status, text = await backend.ask("POST", "create", {"pod": POD})
    created = json.loads(text)
    assert (status, created["PodUID"]) == (200, "uid-1")
    (seen,) = await backend.statuses(POD, pod() | {"metadata": {"uid": "other"}})
    assert (seen["UID"], seen["JID"], seen["name"], seen["namespace"]) == ("uid-1", created["PodJID"], "one", "team")
    assert await backend.waits_for(POD, "Queued")
    assert (await backend.ask("DELETE", "delete", POD))[0] == 200
    await waiting.eventually(backend.is_gone)
    assert await backend.ask("DELETE", "delete", POD) == (404, "pod uid-1 not found")
    assert list(backend.settings.place.home.iterdir()) == []


@pytest.mark.parametrize("is_list", [False, True])
async def test_a_plugin_answers_a_list_with_a_list(backend: Backend, is_list: bool) -> None:
    content = {"pod": POD, "container": []}
    status, text = await backend.ask("POST", "create", [content] if is_list else content, "plugin")
    assert status == 200
    assert isinstance(json.loads(text), list) is is_list


async def test_who_gives_up_a_create_has_created(backend: Backend) -> None:
    await backend.switch(faults=[{"kind": "delay", "route": "create", "hop": "server", "seconds": 0.3, "times": 1}])
    with pytest.raises(TimeoutError):
        await backend.ask("POST", "create", {"pod": POD}, timeout=aiohttp.ClientTimeout(total=0.05))
    await waiting.eventually(lambda: backend.statuses(POD))


async def test_a_second_create_is_refused_or_answered_as_the_first(backend: Backend) -> None:
    _, first = await backend.ask("POST", "create", {"pod": POD})
    assert (await backend.ask("POST", "create", {"pod": POD}))[0] == 409
    await backend.switch(repeat="same")
    assert await backend.ask("POST", "create", {"pod": POD}) == (200, first)


def mounting(volume: Object) -> Object:
    """A pod whose container mounts this volume."""
    found = container(volumeMounts=[{"name": volume["name"], "mountPath": "/v"}])
    return found | {"spec": found["spec"] | {"volumes": [volume]}}


REFUSED: list[tuple[Any, str]] = [
    ({"pod": container(env=[{"name": "A", "valueFrom": {"fieldRef": {}}}])}, "env 'A' of container 'main' is not resolved"),
    ({"pod": mounting({"name": "v", "configMap": {"name": "gone"}})}, "configMap 'gone', was not sent"),
    ({"pod": container(resources={"limits": {"nvidia.com/gpu": "9"}})}, "wants 9 of nvidia.com/gpu"),
    ({"pod": POD, "jobscriptURL": "http://example.com"}, "job scripts cannot be had"),
    ({"pod": POD | {"metadata": {"uid": "../up", "name": "one", "namespace": "team"}}}, "pod.metadata.uid"),
    ({"pod": container(image="--help")}, "pod.spec.containers.0.image"),
    ({"pod": POD, "configmaps": [{"metadata": {"name": "x"}, "data": {"../up": "x"}}]}, "configmaps.0.data"),
]
"""Bodies of another form than the description's are those of `test_protocol`."""


@pytest.mark.parametrize(("content", "words"), REFUSED, ids=[words for _, words in REFUSED])
async def test_a_refused_pod_is_not_kept(backend: Backend, content: Any, words: str) -> None:
    status, text = await backend.ask("POST", "create", content)
    assert (status, words in text) == (400, True)
    assert await backend.statuses(POD) == []
    assert list(backend.settings.place.home.iterdir()) == []


async def test_a_ping_tells_resources_and_taints(backend: Backend) -> None:
    resources = {
        "cpu": "4",
        "memory": "8Gi",
        "pods": "50",
        "accelerators": [{"resourceType": "nvidia.com/gpu", "available": "2"}],
    }
    _, text = await backend.ask("POST", "pinglink")
    assert json.loads(text) == {"status": "ok", "resources": resources}
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    await backend.switch(taints=[taint])
    assert json.loads((await backend.ask("POST", "pinglink"))[1])["taints"] == [taint]
    await backend.switch(ping="text")
    assert await backend.ask("POST", "pinglink") == (200, "interLink is up and its plugin answers")


async def test_a_ping_fails_when_the_plugin_does(backend: Backend) -> None:
    await backend.switch(faults=[{"kind": "error", "hop": "plugin", "route": "status", "code": 500, "text": "no Slurm"}])
    assert await backend.ask("POST", "pinglink") == (503, "the plugin answers 500: no Slurm")


async def test_errors_of_the_plugin_reach_the_caller_with_their_text(backend: Backend) -> None:
    await backend.switch(faults=[{"kind": "error", "hop": "plugin", "code": 507, "text": "quota of group physics used up"}])
    assert await backend.ask("POST", "create", {"pod": POD}) == (507, "quota of group physics used up")
    assert await backend.ask("GET", "status", [POD]) == (507, "quota of group physics used up")


@pytest.mark.parametrize("hop", ["server", "plugin"])
async def test_a_log_that_is_not_there(backend: Backend, hop: str) -> None:
    await backend.ask("POST", "create", {"pod": POD})
    assert await backend.ask("GET", "getLogs", LOG, hop) == (404, "container 'main' of pod uid-1 has no log yet")
    assert (await backend.ask("GET", "getLogs", LOG | {"ContainerName": "x"}, hop))[0] == 404
    assert (await backend.ask("GET", "getLogs", LOG | {"Opts": {"Tail": -1}}, hop))[0] == 400


async def test_who_has_no_token_is_not_let_in(backend: Backend) -> None:
    await backend.switch(auth="bearer", tokens=["static"])
    for hop, route in (("server", "status"), ("plugin", "status"), ("server", "getLogs")):
        assert (await backend.ask("GET", route, [], hop))[0] == 401
    assert (await backend.ask("GET", "status", [], headers={"Authorization": "Bearer static"}))[0] == 200


async def get_token(backend: Backend, **options: Any) -> tuple[int, Object]:
    """The answer of `/token` to client credentials."""
    url = f"http://{ADDRESS}:{backend.settings.ports.server}"
    async with backend.session.get(f"{url}/.well-known/openid-configuration") as answer:
        place = (await answer.json())["token_endpoint"]
    form = {"grant_type": "client_credentials", **options.pop("form", {})}
    async with backend.session.post(place, data=form, **options) as answer:
        return answer.status, await answer.json()


def basic(client: str, secret: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{client}:{secret}'.encode()).decode()}"}


CLIENT = {"client_id": "nestor", "client_secret": "not-a-secret"}


@pytest.mark.parametrize("options", [{"form": CLIENT}, {"headers": basic("nestor", "not-a-secret")}])
async def test_a_client_gets_a_token_and_is_let_in(backend: Backend, options: Any) -> None:
    await backend.switch(auth="bearer", token_seconds=60)
    status, answer = await get_token(backend, **options)
    assert (status, answer["token_type"], answer["expires_in"]) == (200, "Bearer", 60)
    login = {"Authorization": f"Bearer {answer['access_token']}"}
    assert (await backend.ask("POST", "create", {"pod": POD}, headers=login))[0] == 200
    await backend.switch(not_before=4_000_000_000)
    assert (await backend.ask("GET", "status", [], headers=login))[0] == 401

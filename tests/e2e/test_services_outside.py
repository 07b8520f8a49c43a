"""Who reaches a nested cluster from outside: the node ports of its Services, where the class allows them, and its API server."""

import asyncio
import contextlib
import json
import re
import socket
import urllib.parse
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import yaml

from nestor.api import labels, names
from nestor.api.objects import Object, annotations_of, labels_of, spec_of, status_of
from nestor.kube import Api, kinds
from tests.e2e.attack_script import is_refusal
from tests.e2e.conftest import BUSYBOX, IS_EMBEDDED, fresh_namespace, kubectl
from tests.e2e.services import Inside
from tests.waiting import eventually, until

pytestmark = pytest.mark.xdist_group("house")

SECONDS = 2.0
"""For one answer; what is open answers at once."""


@dataclass
class Outside:
    """The machine of the tests, which is in no cluster."""

    session: aiohttp.ClientSession
    nodes: dict[str, str]
    """Addresses of the host cluster's own nodes, by name."""

    async def ask(self, address: str, port: int, path: str = "/") -> str:
        """The page of a web server there; empty if nobody answers."""
        try:
            async with self.session.get(f"http://{address}:{port}{path}") as response:
                return (await response.text()).strip()
        except (aiohttp.ClientError, TimeoutError):
            return ""


@pytest.fixture
async def outside(api: Api) -> AsyncIterator[Outside]:
    """The machine, which makes a new connection for each request."""
    nodes = {
        node["metadata"]["name"]: item["address"]
        for node in await api.list(kinds.NODE)
        if labels.BACKEND not in labels_of(node)
        for item in status_of(node)["addresses"]
        if item["type"] == "InternalIP"
    }
    connector, timeout = aiohttp.TCPConnector(force_close=True), aiohttp.ClientTimeout(total=SECONDS)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        yield Outside(session, nodes)


def own_address(towards: str) -> str:
    """With which address this machine connects to another one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((towards, 9))
        return str(probe.getsockname()[0])


async def test_a_node_port_answers_at_the_address_of_a_node(inside: Inside, api: Api, outside: Outside) -> None:
    (port,) = (await inside.get("service", "outside"))["spec"]["ports"]
    host = await api.get(kinds.SERVICE, names.host_name("outside", "default"), inside.home)
    assert [item["nodePort"] for item in host["spec"]["ports"]] == [port["nodePort"]]
    address = next(iter(outside.nodes.values()))
    assert await eventually(lambda: outside.ask(address, port["nodePort"])) in ("web-0", "web-1")
    shown = json.loads(await kubectl(inside.kubeconfig, "get", "nodes", "-o", "json"))["items"]
    for own in [item["address"] for node in shown for item in node["status"]["addresses"] if item["type"] == "InternalIP"]:
        assert await inside.reach(f"{own}:{port['nodePort']}") in ("web-0", "web-1")


async def test_a_local_traffic_policy_shows_the_clients_address_and_only_nodes_with_a_ready_pod_answer(
    inside: Inside, api: Api, outside: Outside
) -> None:
    port = (await inside.get("service", "one"))["spec"]["ports"][0]["nodePort"]
    pods = await api.list(kinds.POD, inside.home, labels=labels.selector(component=labels.COMPONENT_APP))
    (node,) = [spec_of(pod)["nodeName"] for pod in pods if annotations_of(pod).get(labels.NESTED_NAME) == "web-0"]
    address = outside.nodes[node]

    async def find_answering() -> set[str]:
        found = await asyncio.gather(*(outside.ask(there, port) for there in outside.nodes.values()))
        return {name for name, page in zip(outside.nodes, found, strict=True) if page == "web-0"}

    await until(find_answering, lambda found: found == set(outside.nodes))
    await set_policy(inside, "Local")
    await until(find_answering, lambda found: found == {node})

    async def is_shown() -> bool:
        said = await outside.ask(address, port, "/cgi-bin/who")
        return re.sub(r"^web-0 (\[::ffff:)?|\]$", "", said) == own_address(address)

    # The other node refuses by its own rules: those of this one may follow later, and hide the client until then.
    await eventually(is_shown)

    # Not ready: its probe asks for this page.
    await kubectl(inside.kubeconfig, "exec", "web-0", "--", "mv", "/tmp/www/index.html", "/tmp/index.html")

    async def is_silent() -> bool:
        return not await outside.ask(address, port, "/cgi-bin/who")

    await eventually(is_silent)
    await kubectl(inside.kubeconfig, "exec", "web-0", "--", "mv", "/tmp/index.html", "/tmp/www/index.html")
    await until(find_answering, lambda found: found == {node})
    await set_policy(inside, "Cluster")
    await until(find_answering, lambda found: found == set(outside.nodes))


async def set_policy(inside: Inside, policy: str) -> None:
    """From where traffic to the node ports of the Service `one` may come to its pod."""
    change = {"spec": {"externalTrafficPolicy": policy}}
    await kubectl(inside.kubeconfig, "patch", "service", "one", "--patch", json.dumps(change))


@dataclass
class Door:
    """The nested API server, and who is let in there."""

    api: Api
    class_name: str
    network: Object
    """Of the class, as it was."""
    host: str
    port: int

    async def let_in(self, *peers: str) -> None:
        """Let these in and nobody else; a change of the class applies to its jobs a moment later."""
        change = {"spec": {"network": self.network | {"apiFrom": list(peers)}}}
        await self.api.patch(kinds.NESTED_CLASS, self.class_name, None, change)

    async def restore(self) -> None:
        """Let in whom the class let in before."""
        change = {"spec": {"network": self.network | {"apiFrom": self.network.get("apiFrom")}}}
        await self.api.patch(kinds.NESTED_CLASS, self.class_name, None, change)

    async def is_open(self) -> bool:
        """Whether this machine gets in."""
        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection(self.host, self.port), SECONDS)
        except OSError:
            return False
        writer.close()
        return True

    async def is_closed(self) -> bool:
        """Whether it does not."""
        return not await self.is_open()


@pytest.fixture
async def door(inside: Inside, api: Api) -> AsyncIterator[Door]:
    """The way in; in the end, as it was."""
    url = urllib.parse.urlsplit(yaml.safe_load(inside.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])
    network = spec_of(await api.get(kinds.NESTED_CLASS, inside.class_name)).get("network") or {}
    found = Door(api, inside.class_name, network, str(url.hostname), url.port or 443)
    yield found
    await found.restore()
    await eventually(found.is_open)


@dataclass
class Callers:
    """A pod on each node, in a user's namespace."""

    kubeconfig: Path
    namespace: str
    pods: list[str]

    async def count(self, door: Door) -> int | None:
        """How many of them get in: the API server says that it wants TLS. None if one hears nothing (see `attack_script`);
        elsewhere walls are silent, and that friends get in at that moment is the control.
        """
        script = f"timeout 4 wget -q -O - http://{door.host}:{door.port}/ 2>&1 || true"
        calls = [kubectl(self.kubeconfig, "exec", "-n", self.namespace, pod, "--", "sh", "-c", script) for pod in self.pods]
        answers = await asyncio.gather(*calls)
        is_in = ["400 Bad Request" in answer for answer in answers]
        is_known = all(map(is_refusal, (said for said, enters in zip(answers, is_in, strict=True) if not enters)))
        return sum(is_in) if is_known or not IS_EMBEDDED else None

    async def until(self, door: Door, count: int) -> None:
        """Await that so many get in."""
        await until(lambda: self.count(door), lambda found: found == count)


@contextlib.asynccontextmanager
async def calling(api: Api, kubeconfig: Path, used: list[str], nodes: Iterable[str]) -> AsyncIterator[Callers]:
    """The pods, ready."""
    async with fresh_namespace(api, used) as namespace:
        pods = {f"caller-{number}": node for number, node in enumerate(nodes)}
        container: Object = {"name": "main", "image": BUSYBOX, "command": ["sleep", "3600"]}
        for name, node in pods.items():
            spec = {"nodeName": node, "terminationGracePeriodSeconds": 0, "containers": [container]}
            await api.create(kinds.POD, {"metadata": {"name": name, "namespace": namespace}, "spec": spec})
        waiting = ("wait", "--for=condition=Ready", "pod", "--all")
        await kubectl(kubeconfig, "-n", namespace, *waiting)
        yield Callers(kubeconfig, namespace, list(pods))


async def test_the_nested_api_server_is_reached_by_whom_the_class_names_and_nobody_else(
    door: Door, api: Api, kubeconfig: Path, used_namespaces: list[str], outside: Outside
) -> None:
    blocks = [peer for peer in door.network.get("apiFrom", []) if "/" in peer]
    async with (
        calling(api, kubeconfig, used_namespaces, outside.nodes) as friends,
        calling(api, kubeconfig, used_namespaces, outside.nodes) as strangers,
    ):
        await strangers.until(door, len(outside.nodes))
        await door.let_in(friends.namespace, *blocks)
        await strangers.until(door, 0)
        assert await friends.count(door) == len(outside.nodes)
        if IS_EMBEDDED:
            # This machine is no pod, but has a route: its address alone lets it in.
            assert await door.is_open()
            await door.let_in(friends.namespace)
            await eventually(door.is_closed)
            assert await friends.count(door) == len(outside.nodes)
        await door.restore()
        await strangers.until(door, len(outside.nodes))

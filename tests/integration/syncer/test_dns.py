"""CoreDNS itself, as the operator configures it, beside a nested API server and behind the syncer's gate."""

import asyncio
import contextlib
import datetime
import os
import socket
import struct
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from nestor.api.contracts.cluster import COREDNS_KUBECONFIG, GATE_PORT
from nestor.cluster import coredns
from nestor.cluster.coredns import build_corefile
from nestor.cluster.shape import DNS_PORT, Host, Shape
from nestor.kube import kinds
from tests.integration import apiserver
from tests.integration.syncer.world import World
from tests.unit.operator.builders import build_shape
from tests.waiting import until

pytestmark = pytest.mark.slow

A, PTR = 1, 12
NO_ERROR, NX_DOMAIN, REFUSED = 0, 3, -1


@dataclass
class Dns:
    """A running CoreDNS."""

    port: int
    ready_url: str

    async def ask(self, name: str, kind: int = A) -> tuple[int, list[bytes]]:
        """Response code and data of the answers."""
        loop = asyncio.get_running_loop()
        labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.setblocking(False)
            connection.connect(("127.0.0.1", self.port))
            query = struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + labels + struct.pack("!BHH", 0, kind, 1)
            try:
                async with asyncio.timeout(5):
                    await loop.sock_sendall(connection, query)
                    return parse(await loop.sock_recv(connection, 4096))
            except ConnectionRefusedError:  # it says that it is ready a moment before it listens
                return REFUSED, []


def parse(data: bytes) -> tuple[int, list[bytes]]:
    """Response code and data of the answers of one DNS message with one question."""
    _, flags, _, count, _, _ = struct.unpack("!6H", data[:12])
    at = data.index(b"\0", 12) + 5
    found = []
    for _ in range(count):
        while data[at] and data[at] < 0xC0:
            at += data[at] + 1
        at += 2 if data[at] else 1
        length = struct.unpack("!H", data[at + 8 : at + 10])[0]
        found.append(data[at + 10 : at + 10 + length])
        at += 10 + length
    return flags & 0xF, found


@contextlib.contextmanager
def running_dns(world: World, folder: Path, shape: Shape | None = None, upstream: int = 1) -> Iterator[Dns]:
    """CoreDNS with our Corefile, on ports that are free."""
    dns, ready, health = apiserver.free_ports(3)
    access = world.settings.access
    (access / COREDNS_KUBECONFIG).write_text(world.plane.dns_kubeconfig.replace(str(GATE_PORT), str(world.settings.gate_port)))
    text = build_corefile(shape or build_shape(), "10.43.0.5")
    for old, new in (
        (f":{DNS_PORT} ", f":{dns} "),
        (f":{coredns.HEALTH_PORT}", f"127.0.0.1:{health}"),
        (str(coredns.READY_PORT), str(ready)),
        (coredns.KUBECONFIG_FOLDER, str(access)),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "Corefile").write_text(text.replace("/etc/resolv.conf", f"127.0.0.1:{upstream}"))
    command = ["setpriv", "--pdeathsig", "KILL", str(apiserver.binary("coredns")), "-conf", str(folder / "Corefile")]
    with (folder / "coredns.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ})
    try:
        yield Dns(dns, f"http://127.0.0.1:{ready}/ready")
    finally:
        process.kill()
        process.wait()
        print((folder / "coredns.log").read_text())


@contextlib.asynccontextmanager
async def running_upstream() -> AsyncIterator[tuple[int, list[str]]]:
    """A resolver that knows no name: its port, and what it was asked for."""
    asked: list[str] = []
    loop = asyncio.get_running_loop()

    async def serve(connection: socket.socket) -> None:
        while True:
            data, address = await loop.sock_recvfrom(connection, 4096)
            labels, at = [], 12
            while data[at]:
                labels.append(data[at + 1 : at + 1 + data[at]].decode())
                at += data[at] + 1
            asked.append(".".join(labels))
            answer = data[:2] + struct.pack("!5H", 0x8180 | NX_DOMAIN, 1, 0, 0, 0) + data[12 : at + 5]
            await loop.sock_sendto(connection, answer, address)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.setblocking(False)
        connection.bind(("127.0.0.1", 0))
        task = asyncio.create_task(serve(connection))
        yield connection.getsockname()[1], asked
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def create_service(world: World, space: str, name: str, address: str) -> None:
    """A nested Service with a ClusterIP."""
    spec = {"clusterIP": address, "ports": [{"port": 80}]}
    body = {"metadata": {"name": name, "namespace": space}, "spec": spec}
    await world.nested.create(kinds.SERVICE, body)


@pytest.fixture
async def stopped(world: World) -> AsyncIterator[World]:
    """The world without its syncer, for tests that start it themselves."""
    await world.stop()
    kept = world.settings
    try:
        yield world
    finally:
        await world.stop()
        world.settings = kept
        await world.start()


@contextlib.asynccontextmanager
async def renewing(world: World, life: datetime.timedelta) -> AsyncIterator[None]:
    """Fresh keys of so long a life again and again, for the length of a `with` block: a start may take longer."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(life.total_seconds() / 3)
            world.plane.renew_dns(life)

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_dns_goes_on_with_renewed_keys_when_its_first_ones_have_ended(stopped: World, space: str, tmp_path: Path) -> None:
    world, life = stopped, datetime.timedelta(seconds=6)

    async def resolves(name: str, address: bytes) -> bool:
        return await dns.ask(f"{name}.{space}.svc.cluster.local") == (NO_ERROR, [address])

    world.plane.renew_dns(life)
    with running_dns(world, tmp_path) as dns:
        async with renewing(world, life):
            world.settings = replace(world.settings, dns_ready_url=dns.ready_url)
            await world.start()
            await create_service(world, space, "early", "10.43.77.1")
            await world.eventually(lambda: resolves("early", b"\x0a\x2b\x4d\x01"))
        begin = datetime.datetime.now(datetime.UTC)
        world.plane.renew_dns(datetime.timedelta(hours=1))

        async def has_ended() -> bool:
            return datetime.datetime.now(datetime.UTC) > begin + life + datetime.timedelta(seconds=1)

        await world.eventually(has_ended)
        # The syncer restarts for its own renewed keys, which are in the same Secret; so all connections begin anew.
        await world.stop()
        await world.start()
        await create_service(world, space, "late", "10.43.77.2")
        await world.eventually(lambda: resolves("late", b"\x0a\x2b\x4d\x02"))


async def test_a_cluster_without_internet_asks_nobody_else(stopped: World, space: str, tmp_path: Path) -> None:
    """Names of the nested cluster resolve, addresses too; nothing else is known, and nobody is asked for it."""
    world = stopped
    world.plane.renew_dns(datetime.timedelta(hours=1))
    shape = build_shape(policy={"network": {"internet": "None"}})
    with running_dns(world, tmp_path, shape) as dns:
        world.settings = replace(world.settings, dns_ready_url=dns.ready_url)
        await world.start()
        await create_service(world, space, "web", "10.43.77.3")
        await until(lambda: dns.ask(f"web.{space}.svc.cluster.local"), lambda found: found == (NO_ERROR, [b"\x0a\x2b\x4d\x03"]))
        assert (await dns.ask("3.77.43.10.in-addr.arpa", PTR))[0] == NO_ERROR
        for name in ("4.77.43.10.in-addr.arpa", "8.8.8.8.in-addr.arpa", "example.org", "nobody.default.svc.cluster.local"):
            assert await dns.ask(name, PTR if name.endswith("arpa") else A) == (NX_DOMAIN, []), name


async def test_the_hosts_own_names_are_hidden(stopped: World, space: str, tmp_path: Path) -> None:
    """Those of its Services and pods, and the names behind its addresses; public addresses are somebody else's to name."""
    world = stopped
    world.plane.renew_dns(datetime.timedelta(hours=1))
    shape = build_shape(host=Host(("10.43.0.0/16",), domain="corp.example"))
    async with running_upstream() as (upstream, asked):
        with running_dns(world, tmp_path, shape, upstream) as dns:
            world.settings = replace(world.settings, dns_ready_url=dns.ready_url)
            await world.start()
            await create_service(world, space, "web", "10.43.77.5")
            await until(lambda: dns.ask("5.77.43.10.in-addr.arpa", PTR), lambda found: found[0] == NO_ERROR)
            hidden = (
                "6.77.43.10.in-addr.arpa",
                "1.1.20.172.in-addr.arpa",
                "db.prod.svc.corp.example",
                "1-2-3-4.x.pod.corp.example",
            )
            for name in hidden:
                assert await dns.ask(name, PTR if name.endswith("arpa") else A) == (NX_DOMAIN, []), name
            assert asked == []
            for name in ("8.8.8.8.in-addr.arpa", "www.corp.example"):
                await dns.ask(name)
            assert asked == ["8.8.8.8.in-addr.arpa", "www.corp.example"]

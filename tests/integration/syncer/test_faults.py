"""Whatever happens to its watches and requests, the syncer ends up where both clusters agree.

A proxy before each API server delays, cuts and reorders what the syncer hears, while a tenant changes things at random.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, status_of
from nestor.kube import Api, ApiError, Kind, kinds
from nestor.kube.pace import Pace, Rate
from nestor.pods.translate.config import CONFIG_MAPS, SECRETS, find_references
from nestor.pods.translate.labels import host_labels
from nestor.syncer import limits
from tests.integration import apiserver
from tests.integration.kube.faults import FaultProxy, proxy_to
from tests.integration.syncer import world as worlds
from tests.integration.syncer.player import playing
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.test_services import build_service
from tests.integration.syncer.world import World

CHANGES = 120
PUT_OFF: list[float] = []
"""How long writes had to wait for the pace."""
COPIED = {kinds.CONFIG_MAP: CONFIG_MAPS, kinds.SECRET: SECRETS}


@pytest.fixture(scope="module")
async def between(control_plane: apiserver.ControlPlane, host: Api) -> AsyncIterator[tuple[World, list[FaultProxy]]]:
    """A syncer that reaches both clusters through a proxy each; the test reaches them directly."""
    async with worlds.running_nested() as plane, await Api.connect(str(plane.kubeconfig), manager="tests") as nested:
        made = await worlds.build_world(host, control_plane, plane, nested)
        async with proxy_to(host.host) as host_side, proxy_to(nested.host) as nested_side, slow_pace():
            redirect(plane.access / "syncer.kubeconfig", nested_side)
            assert made.settings.host_kubeconfig is not None
            kubeconfig = Path(made.settings.host_kubeconfig)
            redirect(kubeconfig, host_side)
            made.settings = dataclasses.replace(made.settings, host_kubeconfig=str(kubeconfig))
            await made.start()
            yield made, [host_side, nested_side]
            await made.stop()


@pytest.fixture
async def world(between: tuple[World, list[FaultProxy]]) -> World:
    """Both clusters; the name puts these tests into the group of the syncer's."""
    return between[0]


@contextlib.asynccontextmanager
async def slow_pace() -> AsyncIterator[None]:
    """Writes to the host are put off often, which must not lose any: by a slow pace, and, since a busy machine is slower, every
    third one whatever the pace."""
    find_wait = Pace.find_wait
    writes = itertools.count()

    def note(self: Pace, size: int, now: float) -> float:
        wait = find_wait(self, size, now) or (next(writes) % 3 == 0) * 0.05
        PUT_OFF.extend([wait] if wait else [])
        return wait

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "HOST_WRITES", Rate(per_second=20, burst=5))
        patch.setattr(Pace, "find_wait", note)
        yield


def redirect(kubeconfig: Path, proxy: FaultProxy) -> None:
    """Have a kubeconfig lead to the proxy."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
    kubeconfig.write_text(yaml.safe_dump(config))


@contextlib.asynccontextmanager
async def faults(proxies: list[FaultProxy], chance: random.Random) -> AsyncIterator[None]:
    """Delays, lost connections and short outages on both sides, for the length of a `with` block."""

    async def disturb() -> None:
        while True:
            await asyncio.sleep(chance.uniform(0.05, 0.3))
            proxy = chance.choice(proxies)
            if chance.random() < 0.1:
                proxy.is_down = True
                proxy.cut()
                await asyncio.sleep(chance.uniform(0, 0.5))
                proxy.is_down = False
            else:
                proxy.cut_one()

    for proxy in proxies:
        proxy.jitter, proxy.chance = 0.5, chance
    task = asyncio.create_task(disturb())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for proxy in proxies:
            proxy.jitter, proxy.is_down = 0, False


@dataclass
class Tenant:
    """Changes things at random, few enough of each that they meet."""

    api: Api
    space: str
    chance: random.Random
    done: int = 0
    refused: list[str] = field(default_factory=list)

    async def change(self) -> None:
        """One change. Some meet what is there already, or nothing: those do not count."""
        often = (self._put_data, self._add_pod)
        rest = (self._drop_data, self._put_service, self._drop_service, self._label_pod, self._drop_pod)
        what: Callable[[], Awaitable[Any]] = self.chance.choice((*often, *often, *rest))
        try:
            await what()
            self.done += 1
        except ApiError as error:
            self.refused.append(str(error))

    def _choose_data(self) -> tuple[Kind, str]:
        kind = self.chance.choice(list(COPIED))
        return kind, f"data-{self.chance.randrange(3)}"

    def _choose(self, prefix: str) -> str:
        return f"{prefix}-{self.chance.randrange(4)}"

    async def _put_data(self) -> None:
        kind, name = self._choose_data()
        data = {"v": base64.b64encode(str(self.done).encode()).decode()}
        body = {"metadata": {"name": name, "namespace": self.space}, "data": data}
        await self._put(kind, body, {"data": data})

    async def _put_service(self) -> None:
        body = build_service(self.space, self._choose("svc"), sessionAffinity=self.chance.choice(["None", "ClientIP"]))
        body["spec"]["selector"] = {"app": self._choose("pod")}
        await self._put(kinds.SERVICE, body, {"spec": body["spec"]})

    async def _put(self, kind: Kind, body: Object, change: Object) -> None:
        name = body["metadata"]["name"]
        if await self.api.find(kind, name, self.space) is None:
            await self.api.create(kind, body)
        else:
            await self.api.patch(kind, name, self.space, change)

    async def _drop_data(self) -> None:
        kind, name = self._choose_data()
        await self.api.delete(kind, name, self.space)

    async def _drop_service(self) -> None:
        await self.api.delete(kinds.SERVICE, self._choose("svc"), self.space)

    async def _add_pod(self) -> None:
        kind, name = self._choose_data()
        source: Object = {"configMap": {"name": name}} if kind == kinds.CONFIG_MAP else {"secret": {"secretName": name}}
        volumes = [{"name": "data", **source}]
        await self.api.create(kinds.POD, build_pod(self.space, self._choose("pod"), volumes=volumes))

    async def _label_pod(self) -> None:
        change = {"metadata": {"labels": {"color": str(self.done)}}}
        await self.api.patch(kinds.POD, self._choose("pod"), self.space, change)

    async def _drop_pod(self) -> None:
        grace = self.chance.choice([None, 0])
        await self.api.delete(kinds.POD, self._choose("pod"), self.space, grace_seconds=grace)


@dataclass
class Sides:
    """What is in both clusters now."""

    nested: dict[Kind, list[Object]]
    host: dict[Kind, list[Object]]

    @classmethod
    async def look(cls, world: World, space: str) -> Sides:
        """Read everything."""
        mine = f"{labels.NESTED_NAMESPACE}={space}"
        every = (kinds.POD, kinds.SERVICE, *COPIED)
        nested = {kind: await world.nested.list(kind, space) for kind in every}
        return cls(nested, {kind: await world.host.list(kind, world.namespace, labels=mine) for kind in every})

    def find_differences(self) -> list[str]:
        """What is not as it should be; empty if all is."""
        found = [*self._compare("pods", self._nested_pods(), self._host_pods())]
        found += self._compare("services", self._nested_services(), self._host_services())
        for kind, resource in COPIED.items():
            named = {item.name for pod in self.nested[kinds.POD] for item in find_references(pod) if item.resource == resource}
            wanted = {name_of(item): item.get("data") for item in self.nested[kind] if name_of(item) in named}
            copies = [item for item in self.host[kind] if labels.PURPOSE not in labels_of(item)]
            found += self._compare(kind.plural, wanted, {nested_name(item): item.get("data") for item in copies})
        return found

    def _compare(self, what: str, wanted: Object, there: Object) -> list[str]:
        names = sorted({*wanted, *there})
        return [f"{what} {name}: {wanted.get(name)} / {there.get(name)}" for name in names if wanted.get(name) != there.get(name)]

    def _nested_pods(self) -> Object:
        """By name: UID, whether it ends, its labels as the host should have them, its phase."""
        return {
            name_of(pod): describe(pod, pod["metadata"]["uid"], host_labels(labels_of(pod), ())) for pod in self.nested[kinds.POD]
        }

    def _host_pods(self) -> Object:
        found = {}
        for pod in self.host[kinds.POD]:
            tenants = {key: value for key, value in labels_of(pod).items() if key.startswith("tenant.nestor.dev/")}
            found[nested_name(pod)] = describe(pod, labels_of(pod)[labels.NESTED_UID], tenants)
        return found

    def _nested_services(self) -> Object:
        return {
            name_of(item): (item["spec"]["clusterIP"], item["spec"]["sessionAffinity"], host_labels(item["spec"]["selector"], ()))
            for item in self.nested[kinds.SERVICE]
        }

    def _host_services(self) -> Object:
        found = {}
        for item in self.host[kinds.SERVICE]:
            spec = item["spec"]
            tenants = {key: value for key, value in spec["selector"].items() if key.startswith("tenant.nestor.dev/")}
            found[nested_name(item)] = (spec["clusterIP"], spec["sessionAffinity"], tenants)
        return found


def name_of(item: Object) -> str:
    name: str = item["metadata"]["name"]
    return name


def nested_name(item: Object) -> str:
    return annotations_of(item)[labels.NESTED_NAME]


def describe(pod: Object, uid: str, tenants: dict[str, str]) -> tuple[object, ...]:
    status = status_of(pod)
    return uid, is_terminating(pod), tenants, status.get("phase"), status.get("podIP")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_random_changes_under_faults_converge(
    between: tuple[World, list[FaultProxy]], world: World, space: str, seed: int
) -> None:
    chance = random.Random(seed)
    tenant = Tenant(world.nested, space, chance)
    lost = sum(proxy.lost for proxy in between[1])
    async with playing(world):
        async with faults(between[1], random.Random(seed)):
            while tenant.done < CHANGES:
                await tenant.change()
                await asyncio.sleep(chance.uniform(0, 0.06))
        assert sum(proxy.lost for proxy in between[1]) > lost + 10
        assert len(PUT_OFF) > 0
        differences = ["not looked at yet"]

        async def agree() -> bool:
            differences[:] = (await Sides.look(world, space)).find_differences()
            return not differences

        try:
            await world.eventually(agree)
        except AssertionError:
            raise AssertionError("\n".join(differences)) from None
        assert (await Sides.look(world, space)).nested[kinds.POD], "a run without any pods shows nothing"

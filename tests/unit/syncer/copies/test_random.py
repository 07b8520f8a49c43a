"""Watches that lag behind one another, for random changes: the copies end up as they should be."""

from __future__ import annotations

import random
from typing import Any

import pytest

from nestor.api import names
from nestor.kube import kinds
from nestor.kube.pace import Rate
from nestor.syncer import limits
from nestor.syncer.copies.rows.config import ConfigMapRow, SecretRow
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, Running, remembered, running

ROUNDS = 25
CHANGES = 40
COPIED = {kinds.CONFIG_MAP: ("configMap", "name"), kinds.SECRET: ("secret", "secretName")}
HELD = (("nested", kinds.POD), *(("nested", kind) for kind in COPIED), *(("host", kind) for kind in COPIED))


class Tenant:
    """Changes few objects often; their watches are held back and released at random."""

    def __init__(self, made: Running, chance: random.Random) -> None:
        self.made = made
        self.clusters = made.clusters
        self.chance = chance
        self.held: set[int] = set()
        self.pods: dict[str, tuple[Any, str]] = {}
        self.count = 0

    async def change(self) -> None:
        self.count += 1
        await self.chance.choice((self._put, self._put, self._drop, self._add_pod, self._drop_pod, self._hold, self._hold))()
        if self.chance.random() < 0.5:
            await self.made.settle()

    async def _put(self) -> None:
        kind, name = self._choose()
        self.clusters.nested.put(kind, {"metadata": {"name": name, "namespace": SPACE}, "data": {"v": str(self.count)}})

    async def _drop(self) -> None:
        kind, name = self._choose()
        if self.clusters.nested.look(kind, name, SPACE) is not None:
            self.clusters.nested.drop(kind, name, SPACE)

    async def _add_pod(self) -> None:
        kind, name = self._choose()
        source, field = COPIED[kind]
        pod = self.clusters.add_pod(f"pod-{self.count}", volumes=[{"name": "v", source: {field: name}}])
        self.pods[pod["metadata"]["name"]] = (kind, name)
        for engine in self.made.engines:
            await engine.ensure_needs(pod)

    async def _drop_pod(self) -> None:
        if self.pods:
            name = self.chance.choice(sorted(self.pods))
            del self.pods[name]
            self.clusters.nested.drop(kinds.POD, name, SPACE)

    async def _hold(self) -> None:
        index = self.chance.randrange(len(HELD))
        side, kind = HELD[index]
        if index in self.held:
            self.held.discard(index)
            getattr(self.clusters, side).release(kind)
        else:
            self.held.add(index)
            getattr(self.clusters, side).hold(kind)

    def release(self) -> None:
        for index in self.held:
            side, kind = HELD[index]
            getattr(self.clusters, side).release(kind)
        self.held.clear()

    def _choose(self) -> tuple[Any, str]:
        return self.chance.choice(list(COPIED)), f"data-{self.chance.randrange(2)}"

    def find_differences(self) -> list[str]:
        found = []
        for kind in COPIED:
            for name in ("data-0", "data-1"):
                source = self.clusters.nested.look(kind, name, SPACE)
                wanted = source["data"] if source is not None and (kind, name) in self.pods.values() else None
                copy = self.clusters.host.look(kind, names.host_name(name, SPACE), HOST)
                there = copy["data"] if copy is not None else None
                found += [f"{kind.plural} {name}: {wanted} / {there}"] if wanted != there else []
        return found


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_random_changes_converge_however_watches_overtake_one_another(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COPY_WRITES", Rate(per_second=1000, burst=1000))
    async with running(Clusters.build(), ConfigMapRow, SecretRow) as made:
        tenant = Tenant(made, random.Random(seed))
        for _ in range(CHANGES):
            await tenant.change()
        tenant.release()
        await made.settle()
        await made.until(lambda: not tenant.find_differences())
        for name in list(tenant.pods):
            made.clusters.nested.drop(kinds.POD, name, SPACE)
        tenant.pods.clear()
        await made.until(lambda: not tenant.find_differences())
        await made.settle()
        assert [remembered(engine) for engine in made.engines] == [0, 0]

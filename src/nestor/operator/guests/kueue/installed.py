"""Which version of Kueue's API the host cluster serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from nestor.api.objects import Object, is_terminating, spec_of
from nestor.kube import Api, Informer, kinds
from nestor.kube.tasks import together
from nestor.operator.guests.kueue import workload

NAME = f"{kinds.WORKLOAD.plural}.{kinds.WORKLOAD.group}"


def trim_definition(found: Object) -> Object:
    """Its versions: the rest is a schema of many kilobytes."""
    kept = ("name", "uid", "resourceVersion", "deletionTimestamp")
    meta = {key: value for key, value in found["metadata"].items() if key in kept}
    versions = [{key: item.get(key) for key in ("name", "served")} for item in spec_of(found).get("versions") or ()]
    return {"metadata": meta, "spec": {"versions": versions}}


def find_version(definition: Object | None) -> str | None:
    """The version to speak, the newest that both know; None if there is none, or will soon be none."""
    served = {item["name"] for item in spec_of(definition).get("versions") or () if item.get("served")}
    return None if is_terminating(definition) else next((version for version in workload.VERSIONS if version in served), None)


class _Changed(Exception):
    """There is another version."""


class Installed:
    """Watches the definition of Workloads. `use` is called with each version that there is, None too, and cancelled when there is
    another.
    """

    def __init__(self, api: Api, use: Callable[[str | None], Coroutine[Any, Any, None]]) -> None:
        self._informer = Informer(api, kinds.CRD, fields=f"metadata.name={NAME}", trim=trim_definition)
        self._changed = asyncio.Event()
        self._informer.on_change(lambda change: self._changed.set())
        self._use = use

    async def keep(self) -> None:
        """Never ends by itself."""
        await together(self._informer.run(), self._follow())

    async def _follow(self) -> None:
        await self._informer.synced.wait()
        while True:
            version = self._find()
            with suppress(_Changed):
                await together(self._use(version), self._wait_for_another(version))

    async def _wait_for_another(self, version: str | None) -> None:
        while self._find() == version:
            self._changed.clear()
            await self._changed.wait()
        raise _Changed

    def _find(self) -> str | None:
        return find_version(self._informer.get(NAME))

"""Kinds that a cluster may not have, and that few classes ask for: nobody asks for their objects before they are wanted."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping

from nestor.api.policy import Policy
from nestor.kube import ApiError, Informer, Kind, kinds
from nestor.kube.informer import LONGEST_PAUSE_SECONDS
from nestor.objects import Object

log = logging.getLogger(__name__)

MOST = 2000
"""Objects of a kind in the nested cluster, several times what it may have in the host. An admin may have some kinds served by
a server of his own, which may say that there are millions."""
_BYTES = 32 * 1024
"""Of each. One that is longer has no content for us, and is refused."""
_NAMED = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "labels")


def _has_snapshots(policy: Policy) -> bool:
    return bool(policy.volumes.snapshot_classes)


def _has_devices(policy: Policy) -> bool:
    return bool(policy.allowed_devices.classes)


KINDS: Mapping[Kind, Callable[[Policy], bool]] = {
    kinds.VOLUME_SNAPSHOT: _has_snapshots,
    kinds.VOLUME_SNAPSHOT_CLASS: _has_snapshots,
    kinds.VOLUME_SNAPSHOT_CONTENT: _has_snapshots,
    kinds.RESOURCE_CLAIM: _has_devices,
    kinds.DEVICE_CLASS: _has_devices,
}
"""By kind, whether a policy asks for it."""


class OptionalInformer(Informer):
    """A cache that stays empty until it is wanted, and as long as its server does not have the kind.

    `found` is called if it is not wanted, but there are objects, as of a time when the policy allowed more.
    """

    found: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._wanted = asyncio.Event()

    def want(self) -> None:
        """Fill the cache from here on. What was wanted once is followed until the process ends: there may be copies."""
        self._wanted.set()

    @property
    def is_expected(self) -> bool:
        """Whether it is filled, or will be in a moment."""
        return self.synced.is_set() or (self._wanted.is_set() and self.trouble is None)

    @property
    def silence(self) -> float:
        """Nothing, while nothing is expected."""
        return super().silence if self.synced.is_set() else 0.0

    async def run(self) -> None:
        """Keep the cache, once it is wanted."""
        if self.found is not None and not self._wanted.is_set() and await self._has_any():
            self.found()
        await self._wanted.wait()
        await super().run()

    @property
    def longest_pause(self) -> float:
        """As for a server that is far away: it may never have the kind."""
        return LONGEST_PAUSE_SECONDS

    def _complain(self, error: ApiError) -> None:
        level = logging.DEBUG if self._failures else logging.WARNING
        log.log(level, "watching %s, and trying again: %s", self.kind.plural, error)

    async def _has_any(self) -> bool:
        try:
            found = await self.api.request("GET", self.kind.path(self.namespace), self._query() | {"limit": "1"})
        except ApiError:
            return False  # the server does not have the kind, or does not tell us
        return bool(found.get("items"))


def bound(item: Object) -> Object:
    """What is kept of an object of such a kind in the nested cluster, where its server may be the tenant's own."""
    meta = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    kept = {**item, "metadata": meta}
    if len(json.dumps(kept)) <= _BYTES:
        return kept
    what = {key: item[key] for key in ("apiVersion", "kind") if key in item}
    return what | {"metadata": {key: meta[key] for key in _NAMED if key in meta}}

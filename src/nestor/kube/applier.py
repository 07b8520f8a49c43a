"""`Applier`: server-side apply of what is not there yet or not as it should be; cheap enough to run on every event."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nestor.api import names
from nestor.api.objects import Object, is_terminating
from nestor.api.quantities import parse_quantity
from nestor.kube.client import Api
from nestor.kube.informer import Informer
from nestor.kube.kinds import Kind

RESYNC_SECONDS = 600
"""What no informer watches is applied anew after this time, so that changes by others do not stay."""

LAG_SECONDS = 5
"""How long our own write may take to come back through an informer."""


@dataclass
class _Applied:
    fingerprint: str
    at: float
    result: Object
    was_seen: bool = False
    """Whether the cache has shown it since."""


class Applier:
    """Remembers what it applied; compares with the caches where there is one of the kind."""

    def __init__(self, api: Api, caches: Mapping[Kind, Informer] | None = None) -> None:
        self.api = api
        self._caches = caches or {}
        self._applied: dict[tuple[Kind, str, str], _Applied] = {}
        self._last: dict[str, float] = {}
        self._homes: dict[str, str] = {}

    async def ensure(self, kind: Kind, body: Object) -> Object:
        """The object as it is in the cluster, after an apply only if it differs from `body`."""
        meta = body["metadata"]
        key = (kind, meta.get("namespace", ""), meta["name"])
        fingerprint = names.digest_json(body)
        found = self._find_current(key, fingerprint, body)
        if found is None:
            found = await self.api.apply(kind, body)
            # Nobody reads more of what has no cache, and it may be large.
            kept = found if kind in self._caches else {"metadata": meta}
            self._applied[key] = _Applied(fingerprint, time.monotonic(), kept)
            self._last[key[1]] = time.monotonic()
        return found

    async def ensure_deleted(self, kind: Kind, name: str, namespace: str) -> None:
        """The object is gone, and what was applied of it is forgotten: the same body may be wanted again soon."""
        self._applied.pop((kind, namespace, name), None)
        await self.api.delete(kind, name, namespace)

    def enter(self, namespace: str, uid: str) -> bool:
        """Note which namespace this is; False when its name was another one's before, of which all is forgotten now."""
        is_known = self._homes.get(namespace, uid) == uid
        if not is_known:
            self.forget(namespace)
        self._homes[namespace] = uid
        return is_known

    def is_settling(self, namespace: str) -> bool:
        """Whether something was applied there so lately that a change by somebody else may have been taken for lag."""
        return time.monotonic() - self._last.get(namespace, -LAG_SECONDS) < LAG_SECONDS

    def forget(self, namespace: str) -> None:
        """Drop what is remembered of a namespace that goes."""
        for key in [key for key in self._applied if namespace in key[1:]]:
            del self._applied[key]
        self._last.pop(namespace, None)
        self._homes.pop(namespace, None)

    def _find_current(self, key: tuple[Kind, str, str], fingerprint: str, body: Object) -> Object | None:
        """The object if it needs no apply.

        Only an apply takes away what `body` no longer says: so it must be the body of the last one, however much `live` contains.
        """
        kind, namespace, name = key
        applied = self._applied.get(key)
        age = time.monotonic() - applied.at if applied else 0
        is_same = applied is not None and applied.fingerprint == fingerprint
        cache = self._caches.get(kind)
        if cache is None:
            return applied.result if applied and is_same and age < RESYNC_SECONDS else None
        if applied is None or not is_same:
            return None
        live = cache.get(name, namespace)
        if live is not None and not is_terminating(live) and contains(live, body):
            applied.was_seen = True
            return live
        is_lagging = not applied.was_seen and age < LAG_SECONDS
        return applied.result if is_lagging else None


def contains(live: Any, desired: Any) -> bool:
    """Whether everything that `desired` says is so in `live`, which may say more (defaults, status, others' fields)."""
    if isinstance(desired, dict):
        return isinstance(live, dict) and all(key in live and contains(live[key], value) for key, value in desired.items())
    if isinstance(desired, list):
        if not isinstance(live, list) or len(live) < len(desired):
            return not desired and live is None
        return all(contains(mine, theirs) for mine, theirs in zip(live, desired, strict=False))
    return bool(live == desired) or _is_same_quantity(live, desired)


def _is_same_quantity(live: Any, desired: Any) -> bool:
    """The API server writes quantities in its own way: `1024Mi` comes back as `1Gi`."""
    if not (isinstance(live, str) and isinstance(desired, str)):
        return False
    try:
        return parse_quantity(live) == parse_quantity(desired)
    except ValueError:  # a word; an address
        return False

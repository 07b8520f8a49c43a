"""Names of nodes that are reserved, because somebody may hold a certificate for them: one ConfigMap, which the chart's admission
policies read.

A node may create the Node of its own name, without taints. So whoever has a virtual node's certificate could take up the name as
soon as the operator has deleted the Node, and would get pods and Secrets of the whole host. A name is reserved before the first
certificate is approved, and until the last one has ended.
"""

from __future__ import annotations

import datetime

from nestor.contracts import vnode
from nestor.kube import Api, kinds
from nestor.objects import Object
from nestor.times import now, read, write

MARGIN_SECONDS = 2 * 3600.0
"""A signer may take its time: a request that is approved is kept for an hour."""
NAMES_LIMIT = 500
"""Names of one backend: its process chooses shapes, and all have to fit into one ConfigMap."""


class TooManyNames(Exception):
    """The backend has had too many nodes lately."""


class ReservedNames:
    """The names of nodes whose certificates were approved. `namespace`: the operator's own."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    async def reserve(self, node: str, backend: str) -> None:
        """Reserve a name for as long as a certificate that is approved now may last. Raises `TooManyNames`, `ApiError`."""
        found = await self._api.find(kinds.CONFIG_MAP, vnode.RESERVED_CONFIG_MAP, self._namespace)
        change = find_change((found or {}).get("data") or {}, node, backend, now())
        if found is not None:
            await self._api.patch(kinds.CONFIG_MAP, vnode.RESERVED_CONFIG_MAP, self._namespace, {"data": change})
            return
        meta = {"name": vnode.RESERVED_CONFIG_MAP, "namespace": self._namespace}
        body = {"apiVersion": "v1", "kind": kinds.CONFIG_MAP.name, "metadata": meta, "data": {node: change[node]}}
        await self._api.create(kinds.CONFIG_MAP, body)


def find_change(data: Object, node: str, backend: str, time: datetime.datetime) -> Object:
    """What changes in the ConfigMap: the name is there until later, and those are gone whose time is over. Pure."""
    ends = {name: _read(str(value)) for name, value in data.items()}
    over = {name: None for name, (_, until) in ends.items() if until is None or until < time}
    held = [name for name, (whose, _) in ends.items() if whose == backend and name not in over]
    if node not in held and len(held) >= NAMES_LIMIT:
        raise TooManyNames(f"backend '{backend}' has had {NAMES_LIMIT} nodes within a day")
    until = time + datetime.timedelta(seconds=vnode.CERTIFICATE_SECONDS + MARGIN_SECONDS)
    return over | {node: f"{backend} {write(until)}"}


def _read(value: str) -> tuple[str, datetime.datetime | None]:
    """The backend, and until when the name is reserved; None if somebody has written nonsense."""
    backend, _, until = value.partition(" ")
    try:
        found = read(until)
    except ValueError:
        return backend, None
    return backend, found if found.tzinfo else None

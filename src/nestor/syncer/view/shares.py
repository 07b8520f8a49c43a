"""How much of each node the cluster can use. Each pod changes that of all nodes, so it is only looked at now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from nestor.api.objects import Object, spec_of, status_of
from nestor.api.quantities import parse_quantity, write_quantity
from nestor.kube import Change, kinds
from nestor.pods.translate.gang_room import Amounts, add, measure
from nestor.pods.translate.status import is_terminal
from nestor.syncer.view.caches import Caches

_COUNTED = {"count/pods": "pods"}
_ZERO = Decimal(0)


def find_left(quotas: Iterable[Object]) -> Amounts:
    """What the quotas leave of the resources that nodes have; of those that no quota limits, nothing is said.

    What is requested can be no more than the limits, so that quotas of limits count as well. Those with scopes do not: they are
    about some pods alone.
    """
    left: Amounts = {}
    for quota in quotas:
        if spec_of(quota).get("scopes") or spec_of(quota).get("scopeSelector"):
            continue
        used = status_of(quota).get("used") or {}
        for name, hard in (spec_of(quota).get("hard") or {}).items():
            resource = _COUNTED.get(name) or name.removeprefix("requests.").removeprefix("limits.")
            rest = max(_ZERO, parse_quantity(str(hard)) - parse_quantity(str(used.get(name, "0"))))
            left[resource] = min(left.get(resource, rest), rest)
    return left


def find_used(pods: Iterable[Object]) -> dict[str, Amounts]:
    """What the cluster's host pods reserve on each node."""
    used: dict[str, Amounts] = {}
    for pod in pods:
        if (node := pod["spec"].get("nodeName")) and not is_terminal(pod):
            add(used.setdefault(node, {}), measure(pod))
    return used


def limit(allocatable: Mapping[str, str], left: Amounts, used: Amounts) -> dict[str, str]:
    """What the cluster can use of a node: what its pods have there and what the quotas leave, but no more than the node has."""
    result = dict(allocatable)
    for resource, amount in allocatable.items():
        if resource in left:
            most = left[resource] + used.get(resource, _ZERO)
            if most < parse_quantity(str(amount)):
                result[resource] = write_quantity(most)
    return result


FIRST_SECONDS, AGAIN_SECONDS, NODE_SECONDS = 0.5, 10.0, 0.1
"""Between a change and a look at it: at first, and after another look, there per node at least."""


class Shares:
    """What quotas and the cluster's own pods leave of nodes."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._left: Amounts = {}
        self._used: dict[str, Amounts] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looked: float | None = None
        self.wake: Callable[[], None] = lambda: None
        """Called after each look at changes."""
        caches.host_quotas.on_change(lambda _: self._plan())
        caches.host(kinds.POD).on_change(self._on_pod)

    def limit(self, node: Object) -> dict[str, str] | None:
        """What the cluster can use of a host node; None if that is all."""
        if self._looked is None and self._caches.host_quotas.synced.is_set():
            self._read()
        if not self._left:
            return None
        used = self._used.get(node["metadata"]["name"], {})
        return limit(status_of(node).get("allocatable") or {}, self._left, used)

    def _on_pod(self, change: Change) -> None:
        nodes = {spec_of(pod).get("nodeName") for pod in (change.old, change.new)}
        if self._left and (len(nodes) > 1 or change.new is None):
            self._plan()

    def _plan(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            pause = max(AGAIN_SECONDS, NODE_SECONDS * len(self._caches.nested(kinds.NODE).store))
            due = self._looked + pause if self._looked is not None else 0.0
            self._timer = loop.call_later(max(FIRST_SECONDS, due - loop.time()), self._look)

    def _look(self) -> None:
        self._timer = None
        self._read()
        self.wake()

    def _read(self) -> None:
        self._looked = asyncio.get_running_loop().time()
        self._left = find_left(self._caches.host_quotas)
        self._used = find_used(self._caches.host(kinds.POD))

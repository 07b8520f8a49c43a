"""ConfigMaps and Secrets that pods refer to: one engine, a row per kind.

A host copy exists while the nested object exists and a live pod names it, and says what the nested object says.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from nestor import names
from nestor.api import labels
from nestor.api.policy import Policy
from nestor.kube import Change, Forbidden, Informer, Kind, RetryLater, WorkQueue, kinds
from nestor.objects import Object
from nestor.syncer.context import RETRY_LIMIT, Context
from nestor.syncer.copies import ensure_copy
from nestor.translate import config as translate
from nestor.translate import messages, refusals, status
from nestor.translate.references import CONFIG_MAPS, SECRETS, Reference, find_references
from nestor.translate.target import nested_key

ROOT_CA = "kube-root-ca.crt"
"""In every pod's token volume; the nested controller-manager writes it into each new namespace, at its own pace."""
_ROOT_CA_PATIENCE = 40

_NOT_COPIED = "NotCopied"


@dataclass(frozen=True)
class Row:
    """One kind that the engine carries."""

    kind: Kind
    nested: Informer
    host: Informer


class ConfigController:
    """Keeps host copies of what live pods refer to."""

    def __init__(self, context: Context) -> None:
        self._context = context
        caches = context.caches
        self._rows = {
            CONFIG_MAPS: Row(kinds.CONFIG_MAP, caches.nested_config_maps, caches.host_config_maps),
            SECRETS: Row(kinds.SECRET, caches.nested_secrets, caches.host_secrets),
        }
        self._users: Counter[Reference] = Counter()
        self._of_pod: dict[str, frozenset[Reference]] = {}
        self._locks: dict[Reference, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._written: dict[Reference, str] = {}
        self._patience: Counter[Reference] = Counter()
        self._told: dict[Reference, str] = {}
        self.queue = WorkQueue(self._reconcile, workers=8, name="config", max_delay=RETRY_LIMIT)
        caches.nested_pods.on_change(self._on_pod)
        for resource, row in self._rows.items():
            row.nested.on_change(lambda change, resource=resource: self._on_nested(resource, change))  # type: ignore[misc]
            row.host.on_change(lambda change, resource=resource: self._on_host(resource, change))  # type: ignore[misc]

    async def ensure(self, references: Iterable[Reference]) -> None:
        """Have the host copies of all that exists of these, before a pod that wants them is created.

        What does not exist yet is the kubelet's to wait for, as on any node; it comes when it is there.
        """
        await asyncio.gather(*(self._ensure(reference) for reference in references))

    async def _ensure(self, reference: Reference) -> None:
        row = self._rows[reference.resource]
        nested = row.nested.get(reference.name, reference.namespace)
        if nested is None:  # the cache may be behind the pod's
            nested = await self._context.nested.find(row.kind, reference.name, reference.namespace)
        if nested is not None:
            self._patience.pop(reference, None)
            await self._write(reference, row, {"kind": row.kind.name} | nested)
        elif reference.name == ROOT_CA and self._patience[reference] < _ROOT_CA_PATIENCE:
            # It is on its way. A kubelet that misses it once waits longer than this.
            self._patience[reference] += 1
            raise RetryLater(0.05, f"waiting for ConfigMap {ROOT_CA}")

    async def _write(self, reference: Reference, row: Row, nested: Object) -> None:
        async with self._locks[reference]:
            version = nested["metadata"]["resourceVersion"]
            if self._written.get(reference) == version:
                return
            desired = translate.build_config(nested, self._context.target)
            cached = row.host.get(desired["metadata"]["name"], desired["metadata"]["namespace"])
            await ensure_copy(self._context.host, row.kind, cached, desired)
            self._written[reference] = version

    def _on_pod(self, change: Change) -> None:
        uid = change.latest["metadata"]["uid"]
        if change.old is not None and change.old["metadata"]["uid"] != uid:
            self._follow(change.old["metadata"]["uid"], frozenset())
        live = change.new is not None and _may_run(change.new, self._context.caches.policy)
        self._follow(uid, find_references(change.latest) if live else frozenset())

    def _follow(self, uid: str, wanted: frozenset[Reference]) -> None:
        before = self._of_pod.pop(uid, frozenset())
        if wanted:
            self._of_pod[uid] = wanted
        self._users.update(wanted - before)
        self._users.subtract(before - wanted)
        for reference in wanted ^ before:
            if self._users[reference] <= 0:
                del self._users[reference]
                self._told.pop(reference, None)
            self.queue.add(reference)

    def _on_nested(self, resource: str, change: Change) -> None:
        reference = Reference(resource, *change.key)
        if reference in self._users:
            self.queue.add(reference)

    def _on_host(self, resource: str, change: Change) -> None:
        if labels.PURPOSE in change.latest["metadata"]["labels"]:
            return
        reference = Reference(resource, *nested_key(change.latest))
        if change.new is None:
            self._written.pop(reference, None)
        self.queue.add(reference)

    async def _reconcile(self, reference: Reference) -> None:
        row = self._rows[reference.resource]
        nested = row.nested.get(reference.name, reference.namespace)
        if nested is not None and reference in self._users:
            host = self._host(reference, row)
            if host is not None and not translate.is_current(host, translate.build_config(nested, self._context.target)):
                self._written.pop(reference, None)
            await self._try_to_write(reference, row, nested)
        elif (host := self._host(reference, row)) is not None:
            await self._remove(reference, row, host)

    async def _try_to_write(self, reference: Reference, row: Row, nested: Object) -> None:
        """A refusal of the host is said once; it is tried again all the same, as nothing tells when that gives way."""
        try:
            await self._write(reference, row, nested)
        except Forbidden as error:
            words = {
                names.host_name(reference.name, reference.namespace): reference.name,
                self._context.target.namespace: reference.namespace,
            }
            message = messages.translate(error.message, words)
            if self._told.get(reference) != message:
                self._told[reference] = message
                await self._context.recorder.post(nested, "Warning", _NOT_COPIED, message)
            raise
        self._told.pop(reference, None)

    async def _remove(self, reference: Reference, row: Row, host: Object) -> None:
        async with self._locks[reference]:
            if reference in self._users and row.nested.get(reference.name, reference.namespace) is not None:
                return
            meta = host["metadata"]
            self._written.pop(reference, None)
            await self._context.host.delete(row.kind, meta["name"], meta["namespace"], uid=meta["uid"])

    def _host(self, reference: Reference, row: Row) -> Object | None:
        return row.host.get(names.host_name(reference.name, reference.namespace), self._context.target.namespace)


def _may_run(pod: Object, policy: Policy) -> bool:
    """True for a pod that has a host pod or may get one: for others nothing is copied, however many a tenant makes."""
    spec = pod["spec"]
    if status.is_terminal(pod) or spec.get("schedulingGates"):
        return False
    # A debug container comes later; when it is refused, the pod runs on, and needs its copies.
    created = {key: value for key, value in spec.items() if key != "ephemeralContainers"}
    return not refusals.find_refusals(pod | {"spec": created}, policy)

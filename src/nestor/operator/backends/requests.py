"""Approves and denies the certificate requests of virtual nodes, and reserves their names: one ConfigMap, which the chart's
admission policies read.

A node may create the Node of its own name, without taints. So whoever has a virtual node's certificate could take up the name as
soon as the operator has deleted the Node, and would get pods and Secrets of the whole host. A name is reserved before the first
certificate is approved, and until the last one has ended.
"""

import datetime
import logging

from nestor.api import labels
from nestor.api.contracts import vnode
from nestor.api.objects import Object, is_terminating, labels_of, spec_of, status_of
from nestor.api.times import now, read, seconds_since, timestamp, write
from nestor.kube import Conflict, NotFound, kinds
from nestor.operator.backends.certificates import Known, Verdict, decide_request
from nestor.operator.backends.nodes import is_of
from nestor.operator.backends.process import account_of
from nestor.operator.world.context import Context, Result

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 60.0
"""How long a request may wait for what it needs to be known."""
POLL_SECONDS = 1.0
MARGIN_SECONDS = 2 * 3600.0
"""A signer may take its time: a request that is approved is kept for an hour."""
NAMES_LIMIT = 500
"""Names of one backend: its process chooses shapes, and all have to fit into one ConfigMap."""


class RequestReconciler:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def reconcile(self, name: str) -> Result:
        request = self._context.cache.find(kinds.CERTIFICATE_REQUEST, name)
        if request is None or is_terminating(request):
            return Result()
        verdict = decide_request(request, self._find_known())
        if verdict.answer == "Ignore":
            return Result()
        if verdict.answer == "Wait":
            if seconds_since(request["metadata"]["creationTimestamp"]) < PATIENCE_SECONDS:
                return Result(POLL_SECONDS)
            verdict = Verdict("Deny", verdict.why)
        if verdict.answer == "Approve" and spec_of(request).get("signerName") == vnode.CLIENT_SIGNER:
            try:
                # First: from now on somebody may hold it.
                if not await self._reserve(verdict.node, verdict.backend):
                    verdict = Verdict("Deny", f"backend '{verdict.backend}' has had {NAMES_LIMIT} nodes within a day")
            except (Conflict, NotFound):
                return Result(POLL_SECONDS)
        await self._answer(request, verdict)
        return Result()

    def _find_known(self) -> Known:
        cache, namespace = self._context.cache, self._context.settings.namespace
        backends = {item["metadata"]["name"]: item for item in cache.backends}
        nodes = {}
        for node in cache.informers[kinds.NODE]:
            backend = backends.get(labels_of(node).get(labels.BACKEND, ""))
            if backend is not None and is_of(node, backend):
                nodes[node["metadata"]["name"]] = backend["metadata"]["name"]
        return Known(
            accounts={account_of(name, namespace): name for name in backends},
            nodes=nodes,
            addresses={name: self._find_addresses(name) for name in backends},
        )

    def _find_addresses(self, backend: str) -> frozenset[str]:
        pods = self._context.cache.pods_by_namespace.all(self._context.settings.namespace)
        own = [pod for pod in pods if is_process(pod, backend)]
        return frozenset(item["ip"] for pod in own for item in status_of(pod).get("podIPs") or () if item.get("ip"))

    async def _reserve(self, node: str, backend: str) -> bool:
        """Reserve a name for as long as a certificate that is approved now may last. False: the backend has had too many."""
        api, where = self._context.api, {"name": vnode.RESERVED_CONFIG_MAP, "namespace": self._context.settings.namespace}
        found = await api.find(kinds.CONFIG_MAP, **where)
        change = find_change((found or {}).get("data") or {}, node, backend, now())
        if change is not None and found is not None:
            await api.patch(kinds.CONFIG_MAP, where["name"], where["namespace"], {"data": change})
        elif change is not None:
            body = {"apiVersion": "v1", "kind": kinds.CONFIG_MAP.name, "metadata": where, "data": {node: change[node]}}
            await api.create(kinds.CONFIG_MAP, body)
        return change is not None

    async def _answer(self, request: Object, verdict: Verdict) -> None:
        meta, is_approved = request["metadata"], verdict.answer == "Approve"
        condition = {
            "type": "Approved" if is_approved else "Denied",
            "status": "True",
            "reason": "NestorVirtualNode",
            "message": verdict.why,
            "lastUpdateTime": timestamp(),
        }
        known = {key: meta[key] for key in ("uid", "resourceVersion")}
        body = {"metadata": known, "status": {"conditions": [condition]}}
        try:
            await self._context.api.patch(kinds.CERTIFICATE_REQUEST, meta["name"], None, body, subresource="approval")
        except (Conflict, NotFound):  # changed or gone meanwhile, which the watch tells
            return
        level, said = (logging.INFO, "approved") if is_approved else (logging.WARNING, "denied")
        log.log(level, "certificate request %s %s: %s", meta["name"], said, verdict.why)


def is_process(pod: Object, backend: str) -> bool:
    """Whether the pod, which is in the operator's namespace, is one of the backend's process."""
    own = labels_of(pod)
    return own.get(labels.COMPONENT) == labels.COMPONENT_VNODE and own.get(labels.BACKEND) == backend


def find_change(data: Object, node: str, backend: str, time: datetime.datetime) -> Object | None:
    """What changes in the ConfigMap: the name is there until later, and those are gone whose time is over. None: the backend has
    had too many nodes lately. Pure.
    """
    ends = {name: _read(str(value)) for name, value in data.items()}
    over = {name: None for name, (_, until) in ends.items() if until is None or until < time}
    held = [name for name, (whose, _) in ends.items() if whose == backend and name not in over]
    if node not in held and len(held) >= NAMES_LIMIT:
        return None
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

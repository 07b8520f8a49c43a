"""Approves and denies the certificate requests of virtual nodes."""

from __future__ import annotations

import logging

from nestor.api import labels
from nestor.contracts import vnode
from nestor.kube import Conflict, NotFound, kinds
from nestor.objects import Object, is_terminating, labels_of, spec_of, status_of
from nestor.operator.backends.certificates import Known, Verdict, decide_request
from nestor.operator.backends.nodes import is_of
from nestor.operator.backends.process import account_of
from nestor.operator.backends.reserved import ReservedNames, TooManyNames
from nestor.operator.result import Result
from nestor.operator.world.context import Context
from nestor.times import seconds_since, timestamp

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 60.0
"""How long a request may wait for what it needs to be known."""
POLL_SECONDS = 1.0


class RequestReconciler:
    """Reconciles CertificateSigningRequests."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._reserved = ReservedNames(context.api, context.settings.namespace)

    async def reconcile(self, name: str) -> Result:
        """One pass over one request."""
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
                await self._reserved.reserve(verdict.node, verdict.backend)
            except TooManyNames as error:
                verdict = Verdict("Deny", str(error))
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
        """The addresses of the pods of a backend's process."""
        pods = self._context.cache.pods_by_namespace.all(self._context.settings.namespace)
        own = [pod for pod in pods if is_process(pod, backend)]
        return frozenset(item["ip"] for pod in own for item in status_of(pod).get("podIPs") or () if item.get("ip"))

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
        log.log(
            logging.INFO if is_approved else logging.WARNING,
            "certificate request %s %s: %s",
            meta["name"],
            condition["type"].lower(),
            verdict.why,
        )


def is_process(pod: Object, backend: str) -> bool:
    """Whether the pod, which is in the operator's namespace, is one of the backend's process."""
    own = labels_of(pod)
    return own.get(labels.COMPONENT) == labels.COMPONENT_VNODE and own.get(labels.BACKEND) == backend

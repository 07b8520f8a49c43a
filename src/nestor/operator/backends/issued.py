"""Whether the cluster issues the certificates that a backend's process asks for: some clouds sign for their own machines only. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from nestor.contracts import vnode
from nestor.objects import Object, conditions_of, spec_of, status_of
from nestor.times import seconds_since

PATIENCE_SECONDS = 60.0
"""How long a signer may take."""


def find_unissued(requests: Iterable[Object], account: str, now: datetime.datetime) -> dict[str, str]:
    """The signers that have issued nothing lately to this user name, and what became of the request."""
    own = [item for item in requests if spec_of(item).get("username") == account]
    found = {}
    for signer in (vnode.CLIENT_SIGNER, vnode.SERVING_SIGNER):
        asked = sorted((item for item in own if spec_of(item).get("signerName") == signer), key=_sort, reverse=True)
        for item in asked:
            if _is_issued(item):
                break
            if why := _explain(item, now):
                found[signer] = f"request '{item['metadata']['name']}' {why}"
                break
    return found


def _sort(request: Object) -> tuple[str, bool]:
    return request["metadata"]["creationTimestamp"], _is_issued(request)


def _is_issued(request: Object) -> bool:
    return bool(status_of(request).get("certificate"))


def _explain(request: Object, now: datetime.datetime) -> str:
    """Why nothing was issued; empty while that may still happen."""
    found = {item["type"]: item for item in conditions_of(request)}
    for kind in ("Denied", "Failed"):
        if kind in found:
            why = found[kind].get("message") or found[kind].get("reason") or "no reason given"
            return f"for signer '{spec_of(request).get('signerName')}' {'was denied' if kind == 'Denied' else 'has failed'}: {why}"
    if seconds_since(request["metadata"]["creationTimestamp"], now) < PATIENCE_SECONDS:
        return ""
    if "Approved" in found:
        return f"is approved, but signer '{spec_of(request).get('signerName')}' of this cluster has issued no certificate"
    return "has not been approved"

"""Fields of a pod that have no effect in the host cluster. The pod runs without them, and its owner is told."""

from __future__ import annotations

from collections.abc import Iterator

from nestor.objects import Object
from nestor.translate.scheduling import ALLOWED_TOLERATIONS

_DEFAULT_SCHEDULER = "default-scheduler"
_OF_KUBERNETES = "node.kubernetes.io/"
"""Taints of this domain are tolerated in every DaemonSet's pods: their controller says so, not the pod's owner."""


def find_ignored(pod: Object) -> list[str]:
    """One message per field; empty for most pods."""
    return list(_check(pod["spec"]))


def _check(spec: Object) -> Iterator[str]:
    scheduler = spec.get("schedulerName") or _DEFAULT_SCHEDULER
    if scheduler != _DEFAULT_SCHEDULER:
        yield f"`spec.schedulerName` is '{scheduler}', but the host cluster's scheduler places all pods"
    if spec.get("priorityClassName"):
        yield f"`spec.priorityClassName` is '{spec['priorityClassName']}', but priorities are not supported"
    if spec.get("setHostnameAsFQDN"):
        yield "`spec.setHostnameAsFQDN` is true, but the pod's host name has no domain"
    if spec.get("subdomain"):
        yield f"`spec.subdomain` is '{spec['subdomain']}', but in the pod its host name has no domain; its DNS records have"
    keys = (item.get("key") or "" for item in spec.get("tolerations") or [])
    if dropped := sorted({key for key in keys if key not in ALLOWED_TOLERATIONS and not key.startswith(_OF_KUBERNETES)}):
        taints = ", ".join(f"'{key}'" if key else "all taints" for key in dropped)
        yield f"`spec.tolerations` has {taints}, but taints of the host cluster's nodes may not be tolerated"

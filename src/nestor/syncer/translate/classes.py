"""PriorityClasses and RuntimeClasses of the host, for pods of the nested cluster. Here, they have their nested names already."""

from __future__ import annotations

from collections.abc import Iterable

from nestor.api import labels
from nestor.objects import Object, labels_of

_HIGHEST = 1_000_000_000
"""Above it are the priorities of Kubernetes' own classes, which no other class may have."""


def build_priority_class(host: Object) -> Object:
    """The nested PriorityClass. It is no default: pods that name none get what the class says on the host alone."""
    copy = _build(host) | {"value": min(host["value"], _HIGHEST), "globalDefault": False}
    return copy | {key: host[key] for key in ("description", "preemptionPolicy") if host.get(key)}


def build_runtime_class(host: Object) -> Object:
    """The nested RuntimeClass. Without `scheduling`: the nested API server would make it a wish of the pod's owner. The host adds
    it to the host pod by itself.
    """
    copy = _build(host) | {"handler": host["handler"]}
    return copy | ({"overhead": host["overhead"]} if host.get("overhead") else {})


def find_own_runtimes(allowed: Iterable[str], hosts: Iterable[Object], nested: Iterable[Object]) -> dict[str, str]:
    """The RuntimeClasses of the tenant's own that stand for one of the host's, by their names: those with the handler of an
    `allowed` one, which is all that runs them.
    """
    handlers = {item["metadata"]["name"]: item["handler"] for item in hosts}
    names = {handlers[name]: name for name in reversed([*allowed]) if name in handlers}
    own = [item for item in nested if labels_of(item).get(labels.MANAGED_BY) != "nestor"]
    return {item["metadata"]["name"]: names[item["handler"]] for item in own if item["handler"] in names}


def _build(host: Object) -> Object:
    metadata = {"name": host["metadata"]["name"], "labels": {labels.MANAGED_BY: "nestor"}}
    return {"apiVersion": host["apiVersion"], "kind": host["kind"], "metadata": metadata}

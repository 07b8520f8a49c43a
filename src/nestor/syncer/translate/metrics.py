"""Builds the objects of the nested cluster's metrics API from those of the host's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from nestor.api.objects import Object, labels_of
from nestor.api.quantities import parse_quantity
from nestor.pods.translate.labels import is_match

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
API_VERSION = f"{GROUP}/{VERSION}"

_GROUPS = ("containers", "initContainers", "ephemeralContainers")
_SET_BASED = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY = re.compile(r"([^\s=!]+)\s*(==|=|!=)\s*([\w.-]*)")
_KEY = re.compile(r"(!?)\s*([^\s=!()]+)")
_SELECTOR_LIMIT = 2048
"""Characters. The time to find the terms grows with their square."""
_RESOURCES = (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))


def build_resources() -> Object:
    """What there is, as the discovery of an API server says it."""
    verbs = ["get", "list"]
    resources = [
        {"name": name, "singularName": "", "namespaced": is_namespaced, "kind": kind, "verbs": verbs}
        for name, kind, is_namespaced in _RESOURCES
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API_VERSION, "resources": resources}


def build_pod(usage: Object, nested: Object) -> Object:
    """What a nested pod uses, without containers that the host has added. `usage`: the host's PodMetrics."""
    meta = nested["metadata"]
    own = {item["name"] for group in _GROUPS for item in nested["spec"].get(group) or []}
    containers = [{"name": item["name"], "usage": item.get("usage") or {}} for item in usage.get("containers") or []]
    return {
        "kind": "PodMetrics",
        "apiVersion": API_VERSION,
        "metadata": _build_metadata(meta["name"], labels_of(nested), usage["timestamp"]) | {"namespace": meta["namespace"]},
        "timestamp": usage["timestamp"],
        "window": usage["window"],
        "containers": [item for item in containers if item["name"] in own],
    }


def build_node(node: Object, usages: Iterable[Object], now: str) -> Object:
    """What the cluster's own pods use of a node: what others use there is not its business. `usages`: the host's PodMetrics."""
    found = list(usages)
    total = {"cpu": Decimal(0), "memory": Decimal(0)}
    for container in (item for usage in found for item in usage.get("containers") or []):
        for resource, amount in (container.get("usage") or {}).items():
            if resource in total:
                total[resource] += parse_quantity(str(amount))
    timestamp = max((usage["timestamp"] for usage in found), default=now)
    return {
        "kind": "NodeMetrics",
        "apiVersion": API_VERSION,
        "metadata": _build_metadata(node["metadata"]["name"], labels_of(node), timestamp),
        "timestamp": timestamp,
        "window": next((usage["window"] for usage in found), "15s"),
        "usage": {"cpu": f"{int(total['cpu'] * 10**9)}n", "memory": f"{int(total['memory'] / 1024)}Ki"},
    }


def build_list(kind: str, items: list[Object]) -> Object:
    """A list of these."""
    return {"kind": f"{kind}List", "apiVersion": API_VERSION, "metadata": {}, "items": items}


def build_failure(code: int, reason: str, message: str) -> Object:
    """An API server's answer to what it cannot do."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


def parse_selector(text: str) -> Object:
    """A label selector as in a query. Raises `ValueError`."""
    if len(text) > _SELECTOR_LIMIT:
        raise ValueError(f"the label selector has more than {_SELECTOR_LIMIT} characters")
    expressions = []
    for term in re.split(r",(?![^(]*\))", text):
        if not (term := term.strip()):
            continue
        if found := _SET_BASED.fullmatch(term):
            values = [value.strip() for value in found[3].split(",")]
            expressions.append({"key": found[1], "operator": {"in": "In", "notin": "NotIn"}[found[2]], "values": values})
        elif found := _EQUALITY.fullmatch(term):
            expressions.append({"key": found[1], "operator": "NotIn" if found[2] == "!=" else "In", "values": [found[3]]})
        elif found := _KEY.fullmatch(term):
            expressions.append({"key": found[2], "operator": "DoesNotExist" if found[1] else "Exists"})
        else:
            raise ValueError(f"'{term}' is no requirement of a label selector")
    return {"matchExpressions": expressions}


def is_selected(item: Object, labels: Object, fields: Mapping[str, tuple[bool, str]]) -> bool:
    """Whether an object is meant by a query. `fields`: by path, whether the value must be equal, and the value."""
    meta = item["metadata"]
    has_fields = all((meta.get(path.removeprefix("metadata."), "") == value) is equal for path, (equal, value) in fields.items())
    return has_fields and is_match(labels, labels_of(item))


def parse_fields(text: str) -> dict[str, tuple[bool, str]]:
    """A field selector as in a query: of names and namespaces alone. Raises `ValueError`."""
    found = {}
    for term in filter(None, (item.strip() for item in text.split(","))):
        path, operator, value = (*re.split(r"(!=|==?)", term, maxsplit=1), "", "")[:3]
        if not operator or path not in ("metadata.name", "metadata.namespace"):
            raise ValueError(f"'{term}' is no requirement of a field selector for metrics")
        found[path] = (operator != "!=", value)
    return found


def _build_metadata(name: str, labels: Mapping[str, str], timestamp: str) -> Object:
    return {"name": name, "creationTimestamp": timestamp} | ({"labels": dict(labels)} if labels else {})

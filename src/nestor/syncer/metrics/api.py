"""The answers of the metrics API, made of what the host's says of the cluster's pods."""

import asyncio
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from nestor.api.objects import Object, labels_of
from nestor.api.quantities import parse_quantity
from nestor.api.times import timestamp
from nestor.kube import Api, ApiError, NotFound, kinds
from nestor.kube.serving.http import Request
from nestor.pods.translate.container_status import list_containers
from nestor.pods.translate.labels import is_match
from nestor.pods.translate.target import nested_uid
from nestor.syncer.view.caches import Caches

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
API_VERSION = f"{GROUP}/{VERSION}"

_SET_BASED = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY = re.compile(r"([^\s=!]+)\s*(==|=|!=)\s*([\w.-]*)")
_KEY = re.compile(r"(!?)\s*([^\s=!()]+)")
_SELECTOR_LIMIT = 2048
"""Characters. The time to find the terms grows with their square."""
Answer = tuple[int, Object]
"""HTTP status and body."""

_ROOT = ["apis", GROUP, VERSION]

FRESH_SECONDS = 5.0
"""For which an answer is used again: hosts measure every 15 s at the most, and anybody in the nested cluster may ask."""


class NoMetrics(Exception):
    """The host does not tell, or not now. Says why."""


@dataclass(frozen=True)
class _Query:
    kind: str
    namespace: str = ""
    name: str = ""

    def is_about(self, meta: Object) -> bool:
        return self.name in ("", meta["name"]) and self.namespace in ("", meta.get("namespace"))


class MetricsApi:
    """Answers by what the host says now, and by the caches. `selector`: of the cluster's pods in the host."""

    def __init__(self, caches: Caches, host: Api, selector: str) -> None:
        self._caches = caches
        self._host = host
        self._selector = selector
        self._lock = asyncio.Lock()
        self._known: dict[str, Object] | NoMetrics = {}
        self._until = 0.0

    async def answer(self, request: Request) -> Answer:
        if request.method != "GET":
            return _fail(405, "MethodNotAllowed", "metrics can only be read")
        if request.path == _ROOT:
            return 200, build_resources()
        query = _find_query(request.path)
        if query is None:
            return _fail(404, "NotFound", "the server could not find the requested resource")
        try:
            labels = parse_selector(request.get("labelSelector") or "")
            if request.get("fieldSelector"):
                raise ValueError("field selectors are not supported for metrics")
            usages = await self.read_usages()
        except ValueError as error:
            return _fail(400, "BadRequest", str(error))
        except NoMetrics as error:
            return _fail(503, "ServiceUnavailable", str(error))
        found = self._list_pods(usages) if query.kind == "PodMetrics" else self._list_nodes(usages)
        items = [item for item in found if query.is_about(item["metadata"])]
        if query.name:
            what = "pods" if query.kind == "PodMetrics" else "nodes"
            return (200, items[0]) if items else _fail(404, "NotFound", f'{what}.{GROUP} "{query.name}" not found')
        selected = [item for item in items if is_match(labels, labels_of(item))]
        return 200, {"kind": f"{query.kind}List", "apiVersion": API_VERSION, "metadata": {}, "items": selected}

    def _list_pods(self, usages: dict[str, Object]) -> list[Object]:
        found = ((self._find_nested(name), usage) for name, usage in sorted(usages.items()))
        return [build_pod(usage, nested) for nested, usage in found if nested is not None]

    def _list_nodes(self, usages: dict[str, Object]) -> list[Object]:
        by_node: dict[str, list[Object]] = {}
        for name, usage in usages.items():
            if nested := self._find_nested(name):
                by_node.setdefault(nested["spec"].get("nodeName") or "", []).append(usage)
        nodes = self._caches.nested(kinds.NODE)
        return [build_node(node, by_node.get(node["metadata"]["name"], ()), timestamp()) for node in nodes]

    def _find_nested(self, name: str) -> Object | None:
        host = self._caches.host(kinds.POD).get(name, self._caches.namespace)
        return self._caches.nested_by_uid.get(nested_uid(host)) if host else None

    async def read_usages(self) -> dict[str, Object]:
        """The host's PodMetrics, by the names of host pods, asked for once for all who ask at a time. Raises `NoMetrics`."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._known = await self._ask()
                self._until = time.monotonic() + FRESH_SECONDS
        if isinstance(self._known, NoMetrics):
            raise self._known
        return self._known

    async def _ask(self) -> dict[str, Object] | NoMetrics:
        try:
            found = await self._host.list(kinds.POD_METRICS, self._caches.namespace, labels=self._selector)
        except NotFound:
            return NoMetrics("the host cluster has no metrics API (metrics.k8s.io): ask its administrator for metrics-server")
        except ApiError as error:
            return NoMetrics(f"the host cluster's metrics API does not answer: {error.message}")
        return {item["metadata"]["name"]: item for item in found}


def _find_query(path: list[str]) -> _Query | None:
    match path[len(_ROOT) :] if path[: len(_ROOT)] == _ROOT else []:
        case ["nodes", *name] if len(name) <= 1:
            return _Query("NodeMetrics", name=next(iter(name), ""))
        case ["pods"]:
            return _Query("PodMetrics")
        case ["namespaces", namespace, "pods", *name] if len(name) <= 1:
            return _Query("PodMetrics", namespace, next(iter(name), ""))
    return None


def _fail(code: int, reason: str, message: str) -> Answer:
    """An API server's answer to what it cannot do."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return code, body | {"message": message, "reason": reason, "code": code}


def build_resources() -> Object:
    """What there is, as the discovery of an API server says it."""
    common = {"singularName": "", "verbs": ["get", "list"]}
    resources = [
        common | {"name": "nodes", "namespaced": False, "kind": "NodeMetrics"},
        common | {"name": "pods", "namespaced": True, "kind": "PodMetrics"},
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API_VERSION, "resources": resources}


def build_pod(usage: Object, nested: Object) -> Object:
    """What a nested pod uses, without containers that the host has added. `usage`: the host's PodMetrics."""
    meta = nested["metadata"]
    own = {item["name"] for _, item in list_containers(nested["spec"])}
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


def _build_metadata(name: str, labels: Mapping[str, str], timestamp: str) -> Object:
    return {"name": name, "creationTimestamp": timestamp} | ({"labels": dict(labels)} if labels else {})

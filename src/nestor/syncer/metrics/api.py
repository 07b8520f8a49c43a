"""The answers of the metrics API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nestor.api.objects import Object
from nestor.api.times import timestamp
from nestor.kube import kinds
from nestor.kube.serving.http import Request
from nestor.pods.translate.target import nested_uid
from nestor.syncer.metrics.usage import HostUsage, NoMetrics
from nestor.syncer.translate import metrics
from nestor.syncer.view.caches import Caches

Answer = tuple[int, Object]
"""HTTP status and body."""

_ROOT = ["apis", metrics.GROUP, metrics.VERSION]


@dataclass(frozen=True)
class _Query:
    kind: str
    namespace: str = ""
    name: str = ""


class MetricsApi:
    """Answers by what the host says now, and by the caches."""

    def __init__(self, caches: Caches, usage: HostUsage) -> None:
        self._caches = caches
        self._usage = usage

    async def answer(self, request: Request) -> Answer:
        """The answer to a request that may be made."""
        if request.method != "GET":
            return _fail(405, "MethodNotAllowed", "metrics can only be read")
        if request.path == _ROOT:
            return 200, metrics.build_resources()
        query = _find_query(request.path)
        if query is None:
            return _fail(404, "NotFound", "the server could not find the requested resource")
        try:
            labels = metrics.parse_selector(request.get("labelSelector") or "")
            fields = metrics.parse_fields(request.get("fieldSelector") or "")
            usages = await self._usage.read()
        except ValueError as error:
            return _fail(400, "BadRequest", str(error))
        except NoMetrics as error:
            return _fail(503, "ServiceUnavailable", str(error))
        found = self._list_pods(usages, query) if query.kind == "PodMetrics" else self._list_nodes(usages, query)
        items = [item for item in found if query.name or metrics.is_selected(item, labels, fields)]
        if not query.name:
            return 200, metrics.build_list(query.kind, items)
        what = "pods" if query.kind == "PodMetrics" else "nodes"
        return (200, items[0]) if items else _fail(404, "NotFound", f'{what}.{metrics.GROUP} "{query.name}" not found')

    def _list_pods(self, usages: dict[str, Object], query: _Query) -> Iterator[Object]:
        for name, usage in sorted(usages.items()):
            nested = self._find_nested(name)
            if nested is None:
                continue
            meta = nested["metadata"]
            if query.namespace in ("", meta["namespace"]) and query.name in ("", meta["name"]):
                yield metrics.build_pod(usage, nested)

    def _list_nodes(self, usages: dict[str, Object], query: _Query) -> Iterator[Object]:
        by_node: dict[str, list[Object]] = {}
        for name, usage in usages.items():
            if nested := self._find_nested(name):
                by_node.setdefault(nested["spec"].get("nodeName") or "", []).append(usage)
        for node in self._caches.nested(kinds.NODE):
            name = node["metadata"]["name"]
            if query.name in ("", name):
                yield metrics.build_node(node, by_node.get(name, ()), timestamp())

    def _find_nested(self, name: str) -> Object | None:
        """The nested pod of a host pod."""
        host = self._caches.host(kinds.POD).get(name, self._caches.namespace)
        return self._caches.nested_by_uid.get(nested_uid(host)) if host else None


def _find_query(path: list[str]) -> _Query | None:
    """Which objects a path means."""
    match path[len(_ROOT) :] if path[: len(_ROOT)] == _ROOT else []:
        case ["nodes", *name] if len(name) <= 1:
            return _Query("NodeMetrics", name=next(iter(name), ""))
        case ["pods"]:
            return _Query("PodMetrics")
        case ["namespaces", namespace, "pods", *name] if len(name) <= 1:
            return _Query("PodMetrics", namespace, next(iter(name), ""))
    return None


def _fail(code: int, reason: str, message: str) -> Answer:
    return code, metrics.build_failure(code, reason, message)

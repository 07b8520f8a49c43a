"""The pages by which a process describes itself: its probes, its metrics, and what it knows of its API servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from nestor.api.objects import Object
from nestor.kube.informer import Informer, Stream
from nestor.kube.queue import WorkQueue
from nestor.kube.serving import http
from nestor.kube.serving.connections import Connections

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from prometheus_client.registry import CollectorRegistry

STALE_SECONDS = 300
"""Watches are ended after 240 s: one of which nothing is heard for longer has lost its server."""
METRICS = "/metrics"
CACHES = "/debug/caches"
SOON_SECONDS = 0.5
"""What is due within this time counts as work under way."""


@dataclass(frozen=True)
class Pages:
    """What is answered, by path."""

    probes: Mapping[str, Callable[[], str | None]]
    """Functions that return what is wrong; None if nothing is."""
    texts: Mapping[str, Callable[[], str]]

    def answer(self, method: str, path: str) -> tuple[int, str]:
        if method != "GET":
            return 405, "only GET"
        if find_problem := self.probes.get(path):
            problem = find_problem()
            return (503, problem) if problem else (200, "ok")
        write = self.texts.get(path)
        return (200, write()) if write else (404, "not found")

    async def serve(self, port: int) -> None:
        """Answer on all addresses until cancelled."""
        await Connections(self._respond, "pages").serve(port, None, "")

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await http.read_request(reader)
        if request is not None:
            await http.respond(writer, *self.answer(request.method, "/" + "/".join(request.path)))


def write_caches(servers: Mapping[str, Iterable[Informer]], queues: Iterable[WorkQueue[Any]]) -> str:
    """What a process knows of its API servers, and whether it is at work: kinds, selectors and numbers alone.

    `servers`: by the names that the process has for its API servers.
    """
    caches = [_describe(server, informer) for server, informers in servers.items() for informer in informers]
    return json.dumps({"caches": caches, "busy": sum(queue.count_due(SOON_SECONDS) for queue in queues)})


def _describe(server: str, informer: Informer) -> Object:
    """`version` is the newest that was heard of. A stream of events has nothing else. `versions` is the sum of the objects'
    resource versions: those of one kind only grow, so who has the same number of objects and the same sum knows the same.
    """
    selectors = {"namespace": informer.namespace, "labelSelector": informer.labels, "fieldSelector": informer.fields}
    found: Object = {"server": server, "apiVersion": informer.kind.api_version, "resource": informer.kind.plural}
    found |= {"isKnown": bool(informer.version), "version": int(informer.version or 0)}
    if not isinstance(informer, Stream):
        versions = [int(item["metadata"]["resourceVersion"]) for item in informer]
        found |= {"objects": len(versions), "versions": sum(versions)}
    return found | {key: value for key, value in selectors.items() if value}


Samples = dict[Any, float]
"""Values by those of the labels, a tuple."""


@dataclass(frozen=True)
class Family:
    """One metric as it is now. A counter's name ends with `_total`. A summary's samples are sums, of as many as `counts` says."""

    name: str
    kind: Literal["counter", "gauge", "summary"]
    help: str
    labels: tuple[str, ...] = ()
    samples: Samples = field(default_factory=dict)
    counts: Samples = field(default_factory=dict)


def write_metrics(families: Iterable[Family], registry: CollectorRegistry | None = None) -> str:
    """These families, what `registry` has, and what the process uses, by Prometheus' own client. It is loaded when somebody first
    asks: a syncer's memory counts once per job.
    """
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest  # noqa: PLC0415 - see above

    own = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=own)
    own.register(_Rows(list(families)))
    parts = [generate_latest(item) for item in (registry, own) if item is not None]
    return b"".join(parts).decode()


class _Rows:
    """Families as a collector of the client's."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import Metric  # noqa: PLC0415

        for row in self._families:
            made = Metric(row.name.removesuffix("_total"), row.help, row.kind)
            for values, amount in row.samples.items():
                labels = dict(zip(row.labels, values, strict=True))
                made.add_sample(f"{row.name}_sum" if row.counts else row.name, labels, amount)
                if row.counts:
                    made.add_sample(f"{row.name}_count", labels, row.counts[values])
            yield made

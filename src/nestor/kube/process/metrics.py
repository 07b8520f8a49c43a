"""Metrics, written by Prometheus' own client. It is loaded when somebody first asks: a syncer's memory counts once per job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from prometheus_client.registry import CollectorRegistry

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


def write(families: Iterable[Family], registry: CollectorRegistry | None = None) -> str:
    """The page: these families, what `registry` has, and what the process uses."""
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
        """Those of the client's own types."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily  # noqa: PLC0415

        for row in self._families:
            if row.kind == "summary":
                summary = SummaryMetricFamily(row.name, row.help, labels=row.labels)
                for labels, total in row.samples.items():
                    summary.add_metric(labels, count_value=int(row.counts[labels]), sum_value=total)
                yield summary
                continue
            made = (CounterMetricFamily if row.kind == "counter" else GaugeMetricFamily)(row.name, row.help, labels=row.labels)
            for labels, value in row.samples.items():
                made.add_metric(labels, value)
            yield made

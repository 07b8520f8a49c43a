"""OpenTelemetry's SDK, as far as the operator uses it. Importing it takes 3 MB: only what has an endpoint does."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from nestor import __version__
from nestor.operator.traces import Span, derive_id


class _Ids(IdGenerator):
    """The IDs of the span that is made next."""

    trace = span = 1

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


class SdkSender:
    """Hands spans to the SDK, which sends them in the background, by its own variables (`OTEL_…`)."""

    def __init__(self) -> None:
        self._ids = _Ids()
        about = Resource.create({"service.name": "nestor-operator", "service.version": __version__})
        self._provider = TracerProvider(resource=about, id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("nestor")

    def send(self, uid: str, spans: Sequence[Span]) -> None:
        """One trace; each span after its parent."""
        self._ids.trace = derive_id(uid, "", 16)
        contexts: dict[str, Context] = {}
        for item in spans:
            self._ids.span = derive_id(uid, item.name, 8)
            parent = contexts.get(item.parent)
            made = self._tracer.start_span(
                item.name, context=parent, attributes=dict(item.attributes), start_time=_nanoseconds(item.begin)
            )
            contexts[item.name] = set_span_in_context(made)
            if item.error:
                made.set_status(Status(StatusCode.ERROR, item.error))
            made.end(_nanoseconds(item.end))

    def close(self) -> None:
        """Send what is left; blocks."""
        self._provider.shutdown()


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)

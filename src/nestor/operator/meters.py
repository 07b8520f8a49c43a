"""What the operator counts, for Prometheus. No label has a value that users choose."""

import functools

import prometheus_client

from nestor.api import conditions, times
from nestor.api.objects import Object
from nestor.apps.steps.types import TYPES

STAGE_SECONDS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1800)
PASS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
KINDS = ("NestedAppJob", "NestedClass", "NestedApp", "OverflowBackend", "CertificateSigningRequest")


class Meters:
    """Counters and histograms, each with all values of its labels, and from this process's start."""

    def __init__(self) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call] # times of creation, beside each counter
        self.registry = registry = prometheus_client.CollectorRegistry()
        self.stages = prometheus_client.Histogram(
            "nestor_job_stage_seconds",
            "Until a job first reached a stage: Admitted, from its creation; the others, from its start.",
            ("stage",),
            buckets=STAGE_SECONDS,
            registry=registry,
        )
        self.passes = prometheus_client.Histogram(
            "nestor_operator_reconcile_seconds", "Passes over one object.", ("kind",), buckets=PASS_SECONDS, registry=registry
        )
        counter = functools.partial(prometheus_client.Counter, registry=registry)
        self.failures = counter("nestor_operator_reconcile_failures", "Passes that failed, and are tried again.", ("kind",))
        self.retries = counter("nestor_step_retries", "Attempts at a step after its first, by the step's type.", ("type",))
        self.restarts = counter(
            "nestor_job_restarts", "Applications installed again in an empty cluster, by their failurePolicy."
        )
        self.reruns = counter("nestor_job_reruns", "Applications whose steps a user had run again.")
        self.ended = counter("nestor_jobs_ended", "Jobs that ended, by the reason of Succeeded.", ("reason",))
        for family, values in (
            (self.stages, conditions.TIMED),
            (self.passes, KINDS),
            (self.failures, KINDS),
            (self.retries, TYPES),
            (self.ended, [reason for reason in conditions.REASONS if reason.end_event]),
        ):
            for value in values:
                family.labels(value)

    def note_pass(self, kind: str, seconds: float, *, failed: bool) -> None:
        self.passes.labels(kind).observe(seconds)
        if failed:
            self.failures.labels(kind).inc()

    def note_status(self, job: Object, old: Object, new: Object) -> None:
        for stage in conditions.TIMED:
            reached = (new.get("timings") or {}).get(stage.timing)
            if reached and not (old.get("timings") or {}).get(stage.timing):
                created: str = job["metadata"]["creationTimestamp"]
                begin = created if stage == conditions.ADMITTED else max(created, new.get("startTime") or created)
                self.stages.labels(stage).observe(max(0.0, times.seconds_since(begin, times.read(reached))))
        if new.get("rerun") != old.get("rerun") and old.get("conditions"):
            self.reruns.inc()
        else:
            self._note_retries(old, new)
        self.restarts.inc(max(0, (new.get("restarts") or 0) - (old.get("restarts") or 0)))
        if new.get("completionTime") and not old.get("completionTime"):
            said = conditions.find(new.get("conditions"), conditions.SUCCEEDED) or {}
            self.ended.labels(conditions.reason_of(said)).inc()

    def _note_retries(self, old: Object, new: Object) -> None:
        """Of a plan with the same steps: another one begins anew."""
        before, after = ([(step["name"], step["type"]) for step in status.get("steps") or ()] for status in (old, new))
        for known, step in zip(old.get("steps") or (), new.get("steps") or (), strict=False) if before == after else ():
            if step["type"] in TYPES:
                more = max(step.get("attempt", 0), 1) - max(known.get("attempt", 0), 1)
                self.retries.labels(step["type"]).inc(max(0, more))

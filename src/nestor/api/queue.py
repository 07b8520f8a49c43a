"""How the jobs of a class wait for each other."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from nestor.api.base import Quota, rule, rules
from nestor.api.model import Model


class ClassQueue(Model):
    """How many jobs run at a time, and in which order the others wait."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.kueue) || self.kueue == 'Ignore' || !(has(self.maxJobs) || has(self.quota))",
                "`maxJobs` and `quota` may be set only if `kueue` is 'Ignore': one queue decides",
            )
        )
    )

    max_jobs: int | None = Field(
        None,
        description="How many jobs of the class run at a time. Those that have ended or are suspended do not count once "
        "their pods are gone; those whose steps failed do while they are kept for inspection, until they are deleted or "
        "suspended. 0: no further job starts. Jobs that run are never stopped. If not set, there is no limit.",
        ge=0,
        le=100_000,
    )
    quota: Quota | None = Field(
        None,
        description="What the jobs that run may have together, with the keys of a ResourceQuota: `requests.cpu`, "
        "`requests.nvidia.com/gpu`, `pods` and so on. Each job counts with its quota, that is, with what it may use: that of its "
        "machine, or of the class's `namespace.quota`. A key for which a job has no quota keeps it from starting. What its "
        "nested cluster's own pods need comes on top. A job that gets another machine while it runs counts with, and has at "
        "most, what it started with, until it is suspended. If not set, there is no limit.",
    )
    kueue: Literal["Ignore", "Allow", "Require"] = Field(
        "Ignore",
        description="Whether Kueue decides when jobs start; it must be installed, and the chart's `kueue.enabled` set. "
        "`Ignore`: it does not, and the status of a job with the label `kueue.x-k8s.io/queue-name` reports it. `Allow`: jobs "
        "with that label wait for Kueue, the others start at once. `Require`: jobs without it are refused. Defaults to "
        "`Ignore`.",
    )


class QueueStatus(Model):
    """The job's place in a queue."""

    position: int | None = Field(
        None,
        description="Its place in the queue of its class; 1 is next. Absent beyond 100, if Kueue decides, and while the "
        "job's own pods from before are still ending.",
        ge=1,
    )
    since: str = Field(description="When it came to the queue (RFC 3339).", max_length=64)

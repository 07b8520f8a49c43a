"""When a job has succeeded, and what to do when its application failed: shared by NestedAppJob and NestedCluster."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from nestor.api.base import Model, ObjectName, Quantity, immutable, rule, rules

Labels = Annotated[dict[str, Annotated[str, StringConstraints(max_length=63)]], Field(min_length=1, max_length=16)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=316, pattern=r"^[A-Za-z0-9][-A-Za-z0-9_./]*$")]


class OutcomeTarget(Model):
    """One object of the nested cluster, or all that carry some labels."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule("has(self.name) != has(self.matchLabels)", "exactly one of `name` and `matchLabels` must be set"),
            rule(
                "self.kind in ['Job', 'JobSet', 'Pod'] || (has(self.apiVersion) && has(self.condition))",
                "`apiVersion` and `condition` must be set for kinds other than Job, JobSet and Pod",
            ),
        )
    )

    kind: Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=r"^[A-Z][A-Za-z0-9]*$")] = Field(
        description="Kind of the object: `Job`, `JobSet`, `Pod`, or any other together with `apiVersion` and `condition`."
    )
    api_version: Word | None = Field(
        None, description="API version. Left out: `batch/v1` for Job, `jobset.x-k8s.io/v1alpha2` for JobSet, `v1` for Pod."
    )
    name: ObjectName | None = Field(None, description="Name of the object. Not together with `matchLabels`.")
    match_labels: Labels | None = Field(
        None, description="Labels of the objects; all of them must be done, and there must be one. Not together with `name`."
    )
    namespace: ObjectName = Field("default", description="Namespace in the nested cluster. Default: `default`.")
    condition: Word | None = Field(
        None,
        description="Type of the condition that must be True. Left out: Job `Complete` (failure: `Failed`), JobSet "
        "`Completed` (failure: `Failed`), Pod: its phase is Succeeded (failure: Failed).",
    )


Targets = Annotated[list[OutcomeTarget], Field(min_length=1, max_length=16)]


class SuccessPolicy(Model):
    """When the job is done."""

    operator: Literal["All", "Any"] = Field("All", description="Whether all targets must be done, or any. Default: `All`.")
    targets: Targets = Field(description="What must be done in the nested cluster.")


class FailurePolicy(Model):
    """What to do when a target, or a step, has failed."""

    action: Literal["Fail", "Restart", "Ignore"] = Field(
        "Fail",
        description="`Fail`: the job has failed and its application is stopped. `Restart`: the application starts again "
        "in an empty nested cluster, by all its steps. `Ignore`: it is only told. Default: `Fail`.",
    )
    max_restarts: int = Field(3, description="Restarts after which a failure fails the job. Default: 3.", ge=0, le=1000)
    targets: Targets | None = Field(None, description="Whose failure counts. Left out: the success policy's targets.")


class Persistence(Model):
    """A volume for the nested cluster's own data."""

    size: Quantity = Field(description="Size of the volume, as `2Gi`.")
    storage_class_name: ObjectName | None = Field(None, description="StorageClass of the volume. Left out: the host's default.")


class AppRef(Model):
    """An application of the catalogue."""

    name: ObjectName = Field(description="Name of the NestedApp. Immutable.", json_schema_extra=immutable("appRef.name"))

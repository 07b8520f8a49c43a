"""What several resources have: when a job has succeeded, what to do when its application failed, address ranges."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from nestor.api.base import Cidr, Model, ObjectName, Quantity, rule, rules

Labels = Annotated[dict[str, Annotated[str, StringConstraints(max_length=63)]], Field(min_length=1, max_length=16)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=316, pattern=r"^[A-Za-z0-9][-A-Za-z0-9_./]*$")]


class OutcomeTarget(Model):
    """An object in the nested cluster, or all objects with certain labels."""

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
        description="Kind of the object: `Job`, `JobSet` or `Pod`; any other kind needs `apiVersion` and `condition`."
    )
    api_version: Word | None = Field(
        None, description="API version. Defaults to `batch/v1` for Job, `jobset.x-k8s.io/v1alpha2` for JobSet and `v1` for Pod."
    )
    name: ObjectName | None = Field(None, description="Name of the object. Mutually exclusive with `matchLabels`.")
    match_labels: Labels | None = Field(
        None,
        description="Labels that select the objects. All selected objects must meet the condition, and there must be "
        "at least one. Mutually exclusive with `name`.",
    )
    namespace: ObjectName = Field("default", description="Namespace in the nested cluster. Defaults to `default`.")
    condition: Word | None = Field(
        None,
        description="Type of the condition that must be True. For success it defaults to `Complete` for Job, "
        "`Completed` for JobSet, and phase Succeeded for Pod; for failure to `Failed` for Job and JobSet, and phase Failed "
        "for Pod.",
    )


Targets = Annotated[list[OutcomeTarget], Field(min_length=1, max_length=16)]


class SuccessPolicy(Model):
    """When the application has succeeded."""

    operator: Literal["All", "Any"] = Field(
        "All", description="`All`: all targets must succeed. `Any`: one is enough. Defaults to `All`."
    )
    targets: Targets = Field(description="Objects in the nested cluster that must succeed.")


class FailurePolicy(Model):
    """What to do when a target or a step fails."""

    action: Literal["Fail", "Restart", "Ignore"] = Field(
        "Fail",
        description="`Fail`: the job fails and the application is stopped. `Restart`: the application starts over in "
        "an empty nested cluster, from the first step. `Ignore`: the failure is only reported. Defaults to `Fail`.",
    )
    max_restarts: int = Field(
        3, description="Number of restarts after which a failure fails the job. Defaults to 3.", ge=0, le=1000
    )
    targets: Targets | None = Field(
        None, description="Objects whose failure counts. Defaults to the targets of the success policy."
    )


class Persistence(Model):
    """A volume for the nested cluster's own data."""

    size: Quantity = Field(description="Size of the volume, for example `2Gi`.")
    storage_class_name: ObjectName | None = Field(
        None, description="StorageClass of the volume. Defaults to the host cluster's default StorageClass."
    )


class IpBlock(Model):
    """An address range."""

    cidr: Cidr = Field(description="The range, for example `10.40.0.0/30`.")
    except_: Annotated[list[Cidr], Field(max_length=64)] | None = Field(
        None, alias="except", description="Ranges inside `cidr` to leave out."
    )

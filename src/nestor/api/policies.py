"""What several resources have: when a job has succeeded, what to do when its application failed, address ranges."""

from typing import Annotated, Literal

from nestor.api.base import Cidr, ObjectName, Quantity, rule, rules
from nestor.api.data import Limits, field, part

Labels = Annotated[dict[str, Annotated[str, Limits(max_length=63)]], Limits(min_length=1, max_length=16)]
Word = Annotated[str, Limits(min_length=1, max_length=316, pattern=r"^[A-Za-z0-9][-A-Za-z0-9_./]*$")]


@part(
    rules(
        rule("has(self.name) != has(self.matchLabels)", "exactly one of `name` and `matchLabels` must be set"),
        rule(
            "self.kind in ['Job', 'JobSet', 'Pod'] || (has(self.apiVersion) && has(self.condition))",
            "`apiVersion` and `condition` must be set for kinds other than Job, JobSet and Pod",
        ),
    )
)
class OutcomeTarget:
    """An object in the nested cluster, or all objects with certain labels."""

    kind: Annotated[str, Limits(min_length=1, max_length=63, pattern=r"^[A-Z][A-Za-z0-9]*$")] = field(
        description="Kind of the object: `Job`, `JobSet` or `Pod`; any other kind needs `apiVersion` and `condition`."
    )
    api_version: Word | None = field(
        default=None,
        description="API version. Defaults to `batch/v1` for Job, `jobset.x-k8s.io/v1alpha2` for JobSet and `v1` for Pod.",
    )
    name: ObjectName | None = field(default=None, description="Name of the object. Mutually exclusive with `matchLabels`.")
    match_labels: Labels | None = field(
        default=None,
        description="Labels that select the objects. All selected objects must meet the condition, and there must be "
        "at least one. Mutually exclusive with `name`.",
    )
    namespace: ObjectName = field(default="default", description="Namespace in the nested cluster. Defaults to `default`.")
    condition: Word | None = field(
        default=None,
        description="Type of the condition that must be True. For success it defaults to `Complete` for Job, `Completed` for "
        "JobSet, and phase Succeeded for Pod; for failure to `Failed` for Job and JobSet, and phase Failed for Pod.",
    )


Targets = Annotated[list[OutcomeTarget], Limits(min_length=1, max_length=16)]


@part()
class SuccessPolicy:
    """When the application has succeeded."""

    operator: Literal["All", "Any"] = field(
        default="All", description="`All`: all targets must succeed. `Any`: one is enough. Defaults to `All`."
    )
    targets: Targets = field(description="Objects in the nested cluster that must succeed.")


@part()
class FailurePolicy:
    """What to do when a target or a step fails."""

    action: Literal["Fail", "Restart", "Ignore"] = field(
        default="Fail",
        description="`Fail`: the job fails and the application is stopped. `Restart`: the application starts over in "
        "an empty nested cluster, from the first step. `Ignore`: the failure is only reported. Defaults to `Fail`.",
    )
    max_restarts: int = field(
        default=3, description="Number of restarts after which a failure fails the job. Defaults to 3.", ge=0, le=1000
    )
    targets: Targets | None = field(
        default=None, description="Objects whose failure counts. Defaults to the targets of the success policy."
    )


@part()
class Persistence:
    """A volume for the nested cluster's own data."""

    size: Quantity = field(description="Size of the volume, for example `2Gi`.")
    storage_class_name: ObjectName | None = field(
        default=None, description="StorageClass of the volume. Defaults to the host cluster's default StorageClass."
    )


@part()
class IpBlock:
    """An address range."""

    cidr: Cidr = field(description="The range, for example `10.40.0.0/30`.")
    except_: Annotated[list[Cidr], Limits(max_length=64)] | None = field(
        default=None, written="except", description="Ranges inside `cidr` to leave out."
    )

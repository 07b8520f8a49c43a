"""`NestedCluster`: the nested K3s cluster of a job, as the operator tells it to the cluster's syncer. Users do not write it."""

from typing import Annotated

from pydantic import Field

from nestor.api.base import Image, KubernetesVersion, ObjectName, list_map
from nestor.api.model import Conditions, Model, PodCounts
from nestor.api.observed import GangStatus, Outcome, RunStatus
from nestor.api.policies import FailurePolicy, Persistence, SuccessPolicy
from nestor.api.policy import Policy

GANGS_LIMIT = 64
"""Gangs of one cluster that are decided about. Others wait for them."""


class NestedClusterSpec(Model):
    """The desired cluster. The operator fills in what comes from the class."""

    class_name: ObjectName | None = Field(None, description="Name of the job's NestedClass.")
    kubernetes_version: KubernetesVersion | None = Field(None, description="Kubernetes version as major.minor.")
    image: Image | None = Field(None, description="K3s image of the server.")
    persistence: Persistence | None = Field(None, description="Volume for the cluster's data. If not set, there is none.")
    suspend: bool = Field(
        False,
        description="Whether the cluster is suspended: its pods are stopped and, with `persistence`, its server as well. "
        "Defaults to false.",
    )
    success_policy: SuccessPolicy | None = Field(
        None, description="When `status.outcome` becomes Succeeded. If not set, it never does."
    )
    failure_policy: FailurePolicy | None = Field(
        None,
        description="When `status.outcome` becomes Failed; acting on it is up to the job. If not set, a failure of "
        "the success policy's targets counts.",
    )


class NestedClusterStatus(Model):
    """What was observed. `policy` and `gangs` are written by the operator, the rest by the syncer."""

    conditions: Conditions = Field(default_factory=list, description="`Ready`: the API server answers and the syncer works.")
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status describes.", ge=0)
    kubernetes_version: str | None = Field(None, description="Version that the nested API server reports.", max_length=64)
    policy: Policy | None = Field(
        None, description="What the class allows the cluster's pods. The strictest policy applies until the operator has set it."
    )
    gangs: Annotated[list[GangStatus], Field(max_length=GANGS_LIMIT, json_schema_extra=list_map("name"))] = Field(
        default_factory=list, description="Gangs of pods that are held, or were let go, by Nestor itself."
    )
    run: RunStatus | None = Field(None, description="Progress of the job's steps.")
    pods: PodCounts | None = Field(None, description="Number of pods in the nested cluster, by state.")
    outcome: Outcome | None = Field(
        None, description="Whether and how the application has ended, as judged by the policies. Absent without a policy."
    )
    idle_since: str | None = Field(
        None,
        description="Since when the cluster's pods have been idle (RFC 3339), if its policy measures that. Absent while they "
        "work, and if the host does not measure them.",
        max_length=64,
    )
    suspended: bool | None = Field(
        None, description="Whether `spec.suspend` has taken effect: no pod of the cluster is left on the host."
    )

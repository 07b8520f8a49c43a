"""`NestedCluster`: one nested K3s cluster; made by the operator for a job, or by users who only want a cluster."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from nestor.api.base import Image, KubernetesVersion, ObjectName, Resources, immutable, list_map, rules, same
from nestor.api.model import Conditions, Model, PodCounts
from nestor.api.observed import GangStatus, Outcome, RunStatus
from nestor.api.policies import FailurePolicy, Persistence, SuccessPolicy
from nestor.api.policy import Policy

GANGS_LIMIT = 64
"""Gangs of one cluster that are decided about. Others wait for them."""


class NestedClusterSpec(Model):
    """The desired cluster. Fields that are not set come from the class."""

    model_config = ConfigDict(json_schema_extra=rules(same("kubernetesVersion"), same("className")))

    class_name: ObjectName | None = Field(
        None,
        description="Name of the NestedClass that shapes the cluster. Defaults to the default class, as a job's. "
        "`status.className` says which it is; that stays. Immutable.",
        json_schema_extra=immutable("className"),
    )
    kubernetes_version: KubernetesVersion | None = Field(
        None,
        description="Kubernetes version as major.minor, for example `v1.36`. Defaults to the class's default version. Immutable.",
        json_schema_extra=immutable("kubernetesVersion"),
    )
    image: Image | None = Field(
        None,
        description="K3s image of the server. Users may set it only if the class's `cluster.allowImages` is true; the operator "
        "sets it for jobs. Defaults to the class's image for the version.",
    )
    resources: Resources | None = Field(None, description="Resources of the K3s server's container. Defaults to the class's.")
    persistence: Persistence | None = Field(
        None,
        description="Volume for the cluster's data. Defaults to the class's. Immutable.",
        json_schema_extra=immutable("persistence"),
    )
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
    """What was observed. `policy`, `gangs`, `className`, `kubeconfigSecretName` and `Admitted` are written by the operator, the
    rest by the syncer.
    """

    conditions: Conditions = Field(
        default_factory=list,
        description="`Ready`: the API server answers and the syncer works. `Admitted`: the class and version were "
        "accepted (only for clusters without a job).",
    )
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status describes.", ge=0)
    class_name: str | None = Field(
        None,
        description="The cluster's class: `spec.className`, or the default class of the time when the cluster was admitted (only "
        "for clusters without a job).",
        max_length=253,
    )
    kubernetes_version: str | None = Field(None, description="Version that the nested API server reports.", max_length=64)
    kubeconfig_secret_name: str | None = Field(
        None,
        description="Secret in the same namespace whose key `kubeconfig` gives admin access to the cluster (only for "
        "clusters without a job).",
        max_length=253,
    )
    policy: Policy | None = Field(
        None, description="What the class allows the cluster's pods. The strictest policy applies until the operator has set it."
    )
    gangs: Annotated[list[GangStatus], Field(max_length=GANGS_LIMIT, json_schema_extra=list_map("name"))] = Field(
        default_factory=list, description="Gangs of pods that are held, or were let go, by Nestor itself."
    )
    run: RunStatus | None = Field(None, description="Progress of the job's steps. Absent for a cluster without a job.")
    pods: PodCounts | None = Field(None, description="Number of pods in the nested cluster, by state.")
    outcome: Outcome | None = Field(
        None, description="Whether and how the application has ended, as judged by the policies. Absent without a policy."
    )
    suspended: bool | None = Field(
        None, description="Whether `spec.suspend` has taken effect: no pod of the cluster is left on the host."
    )

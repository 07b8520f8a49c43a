"""`NestedCluster`: one nested K3s cluster; made by the operator for a job, or by users who only want a cluster."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from nestor.api.base import (
    Conditions,
    Image,
    KubernetesVersion,
    Model,
    ObjectName,
    PodCounts,
    Resources,
    Steps,
    immutable,
    rule,
    rules,
)
from nestor.api.policies import FailurePolicy, Persistence, SuccessPolicy
from nestor.api.policy import Policy


class NestedClusterSpec(Model):
    """What the cluster is made of. Left-out fields come from the class."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.kubernetesVersion) == has(oldSelf.kubernetesVersion)",
                "`kubernetesVersion` may not be added or removed: delete the object and create it again",
            )
        )
    )

    class_name: ObjectName = Field(
        "default",
        description="Name of the NestedClass that the cluster is shaped by. Default: `default`. Immutable.",
        json_schema_extra=immutable("className"),
    )
    kubernetes_version: KubernetesVersion | None = Field(
        None,
        description="Kubernetes version as major.minor, for example `v1.36`. Left out: the class's default. Immutable.",
        json_schema_extra=immutable("kubernetesVersion"),
    )
    image: Image | None = Field(
        None, description="K3s image of the server. Left out: the class's image for the version. The operator sets it for jobs."
    )
    resources: Resources | None = Field(None, description="Resources of the K3s server's container. Left out: the class's.")
    persistence: Persistence | None = Field(
        None,
        description="Volume for the cluster's data. Left out: the class's. Immutable.",
        json_schema_extra=immutable("persistence"),
    )
    suspend: bool = Field(
        False, description="Whether the cluster is to rest: its pods end, and with `persistence` its server too. Default: false."
    )
    success_policy: SuccessPolicy | None = Field(None, description="When `status.outcome` is Succeeded. Left out: never.")
    failure_policy: FailurePolicy | None = Field(
        None, description="When `status.outcome` is Failed; its action is the job's. Left out: by the success policy's targets."
    )


class RunStatus(Model):
    """How far the job's templates are, as the runner wrote it into the nested cluster."""

    version: int = Field(1, description="Version of this format.", ge=1)
    hash: str = Field("", description="The plan that the run is of.", max_length=128)
    base: str = Field("", description="The templates and the cluster's data that the run is of.", max_length=128)
    state: Literal["Running", "Succeeded", "Failed"] = Field("Running", description="`Running`, `Succeeded` or `Failed`.")
    steps: Steps = Field(default_factory=list, description="The steps, in their order.")


class Outcome(Model):
    """What the application came to, by the policies in `spec`."""

    state: Literal["Running", "Succeeded", "Failed"] = Field("Running", description="`Running`, `Succeeded` or `Failed`.")
    message: str = Field("", description="The objects that decided, or that are waited for.", max_length=4096)
    server_uid: str = Field("", alias="serverUID", description="UID of the server's pod that was looked at.", max_length=64)


class NestedClusterStatus(Model):
    """What was observed. `policy`, `kubeconfigSecretName` and `Admitted` are the operator's; the rest is the syncer's."""

    conditions: Conditions = Field(
        default_factory=list,
        description="`Ready`: the API server answers and the syncer works. `Admitted`: class and version "
        "are good (clusters of users only).",
    )
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status is about.", ge=0)
    kubernetes_version: str | None = Field(None, description="Version that the nested API server reports.", max_length=64)
    kubeconfig_secret_name: str | None = Field(
        None,
        description="Secret beside the cluster whose key `kubeconfig` opens it as admin (clusters of users only).",
        max_length=253,
    )
    policy: Policy | None = Field(
        None,
        description="What the class allows the cluster's pods. Absent until the operator has resolved it: until then the "
        "strictest holds.",
    )
    run: RunStatus | None = Field(None, description="Progress of the job's templates. Absent for a cluster without a job.")
    pods: PodCounts | None = Field(None, description="The nested cluster's pods, counted.")
    outcome: Outcome | None = Field(None, description="What the application came to. Absent without a policy.")
    suspended: bool | None = Field(None, description="Whether none of its pods is left on the host, because of `spec.suspend`.")

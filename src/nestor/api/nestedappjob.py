"""`NestedAppJob`: run this app, once, in a nested cluster of its own; without an app, just the cluster."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from nestor.api.allowances import JobStorage
from nestor.api.base import KubernetesVersion, ObjectName, immutable, rule, same
from nestor.api.expose import JobExpose
from nestor.api.model import Model, ruled
from nestor.api.nestedapp import App, AppRef, ParametersFrom
from nestor.api.placement_rules import JobPlacement
from nestor.api.policies import FailurePolicy, SuccessPolicy

MANAGER_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$"
"""A name of the form that batch/v1 demands: a domain, a slash, a path."""


class NestedAppJobSpec(Model):
    """What to run, and how to run it."""

    model_config = ruled(
        rule(
            "!has(self.app) || !has(self.appRef)",
            "`app` and `appRef` are mutually exclusive: the application itself, or its name in the catalog",
        ),
        rule(
            "has(self.app) || has(self.appRef) || "
            "!(has(self.command) || has(self.parameters) || has(self.parametersFrom) || has(self.expose))",
            "`command`, `parameters`, `parametersFrom` and `expose` may be set only together with `app` or `appRef`",
        ),
        same("app"),
        same("appRef"),
        same("className"),
        same("command"),
        same("parametersFrom"),
        same("kubernetesVersion"),
        same("managedBy"),
        rule(
            "(has(self.storage) && has(self.storage.volumesFrom) ? self.storage.volumesFrom : '') == "
            "(has(oldSelf.storage) && has(oldSelf.storage.volumesFrom) ? oldSelf.storage.volumesFrom : '')",
            "`storage.volumesFrom` may not be changed: delete the object and create it again",
        ),
    )

    app: App | None = Field(
        None,
        description="The application to run. Mutually exclusive with `appRef`. With neither, the job is a cluster in which "
        "nothing is installed: it has no steps and no URL, and its kubeconfig leads to it.",
    )
    app_ref: AppRef | None = Field(
        None,
        description="Application from the catalog (`kubectl get nestedapps`). It is read when the job starts and when it is "
        "rerun; condition `Admitted` reports later changes. Mutually exclusive with `app`. Immutable.",
    )
    command: Annotated[str, StringConstraints(min_length=1, max_length=253)] | None = Field(
        None,
        description="Entry of the AppDef's `commands` to run. May be omitted if only one entry has "
        "`nested_kubernetes`. Immutable.",
        json_schema_extra=immutable("command"),
    )
    parameters: Annotated[dict[str, Any], Field(max_length=64)] | None = Field(
        None,
        description="Values for the command's `parameters`, by name. Changing a value runs the steps again, from the "
        "first one that uses it.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
    )
    parameters_from: ParametersFrom | None = Field(
        None,
        description="Further parameters, such as passwords, from a Secret; `parameters` take precedence. Nestor shows their "
        "values in no message, but what templates and scripts do with them is up to the application. Immutable.",
        json_schema_extra=immutable("parametersFrom"),
    )
    class_name: ObjectName | None = Field(
        None,
        description="Name of the NestedClass, the admins' policy for this job. Defaults to the default class, which is the one "
        'with annotation `nestedclass.nestor.dev/is-default-class: "true"`, otherwise the one named `default`. '
        "`status.className` says which it is; that stays. Immutable.",
        json_schema_extra=immutable("className"),
    )
    kubernetes_version: KubernetesVersion | None = Field(
        None,
        description="Kubernetes version of the nested cluster as major.minor, for example `v1.36`. Takes precedence "
        "over the AppDef's `kubernetes_version`. If neither is set, the class's default version is used. Immutable.",
        json_schema_extra=immutable("kubernetesVersion"),
    )
    machine: ObjectName | None = Field(
        None,
        description="Machine that the job's pods run on, one of the class's `placement.machines`: a pool of nodes, perhaps with "
        "its own quota; `machines` of the AppDef may leave fewer to choose from. A change applies to new pods. Defaults to "
        "the class's default machine, or, if the AppDef does not take that, to the first one that it takes. `status.machine` "
        "says which it is.",
    )
    placement: JobPlacement | None = Field(
        None,
        description="Where the job's pods should run, within what the class allows. A change applies to pods that have no node "
        "yet. If not set, the class decides.",
    )
    storage: JobStorage | None = Field(
        None, description="The persistent volumes of the job, within what the class allows. If not set, the class decides."
    )
    expose: JobExpose | None = Field(None, description="How the job's targets can be reached. If not set, the class decides.")
    managed_by: Annotated[str, StringConstraints(min_length=3, max_length=63, pattern=MANAGER_PATTERN)] | None = Field(
        None,
        description="Which controller runs the job, as in a Job of batch/v1. With any other value than `nestor.dev/operator`, "
        "Nestor leaves the job alone and does not write its status: with `kueue.x-k8s.io/multikueue`, Kueue sends it to another "
        "cluster and copies the status of the job there. Defaults to `nestor.dev/operator`. Immutable.",
        json_schema_extra=immutable("managedBy"),
    )
    suspend: bool = Field(
        False,
        description="Whether the job is suspended: its pods are stopped, and its cluster's data is kept, unless its "
        "class limits that. Set it back to false to resume. Defaults to false.",
    )
    active_deadline_seconds: int | None = Field(
        None,
        description="Seconds the job may run, counted from `status.startTime`, before it is stopped and fails. Time "
        "spent suspended does not count. If not set, there is no limit.",
        ge=1,
        le=315_360_000,
    )
    ttl_seconds_after_finished: int | None = Field(
        None,
        description="Seconds after `status.completionTime` until the job is deleted, together with everything it "
        "created. If not set, the job is kept until you delete it.",
        ge=0,
        le=315_360_000,
    )
    idle_seconds: int | None = Field(
        None,
        description="After how many idle seconds a job with URLs is put to sleep: it is suspended until a request to one of them "
        "arrives. It is idle while each of its pods uses less than 10m CPU, and no Job runs. What its pods keep in memory or in "
        "an `emptyDir` is lost. If not set, the job sleeps only if its class has `maxIdleSeconds`.",
        ge=30,
        le=315_360_000,
    )
    success_policy: SuccessPolicy | None = Field(
        None, description="When the job has succeeded. If not set, the job runs until it is deleted."
    )
    failure_policy: FailurePolicy | None = Field(
        None, description="What to do when the application fails. Defaults to `action: Fail`."
    )

    @property
    def has_app(self) -> bool:
        """Whether it runs an application; without one, the job is just a cluster."""
        return self.app is not None or self.app_ref is not None

"""`NestedAppJob`: run this app, once, in a nested cluster of its own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, create_model
from pydantic.alias_generators import to_snake

from nestor.api import conditions
from nestor.api.assigned import Assigned
from nestor.api.base import (
    Conditions,
    HostName,
    Image,
    KubernetesVersion,
    Model,
    ObjectName,
    PodCounts,
    Quota,
    Steps,
    immutable,
    immutable_message,
    list_map,
    rule,
    rules,
)
from nestor.api.notices import NOTICE_TYPES, SINK_LIMIT, JobNotices, NoticeStatus
from nestor.api.placement_rules import JobPlacement
from nestor.api.policies import AppRef, FailurePolicy, SuccessPolicy
from nestor.api.queue import QueueStatus
from nestor.api.storage import JobStorage


class ConfigMapRef(Model):
    """A ConfigMap in the job's own namespace."""

    name: ObjectName = Field(description="Name of the ConfigMap.")


class TemplatesFrom(Model):
    """Templates that do not come from an image."""

    config_map_ref: ConfigMapRef = Field(
        description="ConfigMap in the job's namespace that holds the templates: each key is a file in the templates "
        "folder. It is copied when the job starts, so later changes to it do not affect the job."
    )


class App(Model):
    """The application: where its templates are, and its AppDef."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.image) || !has(self.templatesFrom)",
                "`image` and `templatesFrom` are mutually exclusive: templates come from the /templates folder of an image, from "
                "a ConfigMap, or, if neither is set, only from URLs, charts and scripts",
            ),
            rule("has(self.image) || has(self.appDef)", "`appDef` must be set when there is no `image` to read it from"),
            rule(
                "has(self.appDef) == has(oldSelf.appDef)",
                "`app.appDef` may be changed, but not added or removed: delete the object and create it again",
            ),
            rule(
                "!has(self.imagePullSecretName) || has(self.image)", "`imagePullSecretName` may be set only together with `image`"
            ),
            rule(
                "has(self.image) == has(oldSelf.image) && has(self.templatesFrom) == has(oldSelf.templatesFrom) && "
                "has(self.imagePullSecretName) == has(oldSelf.imagePullSecretName)",
                "`app` may not be changed: delete the object and create it again",
            ),
        )
    )

    image: Image | None = Field(
        None,
        description="App image: a container image whose /templates folder holds the templates. The image is mounted, "
        "never run. Mutually exclusive with `templatesFrom`. Immutable.",
        json_schema_extra=immutable("app.image"),
    )
    image_pull_secret_name: ObjectName | None = Field(
        None,
        description="Secret of type kubernetes.io/dockerconfigjson, in the job's namespace, for pulling `image`. If "
        "not set, `image` is pulled without credentials. Immutable.",
        json_schema_extra=immutable("app.imagePullSecretName"),
    )
    templates_from: TemplatesFrom | None = Field(
        None,
        description="Templates that do not come from an image. Mutually exclusive with `image`. Immutable.",
        json_schema_extra=immutable("app.templatesFrom"),
    )
    app_def: dict[str, Any] | None = Field(
        None,
        description="The application's AppDef, exactly as JARVICE documents it: version 2, with snake_case keys. "
        "Unknown keys are kept, and `nested_kubernetes` may also be spelled `nestedkubernetes`. At least one entry of "
        "`commands` must have `nested_kubernetes` with `templates`. Changing the templates runs them again, from the first "
        "step that changed.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
        max_length=64,
    )


class SecretRef(Model):
    """A Secret in the job's own namespace."""

    name: ObjectName = Field(description="Name of the Secret.")


class ParametersFrom(Model):
    """Values for parameters that must not be seen."""

    secret_ref: SecretRef = Field(
        description="Secret of type Opaque in the job's namespace: each key is the name of a parameter, and its value is the "
        "parameter's, as text. It is copied when the job starts, so later changes to it do not affect the job. Whoever may "
        "create jobs can thus use the namespace's Secrets, as whoever may create pods can."
    )


AnnotationValue = Annotated[
    str,
    Field(
        max_length=1024,
        json_schema_extra=rules(
            rule("!self.matches('[\\\\x00-\\\\x1f\\\\x7f]')", "must not contain line breaks or other control characters")
        ),
    ),
]


class JobExpose(Model):
    """How the job's targets can be reached."""

    host: HostName | None = Field(
        None,
        description="Host name of the job's URL, which leads to the AppDef's first target. Defaults to "
        "`<job>-<namespace>.<class's domain>`, with a hash after the namespace if that could also be a job of another existing "
        "namespace (`hello` in `team-a`, `hello-team` in `a`). It must lie below the class's domain or match the class's "
        "`expose.allowedHosts`. A host already used by another Ingress of the same class or by an older job stays with its "
        "owner; another job's default host belongs to that job. Hosts of Gateways, IngressRoutes and other resources are not "
        "checked. It can be changed while the job runs.",
    )
    all_targets: bool = Field(
        False,
        description="Whether to expose all of the AppDef's targets instead of only the first. Further targets get "
        "`<service>--<job>-<namespace>.<class's domain>`, whatever `host` says; `status.targets` lists the URLs. When several "
        "targets share a Service, or the Service's name has two letters, the label is `<service>-<port>--…`. `Exposed` "
        "becomes True once all targets are reachable; if a host belongs to somebody else, only its target is not exposed. "
        "Defaults to false.",
    )
    annotations: Annotated[dict[str, AnnotationValue], Field(max_length=32)] | None = Field(
        None,
        description="Annotations for the job's Ingresses, with the keys that the class's `expose.allowedAnnotations` lists. With "
        "any other, no target is exposed. It can be changed while the job runs.",
    )


MANAGER_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$"
"""A name of the form that batch/v1 demands: a domain, a slash, a path."""


def _same(field: str) -> dict[str, str]:
    return rule(
        f"has(self.{field}) == has(oldSelf.{field})",
        f"`{field}` may not be added or removed: delete the object and create it again",
    )


class NestedAppJobSpec(Model):
    """What to run, and how to run it."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.app) != has(self.appRef)",
                "exactly one of `app` and `appRef` must be set: the application itself, or its name in the catalogue",
            ),
            rule(
                "has(self.app) == has(oldSelf.app)",
                "`app` may not be replaced by `appRef`, nor `appRef` by `app`: delete the object and create it again",
            ),
            # It may be removed: CRDs of earlier versions had a default, so manifests need not have what the object has.
            rule("!has(self.className) || has(oldSelf.className)", immutable_message("className")),
            _same("command"),
            _same("parametersFrom"),
            _same("kubernetesVersion"),
            _same("managedBy"),
        )
    )

    app: App | None = Field(None, description="The application to run. Mutually exclusive with `appRef`.")
    app_ref: AppRef | None = Field(
        None,
        description="Application from the catalogue (`kubectl get nestedapps`). It is read when the job starts, so "
        "later changes to the catalogue do not affect the job. Mutually exclusive with `app`. Immutable.",
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
        "with "
        'annotation `nestedclass.nestor.dev/is-default-class: "true"`, otherwise the one named `default`. `status.className` '
        "says "
        "which it is; that stays. Immutable.",
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
        "a quota of its own; `machines` of the AppDef may leave fewer to choose from. A change applies to new pods. Defaults to "
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
    notices: JobNotices | None = Field(
        None, description="Who is told when the job becomes ready or ends, besides those whom the class always tells."
    )
    priority: ObjectName | None = Field(
        None,
        description="Priority in the queue of the class, one of its `queue.priorities`. It says who starts first, not who gets "
        "a node. Defaults to the class's default priority.",
    )
    managed_by: Annotated[str, StringConstraints(min_length=3, max_length=63, pattern=MANAGER_PATTERN)] | None = Field(
        None,
        description="Which controller runs the job, as in a Job of batch/v1. With any other value than `nestor.dev/operator`, "
        "Nestor leaves the job alone and does not write its status: with `kueue.x-k8s.io/multikueue`, Kueue sends it to another "
        "cluster and copies the status of the job there. Defaults to `nestor.dev/operator`. Immutable.",
        json_schema_extra=immutable("managedBy"),
    )
    suspend: bool = Field(
        False,
        description="Whether the job is suspended: its pods are stopped, and its cluster's data is kept. Set it back "
        "to false to resume. Defaults to false.",
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
    success_policy: SuccessPolicy | None = Field(
        None, description="When the job has succeeded. If not set, the job runs until it is deleted."
    )
    failure_policy: FailurePolicy | None = Field(
        None, description="What to do when the application fails. Defaults to `action: Fail`."
    )


_TIMINGS: dict[str, Any] = {
    to_snake(stage): (str | None, Field(None, description=stage.reached, max_length=64)) for stage in conditions.TIMED
}
_Timings: Any = create_model("Timings", __base__=Model, **_TIMINGS)


class Timings(_Timings):
    """When the job first reached each stage (RFC 3339)."""


class TargetStatus(Model):
    """How one of the AppDef's targets can be reached."""

    service_name: str = Field(description="Name of the Service in the nested cluster.", max_length=253)
    service_namespace: str = Field(description="Namespace of the Service in the nested cluster.", max_length=253)
    service_port: int = Field(description="Port of the Service.", ge=0, le=65535)
    url: str | None = Field(
        None,
        description="URL of the target. It answers once `ready` is true. Absent if the target is not exposed.",
        max_length=2048,
    )
    ready: bool = Field(False, description="Whether the URL has a ready endpoint behind it.")
    message: str = Field("", description="Why the target is not ready, or what is unusual about it.", max_length=4096)


class RestartStatus(Model):
    """A restart in an empty nested cluster; in progress until the cluster has reached this data epoch."""

    epoch: int = Field(
        description="Data epoch that the restart begins. A cluster has a new one each time it has lost its data.", ge=0
    )
    time: str = Field(description="When the failure was seen (RFC 3339). The restart begins after a back-off.", max_length=64)
    message: str = Field("", description="Why the application is restarted.", max_length=4096)


class JobPods(PodCounts):
    """Number of pods of a job's application, by state."""

    why: str | None = Field(
        None,
        description="Why one of those that are not running does not start, in the words of what holds it up: the scheduler, "
        "the kubelet, or the backend. Absent if none is held up.",
        max_length=1024,
    )


class NestedAppJobStatus(Model):
    """What Nestor observed. Only the operator writes it."""

    conditions: Conditions = Field(
        default_factory=list,
        description=f"{', '.join(f'`{stage}`' for stage in conditions.STAGES)}, `Ready` (the summary of these), and "
        "`Succeeded` (whether the job has done what it was created for).",
    )
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status describes.", ge=0)
    class_name: str | None = Field(
        None,
        description="The job's class: `spec.className`, or the default class of the time when the job was admitted.",
        max_length=253,
    )
    machine: str | None = Field(
        None, description="The job's machine: `spec.machine`, or the one that it was given.", max_length=253
    )
    gateway: str | None = Field(
        None,
        description="Gateway that serves the job's URLs, as namespace and name. Absent if an Ingress controller does.",
        max_length=512,
    )
    url: str | None = Field(
        None, description="URL of the job's first target. It answers once `Exposed` is True.", max_length=2048
    )
    namespace: str | None = Field(None, description="The job's own namespace in the host cluster.", max_length=63)
    namespace_uid: str | None = Field(
        None,
        alias="namespaceUID",
        description="UID of that namespace. One of the same name with another UID is not the job's.",
        max_length=64,
    )
    argo_cd_namespace: str | None = Field(
        None,
        alias="argoCDNamespace",
        description="Namespace of the Secret by which Argo CD knows the nested cluster, from the class's `argoCD`. Its name is "
        "that of the job's own namespace.",
        max_length=253,
    )
    app_digest: str | None = Field(
        None,
        description="Digest of the application that the job started with, if it comes from the catalogue or from an image. Its "
        "copy in ConfigMap `<job>-app` of the job's own namespace counts only while it has this digest.",
        max_length=64,
    )
    kubernetes_version: str | None = Field(
        None, description="Version of the nested cluster: first as requested, then as its API server reports it.", max_length=64
    )
    kubeconfig_secret_name: str | None = Field(
        None,
        description="Secret in the job's namespace whose key `kubeconfig` gives admin access to the nested cluster.",
        max_length=253,
    )
    steps: Steps = Field(default_factory=list, description="The steps of the AppDef's command, in order, with their progress.")
    timings: Timings | None = Field(None, description="When each stage was first reached.")
    command: str | None = Field(None, description="The AppDef command that is run.", max_length=253)
    targets: Annotated[
        list[TargetStatus], Field(max_length=64, json_schema_extra=list_map("serviceNamespace", "serviceName", "servicePort"))
    ] = Field(default_factory=list, description="The AppDef's targets, in order.")
    pods: JobPods | None = Field(None, description="Number of pods of the application, by state.")
    next_step: str | None = Field(
        None,
        description="What to do next, by whom, if the job does not get on by itself or has failed: for the first condition that "
        "says why. Absent if there is nothing to do.",
        max_length=1024,
    )
    active_deadline_seconds: int | None = Field(
        None,
        description="For how many seconds the job may run, counted from `startTime`: the shorter of its own "
        "`activeDeadlineSeconds` and what `ranSeconds` leaves of its class's `maxActiveDeadlineSeconds`. Absent if there is no "
        "limit.",
        ge=1,
    )
    ran_seconds: int | None = Field(
        None,
        description="For how many seconds the job ran before `startTime`, until it was suspended or run again. It begins anew "
        "when the job runs again after its end.",
        ge=0,
    )
    start_time: str | None = Field(None, description="When the job started or was last resumed (RFC 3339).", max_length=64)
    completion_time: str | None = Field(None, description="When the job ended, successfully or not (RFC 3339).", max_length=64)
    terminal_state: Literal["Completed", "Failed"] | None = Field(
        None,
        description="The condition `Succeeded` in a word, for workflow engines that cannot read conditions: `Completed` if it is "
        "True, `Failed` if it is False. A failed step counts, too, which the job may still get over when its AppDef changes. "
        "Absent otherwise.",
    )
    restarts: int | None = Field(None, description="How often `failurePolicy` has restarted the application.", ge=0)
    restart: RestartStatus | None = Field(None, description="The restart in progress.")
    suspend_time: str | None = Field(None, description="When the job was suspended (RFC 3339).", max_length=64)
    rerun: str | None = Field(
        None, description="Value of the annotation `nestor.dev/rerun` that started this run.", max_length=262144
    )
    queue: QueueStatus | None = Field(None, description="The job's place in a queue. Absent unless it waits in one.")
    reserved: Quota | None = Field(
        None,
        description="What the job counts for in the queue of its class, or at Kueue, while it runs, and after that until its "
        "pods are gone: its quota is not higher. Absent where nothing is counted.",
    )
    assigned: Assigned | None = Field(
        None, description="What Kueue has assigned, while the job runs: the nodes of the application's pods."
    )
    notices: Annotated[
        list[NoticeStatus], Field(max_length=SINK_LIMIT * len(NOTICE_TYPES), json_schema_extra=list_map("sink", "type"))
    ] = Field(default_factory=list, description="The last notices to the class's sinks, and what became of them.")

"""`NestedAppJob`: run this app, once, in a nested cluster of its own."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, create_model
from pydantic.alias_generators import to_snake

from nestor.api import conditions
from nestor.api.base import (
    Conditions,
    HostName,
    Image,
    KubernetesVersion,
    Model,
    ObjectName,
    PodCounts,
    Steps,
    immutable,
    list_map,
    rule,
    rules,
)
from nestor.api.policies import AppRef, FailurePolicy, SuccessPolicy

NAME_LIMIT = 52


class ConfigMapRef(Model):
    """A ConfigMap in the job's own namespace."""

    name: ObjectName = Field(description="Name of the ConfigMap.")


class TemplatesFrom(Model):
    """Templates that are not in an image."""

    config_map_ref: ConfigMapRef = Field(
        description="ConfigMap in the job's own namespace that holds the templates: each key is a file of the templates folder. "
        "It is copied when the job starts; later changes of it do not touch the job."
    )


class App(Model):
    """The application: where its templates are, and its AppDef."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.image) || !has(self.templatesFrom)",
                "`image` and `templatesFrom` may not be set together: templates come from the folder /templates of an image, "
                "from a ConfigMap, or (neither) from URLs, charts and scripts alone",
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
        description="App image: a container image whose folder /templates holds the templates. It is mounted, not run. "
        "Not together with `templatesFrom`. Immutable.",
        json_schema_extra=immutable("app.image"),
    )
    image_pull_secret_name: ObjectName | None = Field(
        None,
        description="Secret in the job's own namespace, of type kubernetes.io/dockerconfigjson, to pull `image` with. "
        "Left out: none. Immutable.",
        json_schema_extra=immutable("app.imagePullSecretName"),
    )
    templates_from: TemplatesFrom | None = Field(
        None,
        description="Templates without an image. Not together with `image`. Immutable.",
        json_schema_extra=immutable("app.templatesFrom"),
    )
    app_def: dict[str, Any] | None = Field(
        None,
        description="The application's AppDef, verbatim as JARVICE documents it: version 2, snake_case keys, unknown keys "
        "kept, `nested_kubernetes` also spelled `nestedkubernetes`. `commands` must have an entry with `nested_kubernetes`, and "
        "that one `templates`. A change of its templates runs them again.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
        max_length=64,
    )


class JobExpose(Model):
    """How the job's targets are reached."""

    host: HostName | None = Field(
        None,
        description="Host name of the job's URL, which leads to the AppDef's first target. Left out: "
        "`<job>-<namespace>.<domain of the class>`. It must be below that domain, or one of the class's `expose.allowedHosts`. A "
        "host that an Ingress or an older job has stays with it; one that another job has by its name is that one's. May be "
        "changed.",
    )
    all_targets: bool = Field(
        False,
        description="Whether the AppDef's other targets are exposed as well, each at "
        "`<service>--<job>-<namespace>.<domain of the class>`, whatever `host` says. Where several targets have one Service, and "
        "for Services of two letters, it is `<service>-<port>--…`; `status.targets` has the URLs. `Exposed` is True only when "
        "all are reached; a host that somebody else has is kept from that target alone. Default: false, the first one only.",
    )


def _same(field: str) -> dict[str, str]:
    return rule(
        f"has(self.{field}) == has(oldSelf.{field})",
        f"`{field}` may not be added or removed: delete the object and create it again",
    )


class NestedAppJobSpec(Model):
    """What to run, and how."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.app) != has(self.appRef)",
                "exactly one of `app` and `appRef` must be set: an application of its own, or one of the catalogue",
            ),
            rule(
                "has(self.app) == has(oldSelf.app)",
                "`app` and `appRef` may not take each other's place: delete the object and create it again",
            ),
            _same("command"),
            _same("kubernetesVersion"),
        )
    )

    app: App | None = Field(None, description="The application. Not together with `appRef`.")
    app_ref: AppRef | None = Field(
        None,
        description="The application, by its name in the catalogue (`kubectl get nestedapps`). It is read when the job "
        "starts; later changes of it do not touch the job. Not together with `app`. Immutable.",
    )
    command: Annotated[str, StringConstraints(min_length=1, max_length=253)] | None = Field(
        None,
        description="Which entry of the AppDef's `commands` to run. May be left out when only one has a Kubernetes part. "
        "Immutable.",
        json_schema_extra=immutable("command"),
    )
    parameters: Annotated[dict[str, Any], Field(max_length=64)] | None = Field(
        None,
        description="Values for the command's `parameters`, by their names. A change runs again the steps from the first "
        "one that they are rendered into.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
    )
    class_name: ObjectName = Field(
        "default",
        description="Name of the NestedClass: the admins' policy for this job. Default: `default`. Immutable.",
        json_schema_extra=immutable("className"),
    )
    kubernetes_version: KubernetesVersion | None = Field(
        None,
        description="Kubernetes version of the nested cluster as major.minor, for example `v1.36`; wins over the AppDef's "
        "`kubernetes_version`. Left out in both: the class's default. Immutable.",
        json_schema_extra=immutable("kubernetesVersion"),
    )
    expose: JobExpose | None = Field(None, description="How the job's targets are reached. Left out: by the class.")
    suspend: bool = Field(
        False,
        description="Whether the job is to rest: its pods end, its cluster's data is kept. Back on false it goes on. "
        "Default: false.",
    )
    active_deadline_seconds: int | None = Field(
        None,
        description="Seconds after `status.startTime` at which the job is ended, whatever it does. The time that it is "
        "suspended does not count. Left out: none.",
        ge=1,
        le=315_360_000,
    )
    ttl_seconds_after_finished: int | None = Field(
        None,
        description="Seconds after `status.completionTime` at which the job is deleted, with everything of it. Left out: "
        "it stays until somebody deletes it.",
        ge=0,
        le=315_360_000,
    )
    success_policy: SuccessPolicy | None = Field(
        None, description="When the job is done. Left out: never; it runs until it is deleted."
    )
    failure_policy: FailurePolicy | None = Field(
        None, description="What a failure of the application means. Left out: `action: Fail`."
    )


_TIMINGS: dict[str, Any] = {
    to_snake(stage): (str | None, Field(None, description=stage.reached, max_length=64)) for stage in conditions.TIMED
}
_Timings: Any = create_model("Timings", __base__=Model, **_TIMINGS)


class Timings(_Timings):
    """When the job reached each stage for the first time (RFC 3339)."""


class TargetStatus(Model):
    """How one target of the AppDef is reached."""

    service_name: str = Field(description="Name of the Service in the nested cluster.", max_length=253)
    service_namespace: str = Field(description="Namespace of the Service in the nested cluster.", max_length=253)
    service_port: int = Field(description="Port of the Service.", ge=0, le=65535)
    url: str | None = Field(None, description="Where it is reached once `ready`. Absent: it is not exposed.", max_length=2048)
    ready: bool = Field(False, description="Whether a request to the URL has somewhere to go.")
    message: str = Field("", description="Why it is not ready, or what is odd about it.", max_length=4096)


class RestartStatus(Model):
    """A restart from an empty nested cluster: under way until the cluster's data is of this epoch."""

    epoch: int = Field(description="Which loss of the cluster's data the restart is.", ge=0)
    time: str = Field(description="When its cause was seen (RFC 3339). It begins after a back-off.", max_length=64)
    message: str = Field("", description="Its cause.", max_length=4096)


class NestedAppJobStatus(Model):
    """What Nestor observed; written by the operator alone."""

    conditions: Conditions = Field(
        default_factory=list,
        description=f"{', '.join(f'`{stage}`' for stage in conditions.STAGES)}, their summary "
        "`Ready`, and `Succeeded`: whether the job has done what it was made for.",
    )
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status is about.", ge=0)
    url: str | None = Field(None, description="Where the job's first target is reached once `Exposed` is True.", max_length=2048)
    namespace: str | None = Field(None, description="The job's own namespace in the host cluster.", max_length=63)
    kubernetes_version: str | None = Field(
        None, description="Version of the nested cluster: as asked for, later as its API server reports it.", max_length=64
    )
    kubeconfig_secret_name: str | None = Field(
        None, description="Secret beside the job whose key `kubeconfig` opens the nested cluster as admin.", max_length=253
    )
    steps: Steps = Field(default_factory=list, description="The AppDef's templates, in their order, each with how far it is.")
    timings: Timings | None = Field(None, description="When each stage was reached.")
    command: str | None = Field(None, description="The AppDef's command that runs.", max_length=253)
    targets: Annotated[
        list[TargetStatus], Field(max_length=64, json_schema_extra=list_map("serviceNamespace", "serviceName", "servicePort"))
    ] = Field(default_factory=list, description="The AppDef's targets, in their order.")
    pods: PodCounts | None = Field(None, description="The application's pods, counted.")
    start_time: str | None = Field(None, description="When the job began, or was resumed (RFC 3339).", max_length=64)
    completion_time: str | None = Field(None, description="When the job ended, well or not (RFC 3339).", max_length=64)
    restarts: int | None = Field(None, description="How often the application was started again by `failurePolicy`.", ge=0)
    restart: RestartStatus | None = Field(None, description="The restart that is under way.")
    suspend_time: str | None = Field(None, description="Since when the job is suspended (RFC 3339).", max_length=64)
    rerun: str | None = Field(
        None, description="The value of annotation `nestor.dev/rerun` that this run of the job is of.", max_length=262144
    )

"""`NestedAppJob`: run this app, once, in a nested cluster of its own."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from nestor.api.base import (
    Conditions,
    HostName,
    Image,
    KubernetesVersion,
    Model,
    ObjectName,
    Steps,
    immutable,
    rule,
    rules,
)

NAME_LIMIT = 52


class ConfigMapRef(Model):
    """A ConfigMap in the job's own namespace."""

    name: ObjectName = Field(description="Name of the ConfigMap.")


class TemplatesFrom(Model):
    """Templates that are not in an image."""

    config_map_ref: ConfigMapRef = Field(
        description="ConfigMap in the job's own namespace that holds the templates: each key is a file of the templates folder. "
        "It is copied when the job starts; later changes of it do not touch the job.",
    )


class App(Model):
    """The application: where its templates are, and its AppDef."""

    model_config = ConfigDict(json_schema_extra=rules(
        rule("has(self.image) != has(self.templatesFrom)",
             "exactly one of `image` and `templatesFrom` must be set: templates come from the folder /templates of an image, "
             "or from a ConfigMap"),
        rule("has(self.appDef)", "`appDef` must be set: this version does not read it from the image yet"),
        rule("!has(self.imagePullSecretName) || has(self.image)", "`imagePullSecretName` may be set only together with `image`"),
        rule("has(self.image) == has(oldSelf.image) && has(self.templatesFrom) == has(oldSelf.templatesFrom) && "
             "has(self.imagePullSecretName) == has(oldSelf.imagePullSecretName)",
             "`app` may not be changed: delete the object and create it again"),
    ))

    image: Image | None = Field(
        None, description="App image: a container image whose folder /templates holds the templates. It is mounted, not run. "
        "Not together with `templatesFrom`. Immutable.", json_schema_extra=immutable("app.image"),
    )
    image_pull_secret_name: ObjectName | None = Field(
        None, description="Secret in the job's own namespace, of type kubernetes.io/dockerconfigjson, to pull `image` with. "
        "Left out: none. Immutable.", json_schema_extra=immutable("app.imagePullSecretName"),
    )
    templates_from: TemplatesFrom | None = Field(
        None, description="Templates without an image. Not together with `image`. Immutable.",
        json_schema_extra=immutable("app.templatesFrom"),
    )
    app_def: dict[str, Any] | None = Field(
        None, description="The application's AppDef, verbatim as JARVICE documents it: version 2, snake_case keys, unknown keys "
        "kept, `nested_kubernetes` also spelled `nestedkubernetes`. `commands` must have an entry with `nested_kubernetes`, and "
        "that one `templates`. A change of its templates runs them again.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}, max_length=64,
    )


class JobExpose(Model):
    """How the job's first target is reached."""

    host: HostName | None = Field(
        None, description="Host name of the job's URL. Left out: `<job>-<namespace>.<domain of the class>`. It must be "
        "below that domain, or one of the class's `expose.allowedHosts`. A host that an Ingress or an older job has stays with "
        "it; one that another job has by its name is that one's. May be changed.",
    )


def _same(field: str) -> dict[str, str]:
    return rule(f"has(self.{field}) == has(oldSelf.{field})",
                f"`{field}` may not be added or removed: delete the object and create it again")


class NestedAppJobSpec(Model):
    """What to run, and how."""

    model_config = ConfigDict(json_schema_extra=rules(_same("command"), _same("kubernetesVersion")))

    app: App = Field(description="The application.")
    command: Annotated[str, StringConstraints(min_length=1, max_length=253)] | None = Field(
        None, description="Which entry of `app.appDef.commands` to run. May be left out when there is only one. Immutable.",
        json_schema_extra=immutable("command"),
    )
    class_name: ObjectName = Field(
        "default", description="Name of the NestedClass: the admins' policy for this job. Default: `default`. Immutable.",
        json_schema_extra=immutable("className"),
    )
    kubernetes_version: KubernetesVersion | None = Field(
        None, description="Kubernetes version of the nested cluster as major.minor, for example `v1.36`; wins over the AppDef's "
        "`kubernetes_version`. Left out in both: the class's default. Immutable.",
        json_schema_extra=immutable("kubernetesVersion"),
    )
    expose: JobExpose | None = Field(None, description="How the job's first target is reached. Left out: by the class.")


class Timings(Model):
    """When the job reached each stage for the first time (RFC 3339)."""

    admitted: str | None = Field(None, description="Class, version, command and AppDef were found to be good.", max_length=64)
    cluster_ready: str | None = Field(None, description="The nested cluster answered.", max_length=64)
    steps_applied: str | None = Field(None, description="The last step succeeded.", max_length=64)
    exposed: str | None = Field(None, description="The target had a ready endpoint behind the Ingress.", max_length=64)
    ready: str | None = Field(None, description="All of these.", max_length=64)


class NestedAppJobStatus(Model):
    """What Nestor observed; written by the operator alone."""

    conditions: Conditions = Field(
        default_factory=list, description="`Admitted`, `ClusterReady`, `StepsApplied`, `Exposed`, and their summary `Ready`.",
    )
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status is about.", ge=0)
    url: str | None = Field(None, description="Where the job's first target is reached once `Exposed` is True.", max_length=2048)
    namespace: str | None = Field(None, description="The job's own namespace in the host cluster.", max_length=63)
    kubernetes_version: str | None = Field(
        None, description="Version of the nested cluster: as asked for, later as its API server reports it.", max_length=64,
    )
    kubeconfig_secret_name: str | None = Field(
        None, description="Secret beside the job whose key `kubeconfig` opens the nested cluster as admin.", max_length=253,
    )
    steps: Steps = Field(default_factory=list, description="The AppDef's templates, in their order, each with how far it is.")
    timings: Timings | None = Field(None, description="When each stage was reached.")

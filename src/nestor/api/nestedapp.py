"""The application that a job runs: its own, or a `NestedApp`: an entry of the catalog that admins write and jobs name."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from nestor.api.base import Image, ObjectName, immutable, list_map, rule
from nestor.api.model import Conditions, Model, ruled
from nestor.api.words import Access

_ONE_SOURCE = rule(
    "!has(self.image) || !has(self.templatesFrom)",
    "`image` and `templatesFrom` are mutually exclusive: templates come from the /templates folder of an image, from a "
    "ConfigMap, or, if neither is set, only from URLs, charts and scripts",
)
_SOME_APPDEF = rule("has(self.image) || has(self.appDef)", "`appDef` must be set when there is no `image` to read it from")
_PULLS = rule("!has(self.imagePullSecretName) || has(self.image)", "`imagePullSecretName` may be set only together with `image`")


class ConfigMapRef(Model):
    """A ConfigMap in the job's own namespace."""

    name: ObjectName = Field(description="Name of the ConfigMap.")


class TemplatesFrom(Model):
    """Templates that do not come from an image."""

    config_map_ref: ConfigMapRef = Field(
        description="ConfigMap in the job's namespace that holds the templates: each key is a file in the templates "
        "folder. It is copied when the job starts and when it is rerun; condition `Admitted` reports later changes."
    )


class App(Model):
    """The application: where its templates are, and its AppDef."""

    model_config = ruled(
        _ONE_SOURCE,
        _SOME_APPDEF,
        rule(
            "has(self.appDef) == has(oldSelf.appDef)",
            "`app.appDef` may be changed, but not added or removed: delete the object and create it again",
        ),
        _PULLS,
        rule(
            "has(self.image) == has(oldSelf.image) && has(self.templatesFrom) == has(oldSelf.templatesFrom) && "
            "has(self.imagePullSecretName) == has(oldSelf.imagePullSecretName)",
            "`app` may not be changed: delete the object and create it again",
        ),
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
        description="The application's AppDef, exactly as JARVICE documents it: version 2, with snake_case keys. Unknown keys "
        "are kept, and `nested_kubernetes` may also be spelled `nestedkubernetes`. At least one entry of `commands` must have "
        "`nested_kubernetes` with `templates`. Changing the templates runs them again, from the first step that changed.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
        max_length=64,
    )


class AppRef(Model):
    """An application in the catalog."""

    name: ObjectName = Field(description="Name of the NestedApp. Immutable.", json_schema_extra=immutable("appRef.name"))


class SecretRef(Model):
    """A Secret in the job's own namespace."""

    name: ObjectName = Field(description="Name of the Secret.")


class ParametersFrom(Model):
    """Values for parameters that must not be seen."""

    secret_ref: SecretRef = Field(
        description="Secret of type Opaque in the job's namespace: each key is the name of a parameter, and its value is the "
        "parameter's, as text. It is copied when the job starts and when it is rerun; condition `Admitted` reports later "
        "changes. Users who "
        "can create jobs can thus use the namespace's Secrets, as users who can create pods can."
    )


Title = Annotated[str, StringConstraints(max_length=1024)]


class NamespacedConfigMapRef(Model):
    """A ConfigMap in any namespace."""

    name: ObjectName = Field(description="Name of the ConfigMap.")
    namespace: ObjectName = Field(description="Namespace of the ConfigMap.")


class CatalogTemplates(Model):
    """Templates that do not come from an image."""

    config_map_ref: NamespacedConfigMapRef = Field(
        description="ConfigMap that holds the templates: each key is a file in the templates folder. It must be in "
        'the operator\'s namespace, or its owner must have labeled it `nestor.dev/catalog: "true"`. Every job that uses '
        "the application gets a copy, so keep secrets out of it."
    )


class NestedAppSpec(Model):
    """The application."""

    model_config = ruled(_ONE_SOURCE, _SOME_APPDEF, _PULLS)

    access: Access = Field(
        "Everyone",
        description="Who may create and change jobs that name it. `Everyone`: all users who may write jobs. `Permitted`: only "
        "those of them who also have the verb `use` on this NestedApp, in the cluster or in the job's namespace; see a class's "
        "`access`. It does not hide this object from users who may read NestedApps. Defaults to `Everyone`.",
    )
    title: Title | None = Field(None, description="Title shown to users. Defaults to the AppDef's `name`.")
    description: Title | None = Field(None, description="Description shown to users. Defaults to the AppDef's `description`.")
    image: Image | None = Field(
        None,
        description="App image: a container image whose /templates folder holds the templates. Mutually exclusive "
        "with `templatesFrom`.",
    )
    image_pull_secret_name: ObjectName | None = Field(
        None,
        description="Secret of type kubernetes.io/dockerconfigjson, in the operator's namespace, for pulling `image`. It is "
        "copied into the namespace of each job that uses the application. If not set, `image` is pulled without credentials.",
    )
    templates_from: CatalogTemplates | None = Field(
        None, description="Templates that do not come from an image. Mutually exclusive with `image`."
    )
    app_def: dict[str, Any] | None = Field(
        None,
        description="The application's AppDef, exactly as JARVICE documents it. If not set, it is read from "
        "/etc/NAE/AppDef.json of `image` when a job starts.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
        max_length=64,
    )


class CommandSummary(Model):
    """One command that a job may run."""

    id: str = Field(description="The value for a job's `command`.", max_length=253)
    name: str = Field("", description="Title shown to users.", max_length=1024)
    description: str = Field("", description="Description shown to users.", max_length=4096)


class NestedAppStatus(Model):
    """What Nestor found out about the application. Only the operator writes it."""

    conditions: Conditions = Field(default_factory=list, description="`Accepted`: the AppDef is valid and can be run.")
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status describes.", ge=0)
    title: str | None = Field(None, description="Title shown in lists: `spec.title`, or the AppDef's `name`.", max_length=1024)
    commands: Annotated[list[CommandSummary], Field(max_length=64, json_schema_extra=list_map("id"))] = Field(
        default_factory=list, description="The commands that jobs can choose by `command`."
    )

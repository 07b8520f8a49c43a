"""`NestedApp`: an entry of the catalogue, written by admins: an app image and its AppDef, for jobs to refer to by name."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from nestor.api.base import Conditions, Image, Model, ObjectName, list_map, rule, rules

Title = Annotated[str, StringConstraints(max_length=1024)]


class NamespacedConfigMapRef(Model):
    """A ConfigMap, wherever it is."""

    name: ObjectName = Field(description="Name of the ConfigMap.")
    namespace: ObjectName = Field(description="Namespace of the ConfigMap.")


class CatalogueTemplates(Model):
    """Templates that are not in an image."""

    config_map_ref: NamespacedConfigMapRef = Field(
        description="ConfigMap that holds the templates: each key is a file of the templates folder. It must be in the "
        'operator\'s namespace, or have label `nestor.dev/catalogue: "true"` from its owner. Every user of this application '
        "gets a copy of it, so it must hold nothing secret."
    )


class NestedAppSpec(Model):
    """The application."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.image) || !has(self.templatesFrom)",
                "`image` and `templatesFrom` may not be set together: templates come from the folder /templates of an image, "
                "from a ConfigMap, or (neither) from URLs, charts and scripts alone",
            ),
            rule("has(self.image) || has(self.appDef)", "`appDef` must be set when there is no `image` to read it from"),
        )
    )

    title: Title | None = Field(None, description="Title shown to users. Left out: the AppDef's `name`.")
    description: Title | None = Field(None, description="Description shown to users. Left out: the AppDef's `description`.")
    image: Image | None = Field(
        None,
        description="App image: a container image whose folder /templates holds the templates. Not together with "
        "`templatesFrom`.",
    )
    templates_from: CatalogueTemplates | None = Field(None, description="Templates without an image. Not together with `image`.")
    app_def: dict[str, Any] | None = Field(
        None,
        description="The application's AppDef, verbatim as JARVICE documents it. Left out: it is read from "
        "/etc/NAE/AppDef.json of `image` when a job starts.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
        max_length=64,
    )


class CommandSummary(Model):
    """One entry point of the application."""

    id: str = Field(description="What a job's `command` says.", max_length=253)
    name: str = Field("", description="Title shown to users.", max_length=1024)
    description: str = Field("", description="Description shown to users.", max_length=4096)


class NestedAppStatus(Model):
    """What Nestor found out about the application; written by the operator alone."""

    conditions: Conditions = Field(default_factory=list, description="`Accepted`: the AppDef can be run.")
    observed_generation: int | None = Field(None, description="The `metadata.generation` that this status is about.", ge=0)
    title: str | None = Field(None, description="Title for lists: `spec.title`, or the AppDef's `name`.", max_length=1024)
    commands: Annotated[list[CommandSummary], Field(max_length=64, json_schema_extra=list_map("id"))] = Field(
        default_factory=list, description="The entry points that jobs may choose by `command`."
    )

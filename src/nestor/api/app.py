"""The application that a job runs: its own, or one in the catalog, and parameters that must not be seen."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from nestor.api.base import Image, ObjectName, immutable, rule, rules
from nestor.api.model import Model


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
        "parameter's, as text. It is copied when the job starts, so later changes to it do not affect the job. Users who "
        "can create jobs can thus use the namespace's Secrets, as users who can create pods can."
    )

"""JARVICE's AppDef, version 2, verbatim: snake_case keys, unknown keys kept, both spellings of `nested_kubernetes`.

Only what Nestor acts upon is modelled; `templates` and `templates_settings` are read where they become a plan.
"""

from __future__ import annotations

from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError


class _Verbatim(BaseModel):
    """A part of an AppDef: keys stay as JARVICE spells them, what we do not know is kept."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Target(_Verbatim):
    """A Service of the nested cluster that the user is given a URL to. All three fields are to be set."""

    service_name: str = Field(description="Name of the Service.", min_length=1, max_length=63)
    service_port: int = Field(description="Port of the Service.", ge=1, le=65535)
    service_namespace: str = Field(description="Namespace of the Service in the nested cluster.", min_length=1, max_length=63)


class NestedKubernetes(_Verbatim):
    """Everything that Kubernetes needs to know about one entry point."""

    kubernetes_version: str | None = Field(
        None, description="Kubernetes version of the nested cluster as major.minor, as `v1.36`; empty: the class's default.",
    )
    targets: list[Target] = Field(
        default_factory=list, description="Services to expose; the first one gets the job's URL. May be left out.",
    )
    templates_settings: dict[str, Any] | None = Field(
        None, description="`global_retry` and `global_retry_sleep` (seconds), for steps that set neither.",
    )
    templates: list[dict[str, Any]] = Field(
        description="The steps that install the application, in their order; each with `name`, `type` and what the type needs.",
    )


class Command(_Verbatim):
    """One entry point of an application. `path` and `parameters` are JARVICE's and not used."""

    name: str = Field("", description="Title shown to users.")
    description: str = Field("", description="Description shown to users.")
    nested_kubernetes: NestedKubernetes = Field(
        description="The Kubernetes part; also spelled `nestedkubernetes`.",
        validation_alias=AliasChoices("nested_kubernetes", "nestedkubernetes"),
    )


class AppDef(_Verbatim):
    """An application definition, version 2 (`appdefversion`)."""

    name: str = Field("", description="Title of the application.")
    appdefversion: int = Field(2, description="Version of this format; 2 is the one that is known.", ge=2, le=2)
    commands: dict[str, dict[str, Any]] = Field(description="The entry points by their ids.", min_length=1)


def read_appdef(content: dict[str, Any]) -> AppDef:
    """The AppDef. Raises `ValueError` with a sentence for the user."""
    try:
        return AppDef.model_validate(content)
    except ValidationError as error:
        raise ValueError(explain(error, "appDef")) from error


def read_command(app: AppDef, command: str) -> NestedKubernetes:
    """The Kubernetes part of one entry point. Raises `ValueError` with a sentence for the user."""
    where = f"appDef.commands.{command}"
    try:
        return Command.model_validate(app.commands[command]).nested_kubernetes
    except ValidationError as error:
        raise ValueError(explain(error, where)) from error


def explain(error: ValidationError, root: str) -> str:
    """One sentence per fault, each naming the field."""
    sentences = []
    for fault in error.errors(include_url=False):
        field = root
        for part in fault["loc"]:
            field += f"[{part}]" if isinstance(part, int) else f".{part}"
        if fault["type"] == "missing":
            sentences.append(f"`{field}` must be set")
        else:
            message = fault["msg"]
            sentences.append(f"`{field}`: {message[:1].lower()}{message[1:]}")
    return "; ".join(sentences)

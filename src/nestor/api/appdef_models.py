"""What JARVICE's AppDef, version 2, holds: snake_case keys, unknown keys kept, both spellings of `nested_kubernetes`.

Every key that the KNS tutorial documents is here, with what it means to Nestor. `templates`, `templates_settings` and
`parameters` are read where they become a plan (`nestor.apps.steps`).
"""

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from nestor.api import faults

SPELLINGS = ("nested_kubernetes", "nestedkubernetes")
VERSION = 2
COMMAND_LIMIT = 64
_VERSION_FORM = re.compile(r"v?([0-9]{1,3}\.[0-9]{1,3})(\.[0-9]{1,4}([-+.][0-9A-Za-z.+-]*)?)?", re.ASCII)
_NAME_FORM = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def _blank_to_none(value: Any) -> Any:
    """`""` and null are how AppDefs leave something out without leaving out its key."""
    return None if isinstance(value, str) and not value.strip() else value


def _check_name(value: Any) -> Any:
    if not isinstance(value, str) or not _NAME_FORM.fullmatch(value):
        raise ValueError(f"must be a Kubernetes name of lower-case letters, digits and '-', at most 63, not {faults.show(value)}")
    return value


def _check_words(value: Any) -> Any:
    if value is None or isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return value
    raise ValueError(f"must be a list of strings, not {faults.show(value)}")


def _check_port(value: Any) -> Any:
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,5}", str(value), re.ASCII) or not 1 <= int(value) <= 65535:
        raise ValueError(f"must be a port number from 1 to 65535, not {faults.show(value)}")
    return int(value)


Name = Annotated[str, BeforeValidator(_check_name)]
Port = Annotated[int, BeforeValidator(_check_port)]
Words = Annotated[list[str] | str | None, BeforeValidator(_check_words)]
Text = Annotated[str | None, BeforeValidator(_blank_to_none)]
Flag = Annotated[bool | None, BeforeValidator(_blank_to_none)]


class _Verbatim(BaseModel):
    """A part of an AppDef: keys stay as JARVICE spells them, what we do not know is kept."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True, serialize_by_alias=True, defer_build=True)


class Target(_Verbatim):
    """A Service of the nested cluster that the user is given a URL to. All three fields are to be set."""

    service_name: Name = Field(description="Name of the Service.")
    service_port: Port = Field(description="Port of the Service, as a number.")
    service_namespace: Name = Field(description="Namespace of the Service in the nested cluster.")


class NestedKubernetes(_Verbatim):
    """Everything that Kubernetes needs to know about one entry point."""

    kubernetes_version: Text = Field(
        None,
        description="Kubernetes version of the nested cluster as major.minor, as `v1.36`; empty: the class's default. Of "
        "`v1.36.2`, as older AppDefs say it, the patch is dropped: the class's version table decides about it.",
    )
    targets: list[Target] = Field(
        default_factory=list,
        description="Services to expose; the first one gets the job's URL, the others theirs with `expose.allTargets`. Optional.",
        max_length=64,
    )
    templates_settings: Annotated[dict[str, Any] | None, BeforeValidator(_blank_to_none)] = Field(
        None,
        description="`global_retry` and `global_retry_sleep` (seconds), for steps that set neither; `render` (an "
        "extension): whether steps are rendered with the job's parameters.",
    )
    templates: list[Any] = Field(
        description="The steps that install the application, in their order; each with `name`, `type` (`kubectl`, `kustomize`, "
        "`custom`, or the extension `helm`) and what the type needs."
    )

    ingress_type: Any = Field(None, description="Of an older tutorial. Not used: every job has its own host name.")
    enable_gotty_shell: Any = Field(None, description="Of an older tutorial. Not used: `nestor shell` opens a shell.")
    limit_range: Any = Field(None, description="KNS's limits for the app's pods. Not used: the job's class sets them.")

    @field_validator("kubernetes_version", mode="before")
    @classmethod
    def _refuse_number(cls, value: Any) -> Any:
        if isinstance(value, int | float):
            # A parser has made 1.3 of 1.30 by now, so the number itself is no advice.
            raise ValueError(f"must be a string, not the number {faults.show(value)}: put it in quotes, for example '1.30'")
        return value

    @field_validator("kubernetes_version")
    @classmethod
    def _normalize_version(cls, value: str | None) -> str | None:
        if value is None:
            return None
        form = _VERSION_FORM.fullmatch(value.strip())
        if form is None:
            raise ValueError(f"must be a Kubernetes version as major.minor, for example 'v1.36', not {faults.show(value)}")
        return f"v{form[1]}"

    @field_validator("targets", mode="before")
    @classmethod
    def _default_targets(cls, value: Any) -> Any:
        return [] if _blank_to_none(value) is None else value


class Command(_Verbatim):
    """One entry point of an application."""

    name: Text = Field(None, description="Title shown to users.")
    description: Text = Field(None, description="Description shown to users.")
    path: Any = Field(None, description="JARVICE wants it, `/usr/bin/true`; not used.")
    parameters: Any = Field(
        None,
        description="What a job's `spec.parameters` may set, as JARVICE declares parameters; `{}`: nothing. KNS does not "
        "use them; here they are rendered into templates and given to scripts.",
    )
    nested_kubernetes: NestedKubernetes | None = Field(
        None,
        description="The Kubernetes part; also spelled `nestedkubernetes`. A command without it is one of JARVICE's own "
        "schedulers and is not run here.",
    )

    @model_validator(mode="before")
    @classmethod
    def _merge_spellings(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        found = {key: value[key] for key in SPELLINGS if value.get(key) is not None}
        if len(found) > 1 and found[SPELLINGS[0]] != found[SPELLINGS[1]]:
            raise ValueError("may have only one of `nested_kubernetes` and `nestedkubernetes`, which are the same key")
        rest = {key: item for key, item in value.items() if key not in SPELLINGS}
        return rest | {SPELLINGS[0]: next(iter(found.values()), None)}


class Icon(_Verbatim):
    """The application's icon; no container image."""

    type: Text = Field(None, description="Media type, as `image/png`.")
    data: Text = Field(
        None, description="The picture in base64. `nestor ui` shows it; dropped where an AppDef is read from an image."
    )


class AppDef(_Verbatim):
    """An application definition, version 2 (`appdefversion`)."""

    name: Text = Field(None, description="Title of the application.")
    description: Text = Field(None, description="Description of the application.")
    author: Text = Field(None, description="Who made it. `nestor ui` shows it.")
    licensed: Flag = Field(None, description="Whether its license is JARVICE's business. Not used.")
    appdefversion: int = Field(
        VERSION,
        description="Version of this format; 2 is the one that is known. Left out: 2, as AppDefs older than the key are "
        "read the same way where Nestor reads them.",
    )
    appkind: Text = Field(
        None,
        description="`kns` for applications such as these. JARVICE's portal offers machines by it, and takes `k8s` when it "
        "is left out; here, another value than `kns` only causes a warning.",
    )
    classifications: Words = Field(None, description="Categories of JARVICE's catalog. Not used.")
    machines: Words = Field(
        None,
        description="Names of the machines on which the application can run, with `*` and `?` for any characters. Of the job's "
        "class, these are the machines to choose from; `*`, or left out: all. In a class without machines it has no effect.",
    )
    vault_types: Words = Field(
        None,
        alias="vault-types",
        description="Storage that the application needs. StorageClasses by name: the job's class must allow all of them. Of "
        "JARVICE's kinds, it must have one, or the job gets a warning: `FILE`, `BLOCK` and `BLOCK_ARRAY` are persistent volumes; "
        "there is no `OBJECT`.",
    )
    image: Annotated[Icon | None, BeforeValidator(_blank_to_none)] = Field(
        None, description="The application's icon; no container image."
    )
    commands: dict[str, dict[str, Any]] = Field(description="The entry points by their ids.")

    @field_validator("appdefversion", mode="before")
    @classmethod
    def _check_version(cls, value: Any) -> Any:
        if _blank_to_none(value) is None:
            return VERSION
        if isinstance(value, bool) or str(value) not in (str(VERSION), f"{VERSION}.0"):
            raise ValueError(f"must be {VERSION}, the version of the format that is known, not {faults.show(value)}")
        return VERSION

    @field_validator("commands")
    @classmethod
    def _check_commands(cls, value: dict[str, Any]) -> dict[str, Any]:
        if not value:
            raise ValueError("must have an entry: the application's entry point by its id")
        if len(value) > COMMAND_LIMIT:
            raise ValueError(f"must not have more than {COMMAND_LIMIT} entries, not {len(value)}")
        if any(not key.strip() or len(key) > 253 for key in value):
            raise ValueError("must have ids of 1 to 253 characters")
        return value

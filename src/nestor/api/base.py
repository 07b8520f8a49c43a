"""What the models of all our resources share: camelCase in YAML, and Kubernetes's extensions of OpenAPI schemas."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """A part of a resource: snake_case in Python, camelCase in YAML. Unknown fields are ignored."""

    # Deferred: each process validates few of the models that it imports, and building one takes up to 10 ms.
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", defer_build=True)


def rule(expression: str, message: str) -> dict[str, str]:
    """One CEL rule; `message` says what is allowed."""
    return {"rule": expression, "message": message}


def rules(*items: dict[str, str]) -> dict[str, Any]:
    """Schema extras: CEL rules of a field or (via `model_config`) of a whole object."""
    return {"x-kubernetes-validations": list(items)}


def immutable(field: str) -> dict[str, Any]:
    """The rule for a field that can only be set at creation."""
    return rules(rule("self == oldSelf", immutable_message(field)))


def immutable_message(field: str) -> str:
    """What to say of a change of such a field."""
    return f"`{field}` may not be changed: delete the object and create it again"


def list_map(*keys: str) -> dict[str, Any]:
    """A list whose items are identified by `keys`, so that different writers can own different items."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


DNS_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$"

ObjectName = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=DNS_NAME)]
"""Name of a Kubernetes object (RFC 1123 subdomain)."""

HostName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=253,
        json_schema_extra=rules(
            rule(
                f"self.matches('{DNS_NAME}')".replace("\\", "\\\\"),
                "must be a host name such as 'shop.example.com': lower-case letters, digits, '-' and '.', "
                "without scheme, port or path",
            )
        ),
    ),
]
"""A DNS host name."""

LabelKey = Annotated[str, StringConstraints(min_length=1, max_length=316)]
LabelValue = Annotated[str, StringConstraints(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")]
NodeLabels = Annotated[dict[str, LabelValue], Field(max_length=64)]
"""Labels of nodes."""

LabelPattern = Annotated[
    str,
    Field(
        min_length=1,
        max_length=316,
        json_schema_extra=rules(
            rule(
                f"self.matches('^({DNS_NAME[1:-1]}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$') "
                f"|| self.matches('^{DNS_NAME[1:-1]}/[*]$')".replace("\\", "\\\\"),
                "must be a label key such as 'team' or 'example.com/team', or 'example.com/*' for all keys of a domain",
            )
        ),
    ),
]
"""A label key, or `<domain>/*` for all of a domain's."""

HostPattern = Annotated[
    str,
    Field(
        min_length=1,
        max_length=253,
        json_schema_extra=rules(
            rule(
                f"self.matches('^([*][.])?{DNS_NAME[1:]}')".replace("\\", "\\\\"),
                "must be a host name such as 'shop.example.com', or '*.example.com' for all hosts below example.com",
            )
        ),
    ),
]
"""A host name, or `*.` and a host name for all hosts below it."""

KubernetesVersion = Annotated[
    str,
    Field(
        min_length=1,
        max_length=32,
        json_schema_extra=rules(
            rule("self.matches('^v[0-9]+[.][0-9]+$')", "must be a Kubernetes version as major.minor, for example 'v1.36'")
        ),
    ),
]
"""A Kubernetes version in the form that users write."""

Image = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=r"^\S+$")]
"""A container image reference."""

ImagePrefix = Annotated[
    str,
    Field(
        min_length=1,
        max_length=512,
        json_schema_extra=rules(
            rule(
                "self.matches('^([a-z0-9-]+([.][a-z0-9-]+)+|localhost|[a-z0-9.-]+:[0-9]+)(/[a-z0-9][a-z0-9._-]*)*/?$')",
                "must be a registry, or a registry and a path, such as 'registry.example.com/team-a' or "
                "'docker.io/library/nginx', without tag or digest",
            )
        ),
    ),
]
"""A registry, perhaps with a path: all images below it."""

CIDR_MESSAGE = "must be an address range such as '10.0.0.0/8' or 'fd00::/8'"


def check_cidr(value: str) -> str:
    """The same check as the CEL rule, for objects that an older CRD admitted."""
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError as error:
        raise ValueError(f"{CIDR_MESSAGE}: {error}") from error
    return value


Cidr = Annotated[
    str,
    Field(min_length=3, max_length=43, json_schema_extra=rules(rule("isCIDR(self)", CIDR_MESSAGE))),
    AfterValidator(check_cidr),
]
"""An address range, such as `10.0.0.0/8` or `fd00::/8`."""

Quantity = Annotated[
    str | int | float,
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": r"^[0-9]+(\.[0-9]+)?([eE][0-9]+|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$",
            "x-kubernetes-int-or-string": True,
        }
    ),
]
"""A Kubernetes resource quantity: `500m`, `2`, `512Mi`."""

Quantities = Annotated[dict[str, Quantity], Field(max_length=64)]
"""Quantities by resource name, such as `cpu`, `memory` or `nvidia.com/gpu`."""


Quota = Annotated[
    dict[str, Quantity],
    Field(
        max_length=64,
        json_schema_extra=rules(
            rule(
                "self.all(key, key.startsWith('requests.') || key.startsWith('count/') || !key.contains('/') || "
                "key.contains('.k8s.io/'))",
                "extended resources are counted by their requests: write 'requests.nvidia.com/gpu', not 'nvidia.com/gpu' or "
                "'limits.nvidia.com/gpu'",
            )
        ),
    ),
]
"""Quantities by the keys of a ResourceQuota."""


class Resources(Model):
    """Resource requests and limits of a container."""

    requests: Quantities | None = Field(None, description="Amounts that the scheduler reserves, by resource name.")
    limits: Quantities | None = Field(None, description="Maximum amounts, by resource name.")


LIMITED = ("cpu", "memory", "ephemeral-storage")
"""What a class may set for each container. A LimitRange is for all pods of a job's namespace: with an extended resource, the
nested cluster's own would ask for GPUs, too.
"""


def limited(what: str) -> dict[str, Any]:
    """The rule for such quantities. `what`: `requests` or `limits`."""
    return rules(rule(f"self.all(name, name in {list(LIMITED)})", f"must be {what} of {', '.join(LIMITED)}"))


class DefaultResources(Resources):
    """Resource requests and limits of containers that set none."""

    requests: Quantities | None = Field(
        None,
        description=f"Amounts that the scheduler reserves: {', '.join(f'`{name}`' for name in LIMITED)}.",
        json_schema_extra=limited("requests"),
    )
    limits: Quantities | None = Field(
        None, description=f"Maximum amounts: {', '.join(f'`{name}`' for name in LIMITED)}.", json_schema_extra=limited("limits")
    )


class ConditionStatus(Model):
    """One condition of the object."""

    type: str = Field(description="Type of the condition.", max_length=316)
    status: Literal["True", "False", "Unknown"] = Field(description="`True`, `False` or `Unknown`.")
    reason: str = Field(description="Machine-readable reason, in CamelCase.", min_length=1, max_length=1024)
    message: str = Field("", description="Human-readable explanation.", max_length=32768)
    observed_generation: int | None = Field(None, description="The `metadata.generation` that the condition describes.", ge=0)
    last_transition_time: str = Field(
        description="When `status` last changed (RFC 3339).", json_schema_extra={"format": "date-time"}
    )


Conditions = Annotated[list[ConditionStatus], Field(max_length=32, json_schema_extra=list_map("type"))]


class StepStatus(Model):
    """Progress of one step."""

    name: str = Field(description="The step's name in the AppDef.", max_length=253)
    type: str = Field("", description="The step's type, such as `kubectl`.", max_length=63)
    state: Literal["Pending", "Running", "Retrying", "Succeeded", "Failed"] = Field(
        "Pending",
        description="`Pending` (not started yet), `Running`, `Retrying` (failed, will be retried), `Succeeded`, or "
        "`Failed` (no attempts left).",
    )
    attempt: int = Field(0, description="Number of the current or last attempt; 0 before the first.", ge=0)
    max_attempts: int = Field(1, description="Maximum number of attempts: the first one and all retries.", ge=0)
    start_time: str | None = Field(None, description="When the first attempt started (RFC 3339).", max_length=64)
    completion_time: str | None = Field(None, description="When the step succeeded or finally failed (RFC 3339).", max_length=64)
    exit_code: int | None = Field(None, description="Exit code of the last attempt.")
    message: str = Field("", description="Last lines of output of a failed attempt.", max_length=32768)
    hash: str | None = Field(None, description="Hash of everything that determines what the step does.", max_length=128)
    sha256: str | None = Field(None, description="SHA-256 checksum of what the step downloaded.", max_length=64)
    starts: int | None = Field(
        None, description="How often the current attempt was started: more than once if the runner's pod died during it.", ge=0
    )


Steps = Annotated[list[StepStatus], Field(max_length=200, json_schema_extra=list_map("name"))]


class PlaceCount(Model):
    """Number of pods in one place."""

    name: str = Field(description="`host`: the host cluster's own nodes. Otherwise a backend's name.", max_length=253)
    running: int = Field(0, description="Number of running pods.", ge=0)
    starting: int = Field(0, description="Number of pods that have a node there and are not running yet.", ge=0)
    reason: str | None = Field(
        None, description="Why they are at a backend, or most of them. Absent for the host cluster's own nodes.", max_length=1024
    )


class PodCounts(Model):
    """Number of pods, by state."""

    running: int = Field(0, description="Number of running pods.", ge=0)
    waiting: int = Field(0, description="Number of pods that are not running yet.", ge=0)
    places: Annotated[list[PlaceCount], Field(max_length=64, json_schema_extra=list_map("name"))] = Field(
        default_factory=list, description="Where those with a node are. Absent if the class lets no pod overflow."
    )

"""What all our resources share: types of fields, and Kubernetes's extensions of OpenAPI schemas. Without Pydantic."""

from typing import Annotated, Any

from nestor.api.data import Limits, field, part
from nestor.api.quantities import LENGTH_LIMIT, parse_quantity


def rule(expression: str, message: str) -> dict[str, str]:
    """One CEL rule; `message` says what is allowed."""
    return {"rule": expression, "message": message}


def rules(*items: dict[str, str]) -> dict[str, Any]:
    """Schema extras: CEL rules of a field or (via `model_config`) of a whole object."""
    return {"x-kubernetes-validations": list(items)}


def immutable(field: str) -> dict[str, Any]:
    """The rule for a field that can only be set at creation."""
    return rules(rule("self == oldSelf", f"`{field}` may not be changed: delete the object and create it again"))


def same(field: str) -> dict[str, str]:
    """The rule of an object for such a field, if it may be left out."""
    return rule(
        f"has(self.{field}) == has(oldSelf.{field})",
        f"`{field}` may not be added or removed: delete the object and create it again",
    )


def list_map(*keys: str) -> dict[str, Any]:
    """A list whose items are identified by `keys`, so that different writers can own different items."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def checked(expression: str, message: str, most: int) -> Limits:
    """A text of at most `most` characters, checked by CEL, whose `message` says what is allowed; a pattern's would not."""
    return Limits(min_length=1, max_length=most, json_schema_extra=rules(rule(expression.replace("\\", "\\\\"), message)))


DNS_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$"

ObjectName = Annotated[str, Limits(min_length=1, max_length=253, pattern=DNS_NAME)]
"""Name of a Kubernetes object (RFC 1123 subdomain)."""

HostName = Annotated[
    str,
    checked(
        f"self.matches('{DNS_NAME}')",
        "must be a host name such as 'shop.example.com': lower-case letters, digits, '-' and '.', without scheme, port or path",
        253,
    ),
]

LabelKey = Annotated[str, Limits(min_length=1, max_length=316)]
LabelValue = Annotated[str, Limits(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")]
NodeLabels = Annotated[dict[str, LabelValue], Limits(max_length=64)]

LabelPattern = Annotated[
    str,
    checked(
        f"self.matches('^({DNS_NAME[1:-1]}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$') "
        f"|| self.matches('^{DNS_NAME[1:-1]}/[*]$')",
        "must be a label key such as 'team' or 'example.com/team', or 'example.com/*' for all keys of a domain",
        316,
    ),
]
"""A label key, or `<domain>/*` for all of a domain's."""

HostPattern = Annotated[
    str,
    checked(
        f"self.matches('^([*][.])?{DNS_NAME[1:]}')",
        "must be a host name such as 'shop.example.com', or '*.example.com' for all hosts below example.com",
        253,
    ),
]
"""A host name, or `*.` and a host name for all hosts below it."""

KubernetesVersion = Annotated[
    str, checked("self.matches('^v[0-9]+[.][0-9]+$')", "must be a Kubernetes version as major.minor, for example 'v1.36'", 32)
]

Image = Annotated[str, Limits(min_length=1, max_length=1024, pattern=r"^\S+$")]

ImagePrefix = Annotated[
    str,
    checked(
        "self.matches('^([a-z0-9-]+([.][a-z0-9-]+)+|localhost|[a-z0-9.-]+:[0-9]+)(/[a-z0-9][a-z0-9._-]*)*/?$')",
        "must be a registry, or a registry and a path, such as 'registry.example.com/team-a' or 'docker.io/library/nginx', "
        "without tag or digest",
        512,
    ),
]
"""A registry, perhaps with a path: all images below it."""

Cidr = Annotated[
    str,
    Limits(
        min_length=3,
        max_length=43,
        json_schema_extra=rules(rule("isCIDR(self)", "must be an address range such as '10.0.0.0/8' or 'fd00::/8'")),
    ),
]
"""An address range, such as `10.0.0.0/8` or `fd00::/8`."""


def check_quantity(value: object) -> object:
    """The same check as the schema's, for `nestor validate`."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError("must be an integer or a string, such as 2, '500m' or '1.5'")
    if parse_quantity(str(value)) < 0:
        raise ValueError(f"'{value}' is negative")
    return value


Quantity = Annotated[
    str | int,
    Limits(
        check=check_quantity,
        schema={
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "maxLength": LENGTH_LIMIT,
            "minimum": 0,
            "pattern": r"^[0-9]+(\.[0-9]+)?([eE][0-9]{1,2}|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$",
            "x-kubernetes-int-or-string": True,
        },
    ),
]
"""A Kubernetes resource quantity: `500m`, `2`, `512Mi`."""

Quantities = Annotated[dict[str, Quantity], Limits(max_length=64)]
"""Quantities by resource name, such as `cpu`, `memory` or `nvidia.com/gpu`."""


_REQUESTED = ("cpu", "memory", "ephemeral-storage", "storage")


def complete_quota(value: object) -> object:
    """With the keys as a ResourceQuota has them: `cpu` is `requests.cpu`, and so are storage and extended resources."""
    return {_complete(key): amount for key, amount in value.items()} if isinstance(value, dict) else value


def _complete(key: str) -> str:
    is_extended = "/" in key and ".k8s.io/" not in key and not key.startswith(("requests.", "count/"))
    return f"requests.{key}" if is_extended or key in _REQUESTED else key


Quota = Annotated[
    dict[str, Quantity],
    Limits(
        max_length=64,
        check=complete_quota,
        json_schema_extra=rules(
            rule(
                "self.all(key, !key.startsWith('limits.') || !key.contains('/'))",
                "extended resources are counted by their requests: write 'nvidia.com/gpu', not 'limits.nvidia.com/gpu'",
            )
        ),
    ),
]
"""Quantities by the keys of a ResourceQuota, of which `requests.` may be left out."""


@part()
class Resources:
    """Resource requests and limits of a container."""

    requests: Quantities | None = field(default=None, description="Amounts that the scheduler reserves, by resource name.")
    limits: Quantities | None = field(default=None, description="Maximum amounts, by resource name.")


LIMITED = ("cpu", "memory", "ephemeral-storage")
"""What a class may set for each container. A LimitRange is for all pods of a job's namespace: with an extended resource, the
nested cluster's own would ask for GPUs, too.
"""


def limited(what: str) -> dict[str, Any]:
    """The rule for such quantities. `what`: `requests` or `limits`."""
    return rules(rule(f"self.all(name, name in {list(LIMITED)})", f"must be {what} of {', '.join(LIMITED)}"))


@part()
class DefaultResources(Resources):
    """Resource requests and limits of containers that set none."""

    requests: Quantities | None = field(
        default=None,
        description=f"Amounts that the scheduler reserves: {', '.join(f'`{name}`' for name in LIMITED)}.",
        json_schema_extra=limited("requests"),
    )
    limits: Quantities | None = field(
        default=None,
        description=f"Maximum amounts: {', '.join(f'`{name}`' for name in LIMITED)}.",
        json_schema_extra=limited("limits"),
    )

"""Makes tenants' labels and label selectors safe for the host namespace.

Keys that the host or Nestor acts on are renamed, in pods and selectors alike. So a Service that selects
`app.kubernetes.io/managed-by: Helm` still finds its pods, but no pod can pretend to belong to another job.
In a shared host namespace all keys are renamed (`rename_all`), because other people's Services and policies select pods there.
"""

from __future__ import annotations

from nestor import names
from nestor.api import labels
from nestor.objects import Object

_TENANT = f"tenant.{labels.GROUP}"


def host_key(key: str, *, rename_all: bool) -> str:
    """The key that a tenant's label has on the host."""
    if not (rename_all or labels.is_reserved(key)):
        return key
    readable = key.rpartition("/")[2][: names.LABEL_LIMIT - 9]
    return f"{_TENANT}/{readable}-{names.digest(key)}"


def host_labels(tenant: dict[str, str] | None, *, rename_all: bool) -> dict[str, str]:
    """A tenant's labels as set on host objects."""
    return {host_key(key, rename_all=rename_all): value for key, value in (tenant or {}).items()}


def host_selector(selector: Object, scope: dict[str, str], *, rename_all: bool) -> Object:
    """A LabelSelector that matches on the host what `selector` matches in the nested cluster, limited to `scope`."""
    result: Object = {"matchLabels": host_labels(selector.get("matchLabels"), rename_all=rename_all) | scope}
    expressions = [
        item | {"key": host_key(item["key"], rename_all=rename_all)} for item in selector.get("matchExpressions") or []
    ]
    if expressions:
        result["matchExpressions"] = expressions
    return result


def is_match(selector: Object, tenant: dict[str, str]) -> bool:
    """True if the LabelSelector matches these labels. An empty selector matches everything."""
    if any(tenant.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(item, tenant) for item in selector.get("matchExpressions") or [])


def _holds(expression: Object, tenant: dict[str, str]) -> bool:
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    if operator == "In":
        return tenant.get(key) in values
    if operator == "NotIn":
        return tenant.get(key) not in values
    return bool((key in tenant) == (operator == "Exists"))

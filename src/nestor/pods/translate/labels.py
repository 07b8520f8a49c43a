"""Makes tenants' labels and label selectors safe for the host namespace.

Their keys are renamed, in pods and selectors alike, except for those that the class allows. So a Service still finds its pods,
but no webhook, policy or Service of the host cluster takes a label for its own, and no pod can pretend to belong to another job.
"""

from collections.abc import Collection, Iterable, Mapping

from nestor.api import labels, names
from nestor.api.objects import Object

_TENANT = f"tenant.{labels.GROUP}"


def is_allowed(key: str, allowed: Collection[str]) -> bool:
    """Whether a tenant's label keeps its key. `allowed` has keys, and `<domain>/*` for all of a domain."""
    return not labels.is_reserved(key) and is_listed(key, allowed)


def is_listed(key: str, patterns: Collection[str]) -> bool:
    """Whether a key is among keys and `<domain>/*` for all keys of a domain."""
    domain, slash, _ = key.rpartition("/")
    return key in patterns or (slash != "" and f"{domain}/*" in patterns)


def host_key(key: str, allowed: Collection[str]) -> str:
    """The key that a tenant's label has on the host."""
    if is_allowed(key, allowed):
        return key
    readable = key.rpartition("/")[2][: names.LABEL_LIMIT - 9]
    return f"{_TENANT}/{readable}-{names.digest(key)}"


def host_labels(tenant: Mapping[str, str] | None, allowed: Collection[str]) -> dict[str, str]:
    return {host_key(key, allowed): value for key, value in (tenant or {}).items()}


def find_kept(were: Iterable[str], there: Mapping[str, str], tenant: Mapping[str, str]) -> list[str]:
    """Those of the keys that we once set on a host object (`were`) which still say what the tenant's labels say, in whatever
    spelling was right at the time. A running pod keeps them, because Services may still select it by them.
    """
    spelled = {**tenant, **host_labels(tenant, ())}
    return [key for key in were if key in spelled and there.get(key) == spelled[key]]


def host_selector(selector: Object, scope: dict[str, str], allowed: Collection[str]) -> Object:
    """A LabelSelector that matches on the host what `selector` matches in the nested cluster, limited to `scope`."""
    result: Object = {"matchLabels": host_labels(selector.get("matchLabels"), allowed) | scope}
    expressions = [item | {"key": host_key(item["key"], allowed)} for item in selector.get("matchExpressions") or []]
    if expressions:
        result["matchExpressions"] = expressions
    return result


def is_match(selector: Object, tenant: dict[str, str]) -> bool:
    """True if the LabelSelector matches these labels. An empty selector matches everything."""
    if any(tenant.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(holds(item, tenant) for item in selector.get("matchExpressions") or [])


def holds(expression: Object, tenant: Mapping[str, str]) -> bool:
    """Whether the labels meet one requirement, as selectors of labels have them."""
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    if operator == "In":
        return tenant.get(key) in values
    if operator == "NotIn":
        return tenant.get(key) not in values
    return bool((key in tenant) == (operator == "Exists"))

"""The job's namespace in the host cluster: Pod Security, quota, default resources."""

from __future__ import annotations

from nestor.api.nestedclass import NamespacePolicy
from nestor.cluster.shape import Shape
from nestor.kube.quantities import parse_quantity, write_quantity
from nestor.objects import Object

QUOTA_NAME = "nestor"


def build_namespace(name: str, labels: dict[str, str], policy: NamespacePolicy) -> Object:
    """The Namespace. Pod Security is enforced here, in the host, where admins of the nested cluster cannot relax it."""
    level = policy.pod_security.lower()
    security = {f"pod-security.kubernetes.io/{mode}": level for mode in ("enforce", "warn")}
    return {"metadata": {"name": name, "labels": labels | security}}


def build_quota(shape: Shape, policy: NamespacePolicy, own: list[Object]) -> Object | None:
    """The quota, increased by what the cluster's own containers need (`own`: their resources); None if there is no quota."""
    if not policy.quota:
        return None
    hard = {name: add_own_volume(name, add_own_share(name, str(limit), own), shape) for name, limit in policy.quota.items()}
    return {"metadata": shape.metadata(QUOTA_NAME), "spec": {"hard": hard}}


def build_limit_range(shape: Shape, policy: NamespacePolicy) -> Object | None:
    """Default resources of containers that set none; None if the class has no defaults."""
    resources = policy.default_resources
    if not resources:
        return None
    limit: Object = {"type": "Container"}
    if resources.requests:
        limit["defaultRequest"] = {name: str(value) for name, value in resources.requests.items()}
    if resources.limits:
        limit["default"] = {name: str(value) for name, value in resources.limits.items()}
    return {"metadata": shape.metadata(QUOTA_NAME), "spec": {"limits": [limit]}}


def add_own_share(name: str, limit: str, own: list[Object]) -> str:
    """One quota entry, increased by the share of the cluster's own pods."""
    if name in ("pods", "count/pods"):
        return str(int(parse_quantity(limit)) + 2)
    part, _, resource = name.partition(".") if "." in name else ("requests", "", name)
    shares = [parse_quantity(item[part][resource]) for item in own if part in item and resource in item[part]]
    if not shares:
        return limit
    return write_quantity(parse_quantity(limit) + sum(shares))


def add_own_volume(name: str, limit: str, shape: Shape) -> str:
    """One quota entry, increased by the volume of the cluster's own data: the total, and that of its storage class."""
    if shape.persistence is None:
        return limit
    prefix = f"{shape.persistence.storage_class_name}.storageclass.storage.k8s.io/"
    resource = name.removeprefix(prefix) if shape.persistence.storage_class_name else name
    if resource in ("persistentvolumeclaims", "count/persistentvolumeclaims"):
        return str(int(parse_quantity(limit)) + 1)
    if resource == "requests.storage":
        return write_quantity(parse_quantity(limit) + parse_quantity(str(shape.persistence.size)))
    return limit

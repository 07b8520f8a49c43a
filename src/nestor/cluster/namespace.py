"""The job's namespace in the host cluster: Pod Security, quota, default resources."""

from collections.abc import Iterable

from nestor.api import labels as marks
from nestor.api.allowances import LOAD_BALANCERS, NODE_PORTS, ServicesPolicy
from nestor.api.base import DefaultResources
from nestor.api.class_parts import (
    DEFAULT_EPHEMERAL_STORAGE,
    DEFAULT_QUOTA,
    DEVICES_QUOTA,
    ENDED_PODS,
    SMALL_REQUESTS,
    SNAPSHOTS_QUOTA,
    NamespacePolicy,
)
from nestor.api.names import QUOTA_NAME
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.api.quantities import find_larger, find_smaller, parse_quantity, write_quantity
from nestor.cluster.shape import Shape

OWN_OBJECTS = {"pods": 2, "services": 2, "configmaps": 8, "secrets": 8, "networkpolicies.networking.k8s.io": 32}
"""How many objects of its own a cluster and its job have in the namespace, with some to spare. Certificates of targets and the
tokens of pods are the application's.
"""


def build_namespace(name: str, labels: dict[str, str], policy: NestedClassSpec) -> Object:
    """The Namespace. Pod Security is enforced here, in the host, where admins of the nested cluster cannot relax it."""
    level = policy.namespace.pod_security.lower()
    if policy.storage is not None and policy.storage.retention == "Retain":
        labels = labels | {marks.RETENTION: "Retain"}
    security = {f"pod-security.kubernetes.io/{mode}": level for mode in ("enforce", "warn")}
    return {"metadata": {"name": name, "labels": labels | security}}


def build_quota(shape: Shape, own: list[Object]) -> Object:
    """The quota, increased by what the cluster's own objects need. `own`: the resources of its containers."""
    limits = find_default_limits(shape.policy.namespace)
    # A quota counts what the LimitRange fills in.
    filled = [item | {"limits": limits | item.get("limits", {})} for item in own]
    wanted = find_quota(shape.policy)
    hard = {name: add_own_volume(name, add_own_share(name, limit, filled), shape) for name, limit in wanted.items()}
    return {"metadata": shape.metadata(QUOTA_NAME), "spec": {"hard": hard}}


def find_quota(policy: NestedClassSpec) -> dict[str, str]:
    """The application's share, with defaults. A class that allows more pods than usual allows more that have ended, too."""
    given = {name: str(limit) for name, limit in (policy.namespace.quota or {}).items()}
    more = SNAPSHOTS_QUOTA if policy.storage and policy.storage.snapshot_classes else {}
    more |= DEVICES_QUOTA if policy.devices and policy.devices.classes else {}
    wanted = DEFAULT_QUOTA | more | _find_services_quota(policy.services) | given
    if "count/pods" not in given:
        ended = ENDED_PODS * int(parse_quantity(wanted["pods"]))
        wanted["count/pods"] = str(max(ended, int(DEFAULT_QUOTA["count/pods"])))
    if policy.expose.has_issuer and "services.nodeports" not in given:
        # The Service by which cert-manager proves a host to the issuer has node ports, unless the issuer says otherwise.
        del wanted["services.nodeports"]
    return wanted


def _find_services_quota(services: ServicesPolicy) -> dict[str, str]:
    """The defaults where the class allows Services that are reached from outside. Load balancers have node ports, too."""
    found = {"services.nodeports": NODE_PORTS} if services.node_ports or services.load_balancers else {}
    return found | ({"services.loadbalancers": LOAD_BALANCERS} if services.load_balancers else {})


def build_limit_range(shape: Shape, own: Iterable[Object] = ()) -> Object:
    """Default resources of containers that set none, and the most that any may have. `own`: those of the cluster's containers.

    By default there are none for CPU and memory: they would throttle and kill applications that do not expect them. Without an
    explicit request, the limit would become one, and pods would not fit on the nodes.
    """
    policy = shape.policy.namespace
    most = _find_most(policy)
    requests = {"ephemeral-storage": "0"} | dict.fromkeys(most, "0") | _find_default_requests(policy)
    limit: Object = {"type": "Container", "default": find_default_limits(policy), "defaultRequest": requests}
    for item in own if most else ():
        most |= {name: find_larger(value, str(item["limits"].get(name, "0"))) for name, value in most.items()}
    return {"metadata": shape.metadata(QUOTA_NAME), "spec": {"limits": [limit | ({"max": most} if most else {})]}}


def _find_most(policy: NamespacePolicy) -> dict[str, str]:
    return {name: str(value) for name, value in (policy.max_resources or {}).items()}


def find_default_limits(policy: NamespacePolicy) -> dict[str, str]:
    """Limits of containers that set none. Ours is never below the class's request: the host takes no such LimitRange."""
    limits = policy.default_resources.limits if policy.default_resources else None
    ours = find_larger(DEFAULT_EPHEMERAL_STORAGE, _find_default_requests(policy).get("ephemeral-storage", "0"))
    most = _find_most(policy)
    wanted = most | {"ephemeral-storage": ours} | {name: str(value) for name, value in (limits or {}).items()}
    return {name: find_smaller(value, most.get(name, value)) for name, value in wanted.items()}


def _find_default_requests(policy: NamespacePolicy) -> dict[str, str]:
    said, most = policy.default_resources or DefaultResources(), _find_most(policy)
    counted = {name for name in SMALL_REQUESTS if f"requests.{name}" in (policy.quota or {})}
    small = {name: SMALL_REQUESTS[name] for name in counted - (said.limits or {}).keys()}
    requests = small | {name: str(value) for name, value in (said.requests or {}).items()}
    return {name: find_smaller(value, most.get(name, value)) for name, value in requests.items()}


def add_own_share(name: str, limit: str, own: list[Object]) -> str:
    """One quota entry, increased by the share of the cluster's own pods."""
    if (count := OWN_OBJECTS.get(name.removeprefix("count/"))) is not None:
        return str(int(parse_quantity(limit)) + count)
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

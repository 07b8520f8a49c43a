"""Turns nested Services into host Services: same cluster IP, same pods, and outside the cluster only what the class allows."""

from collections.abc import Iterator

from nestor.api.allowances import AllowedServices
from nestor.api.objects import Object
from nestor.pods.translate import fields, labels
from nestor.pods.translate.fields.services import BALANCER_CLASSES, BALANCERS, NODE_PORTS, SERVICE_PORT, SERVICE_SPEC
from nestor.pods.translate.target import Target

FIELDS = fields.find(SERVICE_SPEC, "Pass")
"""Fields copied unchanged, in addition to ports and selector."""
FAMILY_FIELDS = ("ipFamilies", "ipFamilyPolicy")
OUTWARD_FIELDS = tuple(name for name in fields.find(SERVICE_SPEC, "Class", NODE_PORTS.note) if name != "type")
"""Fields of Services that have node ports."""
BALANCER_FIELDS = (
    *fields.find(SERVICE_SPEC, "Class", BALANCERS.note),
    *fields.find(SERVICE_SPEC, "Class", BALANCER_CLASSES.note),
)
NOTHING = AllowedServices()
"""What a class allows that says nothing about Services."""

_OWN = (("default", "kubernetes"), ("kube-system", "kube-dns"))
"""Of the API server, and of the syncer for DNS: both have their host Service already, made by the operator."""
OUTWARD = ("NodePort", "LoadBalancer")
_PORT_FIELDS = fields.find(SERVICE_PORT, "Pass")


def is_synced(service: Object) -> bool:
    """Whether a nested Service gets a host Service. If not, it exists only in the nested cluster and its DNS.

    One without a selector has a host Service too, whose endpoints are those that `copies.rows.endpoint_slices` lets through.
    """
    meta, spec = service["metadata"], service["spec"]
    if (meta["namespace"], meta["name"]) in _OWN:
        return False
    return spec.get("type") != "ExternalName" and spec.get("clusterIP") not in (None, "", "None")


def find_type(service: Object, allowed: AllowedServices) -> str:
    """The host Service's type: the nested one's if the class allows it."""
    spec = service["spec"]
    kind, own_class = spec.get("type"), spec.get("loadBalancerClass")
    if kind == "LoadBalancer" and allowed.load_balancers and (not own_class or own_class in allowed.load_balancer_classes):
        return "LoadBalancer"
    if kind in OUTWARD and allowed.node_ports and spec.get("allocateLoadBalancerNodePorts") is not False:
        return "NodePort"  # what a real cluster without load balancers makes of one
    return "ClusterIP"


def find_ignored(service: Object, allowed: AllowedServices = NOTHING) -> list[str]:
    """One message per field that has no effect, which names the class field that would allow it, if there is one."""
    spec = service["spec"]
    carried = find_type(service, allowed)
    found = [*_find_ignored_type(spec, carried, allowed)]
    if carried in OUTWARD and not spec.get("selector"):
        found.append(f"`spec.type` is '{carried}', but without `spec.selector`, its pods cannot be reached from outside")
    if addresses := spec.get("externalIPs"):
        found.append(f"`spec.externalIPs` has {', '.join(addresses)}, but {SERVICE_SPEC['externalIPs'].note}")
    if address := spec.get("loadBalancerIP"):
        found.append(f"`spec.loadBalancerIP` is {address}, but {SERVICE_SPEC['loadBalancerIP'].note}")
    return [*found, *fields.find_unknown("spec", spec, SERVICE_SPEC)]


def _find_ignored_type(spec: Object, carried: str, allowed: AllowedServices) -> Iterator[str]:
    kind, own_class = spec.get("type"), spec.get("loadBalancerClass")
    if kind not in OUTWARD or kind == carried:
        return
    reached = "at its node ports" if carried == "NodePort" else "inside the nested cluster only, at its cluster IP"
    if kind == "LoadBalancer" and allowed.load_balancers:
        denied = f"`spec.loadBalancerClass` is '{own_class}', which its class does not allow (`services.loadBalancerClasses`)"
        yield f"{denied}: the Service is reached {reached}"
    else:
        field = "services.loadBalancers" if kind == "LoadBalancer" else "services.nodePorts"
        yield f"`spec.type` is '{kind}', but the Service is reached {reached}: its class does not allow more (`{field}`)"


def build_service(
    service: Object, target: Target, cluster_ip: str | None, allowed: AllowedServices = NOTHING, *, own_ports: bool = True
) -> Object:
    """The host Service. `cluster_ip` None lets the host choose one, and so does `own_ports` False with node ports."""
    spec = service["spec"]
    kind = find_type(service, allowed)
    outward = kind in OUTWARD
    names = (*FIELDS, *FAMILY_FIELDS, *(OUTWARD_FIELDS if outward else ()), *(BALANCER_FIELDS if kind == "LoadBalancer" else ()))
    result: Object = {key: spec[key] for key in names if key in spec}
    port_fields = (*_PORT_FIELDS, "nodePort") if outward and own_ports else _PORT_FIELDS
    result |= {
        "type": kind,
        "ports": [{key: port[key] for key in port_fields if port.get(key)} for port in spec.get("ports") or []],
    }
    if spec.get("selector"):
        result["selector"] = build_selector(service, target)
    if cluster_ip:
        result["clusterIP"] = cluster_ip
        if spec.get("clusterIPs"):
            result["clusterIPs"] = spec["clusterIPs"]
    if kind == "LoadBalancer" and own_ports and spec.get("healthCheckNodePort"):
        result["healthCheckNodePort"] = spec["healthCheckNodePort"]
    return {"apiVersion": "v1", "kind": "Service", "metadata": target.metadata(service), "spec": result}


def build_selector(service: Object, target: Target) -> dict[str, str]:
    """Selects the host pods of a Service, and no others with such labels."""
    own = labels.host_labels(service["spec"]["selector"], target.allowed_labels)
    return own | target.scope(service["metadata"]["namespace"])

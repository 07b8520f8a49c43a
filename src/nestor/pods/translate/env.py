"""A container's environment. Later sources win, as on a kubelet: service links, `envFrom` in order, `env` in order."""

from collections.abc import Callable, Iterable
from functools import partial

from nestor.api import names
from nestor.api.objects import Object
from nestor.pods.translate import downward

Rename = Callable[[str], str]
"""The name that a ConfigMap or Secret of the pod's namespace has there."""


def links_name(namespace: str) -> str:
    """Name of the host ConfigMap that holds the service links of one nested namespace."""
    return names.join_limited(["service-links", namespace], names.digest("service-links", namespace), separator="-x-")


def build_env(container: Object, namespace: str, api_ip: str) -> list[Object]:
    """`env`: the address of the nested API server (in place of the host's), then the container's own variables."""
    own = build_variables(container, partial(names.host_name, namespace=namespace))
    named = {item["name"] for item in own}
    api = [{"name": name, "value": value} for name, value in build_api_links(api_ip).items() if name not in named]
    return api + own


def build_env_from(container: Object, namespace: str, *, links: bool) -> list[Object]:
    """`envFrom`: the service links first, so that the container's own sources override them."""
    own = build_sources(container, partial(names.host_name, namespace=namespace))
    return ([{"configMapRef": {"name": links_name(namespace)}}] if links else []) + own


def build_variables(container: Object, rename: Rename) -> list[Object]:
    return [_variable(item, rename) for item in container.get("env") or []]


def build_sources(container: Object, rename: Rename) -> list[Object]:
    result = []
    for item in container.get("envFrom") or []:
        kind = "configMapRef" if item.get("configMapRef") else "secretRef"
        result.append(item | {kind: item[kind] | {"name": rename(item[kind]["name"])}})
    return result


def _variable(variable: Object, rename: Rename) -> Object:
    source = variable.get("valueFrom")
    if not source:
        return variable
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if part := source.get(kind):
            return variable | {"valueFrom": {kind: part | {"name": rename(part["name"])}}}
    if field := source.get("fieldRef"):
        return variable | {"valueFrom": {"fieldRef": downward.host_field_ref(field)}}
    return variable


def build_links(services: Iterable[Object]) -> dict[str, str]:
    """The variables that a kubelet derives from these Services (`enableServiceLinks`); those without a cluster IP have none."""
    result: dict[str, str] = {}
    for service in sorted(services, key=lambda item: item["metadata"]["name"]):
        address = service["spec"].get("clusterIP")
        if address and address != "None" and service["spec"].get("ports"):
            result |= _of_service(_name_variable(service["metadata"]["name"]), address, service["spec"]["ports"])
    return result


def build_api_links(api_ip: str) -> dict[str, str]:
    """`KUBERNETES_SERVICE_HOST` and related variables. Every pod gets them, even with `enableServiceLinks: false`."""
    return _of_service("KUBERNETES", api_ip, [{"name": "https", "port": 443, "protocol": "TCP"}])


def _of_service(name: str, address: str, ports: list[Object]) -> dict[str, str]:
    result = {f"{name}_SERVICE_HOST": address, f"{name}_SERVICE_PORT": str(ports[0]["port"])}
    for port in ports:
        if port.get("name"):
            result[f"{name}_SERVICE_PORT_{_name_variable(port['name'])}"] = str(port["port"])
    for index, port in enumerate(ports):
        protocol, number = port.get("protocol") or "TCP", port["port"]
        host = f"[{address}]" if ":" in address else address
        url = f"{protocol.lower()}://{host}:{number}"
        if index == 0:
            result[f"{name}_PORT"] = url
        prefix = f"{name}_PORT_{number}_{protocol.upper()}"
        result |= {prefix: url, f"{prefix}_PROTO": protocol.lower(), f"{prefix}_PORT": str(number), f"{prefix}_ADDR": address}
    return result


def _name_variable(name: str) -> str:
    return name.replace("-", "_").upper()

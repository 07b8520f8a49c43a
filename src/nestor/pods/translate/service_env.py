"""The environment variables that a kubelet derives from Services (`enableServiceLinks`), here from nested ones."""

from __future__ import annotations

from collections.abc import Iterable

from nestor.api.objects import Object


def build_links(services: Iterable[Object]) -> dict[str, str]:
    """The variables for these Services, named as a kubelet does. Services without a cluster IP have none."""
    result: dict[str, str] = {}
    for service in sorted(services, key=lambda item: item["metadata"]["name"]):
        address = service["spec"].get("clusterIP")
        if address and address != "None" and service["spec"].get("ports"):
            result |= _of_service(_variable(service["metadata"]["name"]), address, service["spec"]["ports"])
    return result


def build_api_links(api_ip: str) -> dict[str, str]:
    """`KUBERNETES_SERVICE_HOST` and related variables. Every pod gets them, even with `enableServiceLinks: false`."""
    return _of_service("KUBERNETES", api_ip, [{"name": "https", "port": 443, "protocol": "TCP"}])


def _of_service(name: str, address: str, ports: list[Object]) -> dict[str, str]:
    result = {f"{name}_SERVICE_HOST": address, f"{name}_SERVICE_PORT": str(ports[0]["port"])}
    for port in ports:
        if port.get("name"):
            result[f"{name}_SERVICE_PORT_{_variable(port['name'])}"] = str(port["port"])
    for index, port in enumerate(ports):
        protocol, number = port.get("protocol") or "TCP", port["port"]
        host = f"[{address}]" if ":" in address else address
        url = f"{protocol.lower()}://{host}:{number}"
        if index == 0:
            result[f"{name}_PORT"] = url
        prefix = f"{name}_PORT_{number}_{protocol.upper()}"
        result |= {prefix: url, f"{prefix}_PROTO": protocol.lower(), f"{prefix}_PORT": str(number), f"{prefix}_ADDR": address}
    return result


def _variable(name: str) -> str:
    return name.replace("-", "_").upper()

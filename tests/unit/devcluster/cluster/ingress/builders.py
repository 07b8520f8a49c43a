"""Objects for the Ingress controller's tests, with only what a test cares about."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def ingress(
    name: str = "web", *, rules: list[Object] | None = None, created: str = "2026-01-01T00:00:00Z", **spec: Any
) -> Object:
    """An Ingress of namespace `team`."""
    meta = {"name": name, "namespace": "team", "creationTimestamp": created}
    return {"metadata": meta, "spec": {"rules": rules or [], **spec}}


def rule(host: str | None, *paths: Object) -> Object:
    """A rule; without a host it means any."""
    content: Object = {"http": {"paths": list(paths)}}
    return content if host is None else {"host": host, **content}


def path(text: str = "/", service: str = "web", *, match: str = "Prefix", port: int | str = 80) -> Object:
    """A path that leads to a service's port, by number or by name."""
    wanted = {"number": port} if isinstance(port, int) else {"name": port}
    return {"path": text, "pathType": match, "backend": {"service": {"name": service, "port": wanted}}}


def service(name: str = "web", *ports: tuple[str | None, int]) -> Object:
    """A Service with (name, number) ports."""
    listed = [{"port": number} if text is None else {"name": text, "port": number} for text, number in ports or ((None, 80),)]
    return {"metadata": {"name": name, "namespace": "team"}, "spec": {"ports": listed}}


def endpoints(
    *addresses: str,
    service: str = "web",
    ports: tuple[tuple[str | None, int], ...] = ((None, 8080),),
    ready: bool | None = True,
    family: str = "IPv4",
) -> Object:
    """An EndpointSlice whose endpoints share a readiness (None: they do not say)."""
    conditions = {} if ready is None else {"ready": ready}
    return {
        "metadata": {"name": f"{service}-1", "namespace": "team", "labels": {"kubernetes.io/service-name": service}},
        "addressType": family,
        "ports": [{"name": text or "", "port": number} for text, number in ports],
        "endpoints": [{"addresses": [address], "conditions": conditions} for address in addresses],
    }

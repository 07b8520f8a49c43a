"""Objects for the Ingress controller's tests, with only what a test cares about."""

from typing import Any

from nestor.api.objects import Object


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


def path(text: str = "/", service: str = "web", *, match: str = "Prefix") -> Object:
    """A path that leads to a service."""
    return {"path": text, "pathType": match, "backend": {"service": {"name": service, "port": {"number": 80}}}}

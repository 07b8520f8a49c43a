"""Whether a job's target answers, decided from its host Service and EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nestor.api import conditions
from nestor.api.appdef import Target
from nestor.api.conditions import Condition

Object = dict[str, Any]


@dataclass(frozen=True)
class Exposure:
    """What is known about a job's exposure. `refusal` is a reason and a message why there is no Ingress."""

    target: Target | None = None
    host: str | None = None
    url: str | None = None
    refusal: tuple[str, str] | None = None
    service: Object | None = None
    slices: list[Object] = field(default_factory=list)


def decide_exposed(exposure: Exposure) -> Condition:
    """The condition `Exposed`. True only when a request to the URL has somewhere to go."""
    target, service = exposure.target, exposure.service
    if target is None:
        return _false(conditions.NOT_REQUESTED, "the AppDef names no target")
    if exposure.refusal:
        return _false(*exposure.refusal)
    if exposure.host is None:
        return _false(conditions.NOT_REQUESTED, "the class has no `expose.domain`, and the job sets no `expose.host`")
    where = f"namespace '{target.service_namespace}' of the nested cluster"
    if service is None:
        return _false(conditions.TARGET_NOT_FOUND, f"no Service named '{target.service_name}' in {where}")
    ports = [port["port"] for port in (service.get("spec") or {}).get("ports") or ()]
    if target.service_port not in ports:
        known = ", ".join(str(port) for port in ports) or "none"
        return _false(
            conditions.TARGET_NOT_FOUND,
            f"Service '{target.service_name}' in {where} has no port {target.service_port}; its ports: {known}",
        )
    if not has_ready_endpoint(exposure.slices):
        return _false(
            conditions.NO_READY_ENDPOINT, f"no pod of Service '{target.service_name}' in {where} is ready",
        )
    return Condition(conditions.EXPOSED, "True", conditions.INGRESS_READY, f"reached at {exposure.url}")


def has_ready_endpoint(slices: Iterable[Object]) -> bool:
    """Whether any endpoint serves; an absent `ready` means yes, as Kubernetes documents."""
    for item in slices:
        for endpoint in item.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready") is not False and endpoint.get("addresses"):
                return True
    return False


def _false(reason: str, message: str) -> Condition:
    return Condition(conditions.EXPOSED, "False", reason, message)

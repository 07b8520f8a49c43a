"""Whether a job's targets are reachable, decided from their host Services and EndpointSlices."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from nestor.api import conditions
from nestor.api.conditions import Condition
from nestor.api.objects import Object, spec_of
from nestor.cluster.exposure.ingress import find_port
from nestor.cluster.exposure.routes import Refusal, Route

SHOWN_PORTS = 20


@dataclass(frozen=True)
class TargetView:
    """One target's route, and the Service and endpoints behind it."""

    route: Route
    service: Object | None = None
    slices: list[Object] = field(default_factory=list)


@dataclass(frozen=True)
class Exposure:
    """A job's targets, in their order."""

    targets: tuple[TargetView, ...] = ()

    @property
    def url(self) -> str | None:
        """The job's URL: that of the first target, once it has an Ingress."""
        first = self.targets[0].route if self.targets else None
        return first.url if first and first.is_open else None


def decide_exposed(exposure: Exposure) -> Condition:
    """The condition `Exposed`. True only if every requested URL has a ready endpoint."""
    if not exposure.targets:
        return _false(conditions.NOT_REQUESTED, "the AppDef names no target")
    requested = [view for view in exposure.targets if view.route.is_requested]
    if not requested:
        return _false(*(exposure.targets[0].route.refusal or (conditions.NOT_REQUESTED, "")))
    troubles = [trouble for trouble in map(find_trouble, requested) if trouble]
    if troubles:
        reason, message = troubles[0]
        more = len(troubles) - 1
        rest = f"; {more} more of {len(requested)} targets are not ready, see `status.targets`" if more else ""
        return _false(reason, message + rest)
    rest = f", and {len(requested) - 1} more at the URLs in `status.targets`" if len(requested) > 1 else ""
    return Condition(conditions.EXPOSED, "True", conditions.INGRESS_READY, f"available at {requested[0].route.url}{rest}")


def describe_lost(status: Object, lost: Mapping[str, str]) -> Object:
    """What a job's `url` and `targets` are without the hosts that it lost; `lost` has a sentence for each."""

    def look(entry: Object) -> str | None:
        return lost.get(urlsplit(entry.get("url") or "").hostname or "")

    targets = [
        {key: value for key, value in entry.items() if key != "url"} | {"ready": False, "message": said}
        if (said := look(entry))
        else entry
        for entry in status.get("targets") or ()
    ]
    return {"url": None if look(status) else status.get("url"), "targets": targets or None}


def find_trouble(view: TargetView) -> Refusal | None:
    """Why a target is not reachable: a reason and a message; None if it is."""
    route, service = view.route, view.service
    if route.refusal:
        return route.refusal
    target = route.target
    where = f"namespace '{target.service_namespace}' of the nested cluster"
    if service is None:
        return conditions.TARGET_NOT_FOUND, (
            f"no Service named '{target.service_name}' in {where} (Services without a cluster IP or a selector do not count)"
        )
    ports = spec_of(service).get("ports") or []
    port = find_port(ports, target.service_port)
    if port is None:
        known = ", ".join(_name_port(item) for item in ports[:SHOWN_PORTS]) or "none"
        known += f", … {len(ports) - SHOWN_PORTS} more" if len(ports) > SHOWN_PORTS else ""
        return conditions.TARGET_NOT_FOUND, (
            f"Service '{target.service_name}' in {where} has no TCP port {target.service_port}; its ports: {known}"
        )
    if not has_ready_endpoint(view.slices):
        return conditions.NO_READY_ENDPOINT, f"no pod of Service '{target.service_name}' in {where} is ready"
    if not has_ready_endpoint(item for item in view.slices if _serves(item, port)):
        return conditions.NO_READY_ENDPOINT, (
            f"no ready pod of Service '{target.service_name}' in {where} has a port named '{port.get('targetPort')}', "
            f"the `targetPort` of port {target.service_port}"
        )
    return None


def list_targets(exposure: Exposure) -> list[Object] | None:
    """The targets for the job's status; None if there are none, because API servers do not return empty lists."""
    return [_describe(view) for view in exposure.targets] or None


def _describe(view: TargetView) -> Object:
    route, trouble = view.route, find_trouble(view)
    entry: Object = {
        "serviceName": route.target.service_name,
        "serviceNamespace": route.target.service_namespace,
        "servicePort": route.target.service_port,
        "ready": trouble is None,
        "message": "; ".join(part for part in (trouble[1] if trouble else "", route.note) if part),
    }
    return entry | ({"url": route.url} if route.is_open else {})


def has_ready_endpoint(slices: Iterable[Object]) -> bool:
    """Whether any endpoint is ready; an absent `ready` means yes, as Kubernetes documents."""
    for item in slices:
        for endpoint in item.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready") is not False and endpoint.get("addresses"):
                return True
    return False


def _name_port(port: Object) -> str:
    protocol = port.get("protocol", "TCP")
    return f"{port['port']}" if protocol == "TCP" else f"{port['port']} ({protocol})"


def _serves(item: Object, port: Object) -> bool:
    """Whether a slice's endpoints have the Service's port: with a named `targetPort`, some pods may lack it."""
    return any((entry.get("name") or "") == (port.get("name") or "") for entry in item.get("ports") or ())


def _false(reason: str, message: str) -> Condition:
    return Condition(conditions.EXPOSED, "False", reason, message)

"""The HTTPRoute of one target, and what its Gateway says of it."""

from nestor.api import conditions, names
from nestor.api.appdef_models import Target
from nestor.api.expose import ExposePolicy, GatewayRef
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.times import seconds_since

PATIENCE_SECONDS = 60.0
"""How long a Gateway may say nothing of a route before somebody should look at it."""


def build_http_route(
    name: str, namespace: str, labels: dict[str, str], host: str, target: Target, policy: ExposePolicy
) -> Object:
    """The HTTPRoute: all paths lead to the Service. The policy has a Gateway, and its annotations are the target's own by now."""
    gateway = policy.gateway
    assert gateway is not None
    parent = {"name": gateway.name, "namespace": gateway.namespace}
    if gateway.section_name:
        parent["sectionName"] = gateway.section_name
    backend = {"name": names.host_name(target.service_name, target.service_namespace), "port": target.service_port}
    metadata: Object = {"name": name, "namespace": namespace, "labels": labels}
    if policy.annotations:
        metadata["annotations"] = dict(policy.annotations)
    return {"metadata": metadata, "spec": {"parentRefs": [parent], "hostnames": [host], "rules": [{"backendRefs": [backend]}]}}


def name_gateway(gateway: GatewayRef) -> str:
    return f"{gateway.namespace}/{gateway.name}"


def judge_http_route(route: Object, gateway: GatewayRef) -> tuple[str, str] | None:
    """Why the Gateway does not serve the route: a condition's reason, and a message. None if it does."""
    known, generation = f"Gateway '{name_gateway(gateway)}'", route["metadata"].get("generation", 0)
    refusals = []
    for parent in status_of(route).get("parents") or ():
        ref = parent.get("parentRef") or {}
        if (ref.get("name"), ref.get("namespace", route["metadata"].get("namespace"))) != (gateway.name, gateway.namespace):
            continue
        said = conditions.find(parent.get("conditions"), "Accepted")
        if said is None or said.get("observedGeneration", generation) < generation:
            continue
        if said["status"] == "True":
            return None
        refusals.append(f"{said.get('reason', '')}: {said.get('message', '')}".strip(": "))
    host = next(iter(spec_of(route).get("hostnames") or ()), "")
    if refusals:
        return conditions.GATEWAY_REFUSED, f"{known} does not accept the HTTPRoute for host '{host}': {refusals[0]}"
    since = read_written(route)
    if since and seconds_since(since) > PATIENCE_SECONDS:
        return conditions.GATEWAY_SILENT, f"{known} has said nothing of the HTTPRoute for host '{host}' since {since}"
    return conditions.GATEWAY_PENDING, f"{known} has not accepted the HTTPRoute for host '{host}' yet"


def read_written(route: Object) -> str:
    """When a route last changed, apart from its status; empty if nothing says so."""
    meta = route["metadata"]
    fields = [item for item in meta.get("managedFields") or () if not item.get("subresource") and item.get("time")]
    return max((str(item["time"]) for item in fields), default=str(meta.get("creationTimestamp", "")))

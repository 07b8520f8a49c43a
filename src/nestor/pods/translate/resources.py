"""Requests and limits that a class gives to containers which set none. Pure."""

from __future__ import annotations

from nestor.api.base import Resources
from nestor.api.objects import Object
from nestor.api.quantities import find_larger
from nestor.pods.translate.container_status import RUN


def fill_pod(spec: Object, defaults: Resources) -> Object:
    """A pod's spec, with these defaults in all containers."""
    return spec | {group: [item | fill_resources(item, defaults) for item in spec[group]] for group in RUN if group in spec}


def fill_resources(container: Object, defaults: Resources) -> Object:
    """`resources` of a container that gets these defaults. As by a LimitRange: what the container says stays, and where its own
    limit is the request, as API servers have it, no other request is set. A default limit is never below a request.
    """
    own: Object = container.get("resources") or {}
    limits, requests = dict(own.get("limits") or {}), dict(own.get("requests") or {})
    for name, amount in (defaults.requests or {}).items():
        if name not in requests and name not in limits:
            requests[name] = str(amount)
    for name, amount in (defaults.limits or {}).items():
        if name not in limits:
            limits[name] = find_larger(str(amount), str(requests.get(name, amount)))
    found = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"resources": own | found} if found else {}

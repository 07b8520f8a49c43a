"""What pods have at a backend and not in the host cluster: resources of containers that say nothing, and pull secrets."""

from __future__ import annotations

from nestor.api import names
from nestor.api.base import Resources
from nestor.api.objects import Object
from nestor.api.placement import Backend, Placement
from nestor.api.quantities import find_larger
from nestor.pods.translate.placement import Place

_GROUPS = ("initContainers", "containers")


def add_backend_fields(spec: Object, placement: Placement, place: Place) -> Object:
    """The host pod's spec with what its place adds.

    Resources only if it can only run at a backend: those of a pod cannot depend on the node that it gets.
    """
    result = dict(spec)
    resources = placement.overflow.backend_resources if placement.overflow else None
    if place.where == "Backend" and resources is not None:
        for group in _GROUPS:
            if group in spec:
                result[group] = [item | fill_resources(item, resources) for item in spec[group]]
    if secrets := list_pull_secrets(place.backends):
        result["imagePullSecrets"] = [*(spec.get("imagePullSecrets") or []), *({"name": name} for name in secrets)]
    return result


def list_pull_secrets(backends: tuple[Backend, ...]) -> list[str]:
    """The host Secrets for images, each once."""
    named = dict.fromkeys(name for backend in backends for name in backend.image_pull_secrets)
    return [names.operators_pull_secret(name) for name in named]


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

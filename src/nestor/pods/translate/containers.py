"""Translates containers. Only fields on an allow-list are carried over."""

from nestor.api.base import Resources
from nestor.api.images import name_on_host
from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.api.quantities import find_larger
from nestor.pods.translate import device_claims, env, fields
from nestor.pods.translate.container_status import RUN
from nestor.pods.translate.fields.containers import EPHEMERAL_CONTAINER
from nestor.pods.translate.target import Target

FIELDS = tuple(sorted({*fields.find(EPHEMERAL_CONTAINER, "Pass"), *fields.find(EPHEMERAL_CONTAINER, "Class")}))
"""What a container has there as it has it here. What the class decides on is refused before, or allowed."""


def build_containers(pod: Object, group: str, target: Target, policy: Policy) -> list[Object]:
    """The host pod's containers in one group: `containers`, `initContainers` or `ephemeralContainers`."""
    links = pod["spec"].get("enableServiceLinks", True) is not False
    forced = {"imagePullPolicy": "Always"} if policy.always_pull_images else {}
    return [
        _build(device_claims.trim_container(item, pod), pod["metadata"]["namespace"], target, links)
        | _limit_storage(item, policy)
        | _name_image(item, policy)
        | forced
        for item in pod["spec"].get(group) or []
    ]


def carry(container: Object) -> Object:
    return {key: container[key] for key in FIELDS if key in container}


def _build(container: Object, namespace: str, target: Target, links: bool) -> Object:
    result = carry(container)
    result["env"] = env.build_env(container, namespace, target.api_ip)
    if sources := env.build_env_from(container, namespace, links=links):
        result["envFrom"] = sources
    return result


def _name_image(container: Object, policy: Policy) -> Object:
    image = container.get("image")
    return {"image": name_on_host(image, policy.allowed_images)} if image else {}


def _limit_storage(container: Object, policy: Policy) -> Object:
    """Resources with a limit, if the host's default limit would be below what the container requests: it takes no such pod."""
    resources: Object = container.get("resources") or {}
    limits, name = resources.get("limits") or {}, "ephemeral-storage"
    request, default = (resources.get("requests") or {}).get(name), policy.ephemeral_storage_limit
    if request is None or default is None or name in limits or find_larger(str(default), request) == str(default):
        return {}
    return {"resources": {**resources, "limits": {**limits, name: request}}}


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

"""Why the host refuses the pod of a nested cluster's server. Its StatefulSet says so in an event only, which users do not see."""

from __future__ import annotations

from nestor.api import names
from nestor.api.names import Part
from nestor.api.objects import Object, is_terminating
from nestor.api.times import seconds_since
from nestor.cluster.server import build_stateful_set
from nestor.cluster.shape import Shape
from nestor.kube import ApiError, Forbidden, Invalid, kinds
from nestor.operator.world.context import Context

PATIENCE_SECONDS = 10
"""After so long without its pod, a StatefulSet is asked about."""


def find_delay(context: Context, shape: Shape) -> float | None:
    """In how many seconds to ask, at the latest, if the server still has no pod then; None if it has one, or should have none."""
    cache, made = context.cache, context.cache.find(kinds.STATEFUL_SET, shape.child(Part.SERVER), shape.namespace)
    if not shape.replicas or made is None or is_terminating(made):
        return None
    if cache.find(kinds.POD, names.server_pod(shape.name), shape.namespace) is not None:
        return None
    return max(0.0, PATIENCE_SECONDS - seconds_since(made["metadata"]["creationTimestamp"]))


async def find_refusal(context: Context, shape: Shape, api_address: str) -> str | None:
    """What the API server says about such a pod, by a dry run; None if it would take it."""
    if find_delay(context, shape) != 0:
        return None
    body = build_pod(shape, api_address)
    try:
        await context.api.try_create(kinds.POD, body)
    except (Forbidden, Invalid) as error:
        if isinstance(error, Forbidden) and error.is_terminating:
            return None
        return f"the host cluster refuses pod '{body['metadata']['name']}': {error.message}"
    except ApiError:
        return None  # a webhook that takes no dry runs, or a server that is away
    return None


def build_pod(shape: Shape, api_address: str) -> Object:
    """The pod as its StatefulSet would make it, without its account, which the operator may not give to a pod."""
    template = build_stateful_set(shape, api_address)["spec"]["template"]
    own = template["metadata"] | {"name": names.server_pod(shape.name), "namespace": shape.namespace}
    spec = {key: value for key, value in template["spec"].items() if key != "serviceAccountName"}
    claims = [volume["name"] for volume in spec.get("volumes") or ()]
    mounted = {mount["name"] for item in spec["containers"] for mount in item.get("volumeMounts") or ()}
    data = [{"name": name, "emptyDir": {}} for name in sorted(mounted - set(claims))]
    return {"metadata": own, "spec": spec | {"volumes": [*(spec.get("volumes") or ()), *data]}}

"""The HTTPRoutes of a job whose class has a Gateway. They are not watched: not every host cluster has the kind."""

from __future__ import annotations

from dataclasses import replace

from nestor.api import conditions, labels
from nestor.exposure.http_route import build_http_route, judge_http_route
from nestor.exposure.routes import Route
from nestor.kube import Forbidden, Invalid, NotFound, kinds
from nestor.kube.applier import contains
from nestor.kube.tasks import together
from nestor.objects import Object
from nestor.operator.admission.admit import Resolved
from nestor.operator.job.annotations import find_policy
from nestor.operator.job.hosts import HeldRoute, Hosts
from nestor.operator.world.context import Context

Routes = tuple[Route, ...]


async def ensure_http_routes(context: Context, hosts: Hosts, resolved: Resolved, routes: Routes) -> Routes:
    """Ensure an HTTPRoute for each open route, and delete all others of ours. What the Gateway says is in the returned routes."""
    home = resolved.home.namespace
    try:
        live = {item["metadata"]["name"]: item for item in await _list(context, resolved)}
    except NotFound:
        message = "the host cluster has no HTTPRoutes (gateway.networking.k8s.io/v1), which the class's `expose.gateway` needs"
        return tuple(
            replace(route, refusal=(conditions.INGRESS_REFUSED, message)) if route.is_open else route for route in routes
        )
    wanted = {route.ingress for route in routes if route.is_open}
    await together(*(context.api.delete(kinds.HTTP_ROUTE, name, home) for name in live.keys() - wanted))
    found = await together(*(_ensure_one(context, resolved, route, live) for route in routes))
    kept = [made["metadata"] | {"host": route.host} for route, made in found if made is not None]
    hosts.note_routes(
        resolved.uid, {str(meta["host"]): HeldRoute(meta["name"], meta.get("creationTimestamp", "")) for meta in kept}
    )
    return tuple(route for route, _ in found)


async def delete_http_routes(context: Context, hosts: Hosts, resolved: Resolved) -> None:
    """Delete all of a job's: its class has no Gateway any more."""
    for item in await _list(context, resolved):
        await context.api.delete(kinds.HTTP_ROUTE, item["metadata"]["name"], resolved.home.namespace)
    hosts.note_routes(resolved.uid, {})


async def _list(context: Context, resolved: Resolved) -> list[Object]:
    own = f"{labels.JOB_UID}={resolved.uid},{labels.COMPONENT}={labels.COMPONENT_EXPOSURE}"
    return await context.api.list(kinds.HTTP_ROUTE, resolved.home.namespace, labels=own)


async def _ensure_one(context: Context, resolved: Resolved, route: Route, live: dict[str, Object]) -> tuple[Route, Object | None]:
    """The route, and its HTTPRoute if it has one."""
    policy = find_policy(context.cache, resolved, route)
    if route.host is None or not route.is_open or policy.gateway is None:
        return route, None
    own = resolved.home.labels | {labels.COMPONENT: labels.COMPONENT_EXPOSURE}
    body = build_http_route(route.ingress, resolved.home.namespace, own, route.host, route.target, policy)
    made = live.get(route.ingress)
    try:
        if made is None or not _is_current(made, body):
            made = await context.api.apply(kinds.HTTP_ROUTE, body)
    except (Forbidden, Invalid) as error:
        if isinstance(error, Forbidden) and error.is_terminating:
            raise
        message = f"the host cluster refuses the HTTPRoute for host '{route.host}': {error.message}"
        return replace(route, refusal=(conditions.INGRESS_REFUSED, message), is_kept=False), None
    refusal = judge_http_route(made, policy.gateway)
    # It stays: the Gateway may yet accept it.
    return (replace(route, refusal=refusal, is_kept=True) if refusal and route.refusal is None else route), made


def _is_current(live: Object, body: Object) -> bool:
    """Whether an apply would change nothing. It also takes away annotations that the body no longer has."""
    kept, wanted = (item["metadata"].get("annotations") or {} for item in (live, body))
    return contains(live, body) and kept.keys() == wanted.keys()

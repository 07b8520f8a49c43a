"""The HTTPRoutes of a job whose class has a Gateway. They are not watched: not every host cluster has the kind."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from nestor.api import conditions, labels
from nestor.exposure.http_route import build_http_route, judge_http_route, read_written
from nestor.exposure.routes import Route
from nestor.kube import Forbidden, Invalid, NotFound, kinds
from nestor.kube.applier import contains
from nestor.kube.tasks import together
from nestor.objects import Object, spec_of, status_of
from nestor.operator.admission.admit import Resolved
from nestor.operator.job.annotations import find_policy
from nestor.operator.job.hosts import HeldRoute, Hosts
from nestor.operator.world.context import Context
from nestor.operator.world.homes import find_home
from nestor.operator.world.http_routes import find_http_routes, list_http_routes
from nestor.times import seconds_since

Routes = tuple[Route, ...]

UNSERVED = (conditions.GATEWAY_PENDING, conditions.GATEWAY_SILENT, conditions.GATEWAY_REFUSED, conditions.GATEWAY_UNAVAILABLE)
POLL_SECONDS = 2.0
"""How soon to ask again what a Gateway says of a new HTTPRoute: its answer is not watched."""
SLOWEST_POLL_SECONDS = 60.0


async def ensure_http_routes(context: Context, hosts: Hosts, resolved: Resolved, routes: Routes) -> Routes:
    """Ensure an HTTPRoute for each open route, and delete all others of ours. What the Gateway says is in the returned routes."""
    home = resolved.home.namespace
    try:
        live = {item["metadata"]["name"]: item for item in await list_http_routes(context.api, home, resolved.uid)}
    except NotFound:
        message = "the host cluster has no HTTPRoutes (gateway.networking.k8s.io/v1), which the class's `expose.gateway` needs"
        refusal = conditions.GATEWAY_UNAVAILABLE, message
        return tuple(replace(route, refusal=refusal, is_kept=False) if route.is_open else route for route in routes)
    wanted = {route.ingress for route in routes if route.is_open}
    await together(*(context.api.delete(kinds.HTTP_ROUTE, name, home) for name in live.keys() - wanted))
    found = await together(*(_ensure_one(context, resolved, route, live) for route in routes))
    if (job := context.cache.jobs.get(resolved.name, resolved.namespace)) is not None:
        hosts.note_routes(job, _read_held(made for _, made in found if made is not None))
    return tuple(route for route, _ in found)


async def withdraw_http_routes(context: Context, hosts: Hosts, job: Object, lost: Container[str] | None = None) -> None:
    """Delete those with a host that is `lost`; without it, all of the job's."""
    home, kept = find_home(job).namespace, {}
    for host, route in (await recall_http_routes(context, hosts, job)).items():
        if lost is None or host in lost:
            await context.api.delete(kinds.HTTP_ROUTE, route.name, home)
        else:
            kept[host] = route
    hosts.note_routes(job, kept)


async def recall_http_routes(context: Context, hosts: Hosts, job: Object) -> dict[str, HeldRoute]:
    """The HTTPRoutes of a job, by their hosts. They are asked for if another process made them."""
    meta = job["metadata"]
    known = hosts.routes_of(meta["uid"])
    if known is None and status_of(job).get("gateway"):
        known = _read_held(await find_http_routes(context.api, find_home(job).namespace, meta["uid"]))
        hosts.note_routes(job, known)
    return known or {}


def _read_held(found: Iterable[Object]) -> dict[str, HeldRoute]:
    """HTTPRoutes by their hosts."""
    return {
        host: HeldRoute(item["metadata"]["name"], item["metadata"].get("creationTimestamp", ""), read_written(item))
        for item in found
        for host in spec_of(item).get("hostnames") or ()
    }


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
        return replace(route, refusal=(conditions.INGRESS_REFUSED, message), is_kept=False), made
    refusal = judge_http_route(made, policy.gateway)
    # It stays: the Gateway may yet accept it.
    return (replace(route, refusal=refusal, is_kept=True) if refusal and route.refusal is None else route), made


def _is_current(live: Object, body: Object) -> bool:
    """Whether an apply would change nothing. It also takes away annotations that the body no longer has."""
    kept, wanted = (item["metadata"].get("annotations") or {} for item in (live, body))
    return contains(live, body) and kept.keys() == wanted.keys()


def list_unserved(routes: Routes) -> set[str]:
    """Names of the HTTPRoutes that their Gateway does not serve, or not yet: an Ingress of that name may do so meanwhile."""
    reasons = (*UNSERVED, conditions.INGRESS_REFUSED)
    return {route.ingress for route in routes if route.refusal and route.refusal[0] in reasons}


def find_poll(hosts: Hosts, uid: str, routes: Routes) -> float | None:
    """How soon to ask again what the Gateway says of these routes, in seconds: the longer it is silent, the later. None if it
    has accepted all.
    """
    unserved = [route.host or "" for route in routes if route.refusal and route.refusal[0] in UNSERVED]
    known = hosts.routes_of(uid) or {}
    ages = [seconds_since(known[host].written) if host in known and known[host].written else 0.0 for host in unserved]
    return min(max(min(ages) / 10, POLL_SECONDS), SLOWEST_POLL_SECONDS) if ages else None

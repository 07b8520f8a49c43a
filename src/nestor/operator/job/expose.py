"""The Ingresses of one admitted job, and the Services and endpoints behind them."""

from __future__ import annotations

from dataclasses import replace

from nestor import names
from nestor.api import conditions, labels
from nestor.exposure.exposed import Exposure, TargetView
from nestor.exposure.host_claims import HostClaim, find_conflicts, find_exposed_job, hosts_of
from nestor.exposure.ingress import build_ingress
from nestor.exposure.routes import Route
from nestor.kube import Forbidden, Invalid, kinds
from nestor.kube.tasks import together
from nestor.objects import Object
from nestor.operator.admission.admit import Resolved
from nestor.operator.job.hosts import Hosts
from nestor.operator.world.cache import Cache
from nestor.operator.world.context import Context
from nestor.operator.world.homes import find_home

Routes = tuple[Route, ...]


def admit_routes(cache: Cache, hosts: Hosts, resolved: Resolved, certificate_problem: str | None = None) -> Routes:
    """The job's routes, with a refusal for each that it may not have. `certificate_problem`: why the certificate is unusable."""
    if certificate_problem:
        refusal = conditions.TLS_SECRET_NOT_FOUND, certificate_problem
        return tuple(replace(route, refusal=refusal) if route.is_open else route for route in resolved.routes)
    conflicts = _find_conflicts(cache, hosts, resolved)
    return tuple(
        replace(route, refusal=(conditions.HOSTNAME_CONFLICT, conflicts[route.host])) if route.host in conflicts else route
        for route in resolved.routes
    )


def _find_conflicts(cache: Cache, hosts: Hosts, resolved: Resolved) -> dict[str | None, str]:
    """Why the job may not have a host, for each such host."""
    routes, home = resolved.routes, resolved.home.namespace
    job = cache.jobs.get(resolved.name, resolved.namespace) or {"metadata": {}}
    created = job["metadata"].get("creationTimestamp", "")
    held = hosts.held(home, resolved.uid)
    mine = [
        HostClaim(route.host, resolved.name, resolved.namespace, resolved.uid, created, route.host in held, route.is_default)
        for route in routes
        if route.host
    ]
    found = find_conflicts(mine, hosts.all(), cache.informers[kinds.INGRESS], home)
    first = routes[0].host if routes else None
    advice = {
        host: "choose another one with `expose.host`"
        if host == first
        else "it is derived from the names of the Service, the job and its namespace"
        for host in found
    }
    return {host: f"{message}; {advice[host]}" for host, message in found.items()}


async def ensure_ingresses(context: Context, resolved: Resolved, routes: Routes) -> Routes:
    """Ensure an Ingress for each open route, and delete all others of ours. Refusals by the host are in the returned routes.

    A problem with one target never affects the others.
    """
    home = resolved.home.namespace
    wanted = {route.ingress for route in routes if route.is_open}
    for item in context.cache.ingresses_by_namespace.all(home):
        if find_exposed_job(item) == resolved.uid and item["metadata"]["name"] not in wanted:
            await context.api.delete(kinds.INGRESS, item["metadata"]["name"], home)
    return tuple(await together(*(_ensure_one(context, resolved, route) for route in routes)))


async def withdraw_lost(context: Context, hosts: Hosts, job: Object) -> dict[str, str]:
    """Delete the Ingresses of a refused job whose hosts are somebody else's by now. A sentence for each of these hosts."""
    uid, home = job["metadata"]["uid"], find_home(job).namespace
    held = [claim for claim in hosts.of(job) if claim.is_held]
    lost = find_conflicts(held, hosts.all(), context.cache.informers[kinds.INGRESS], home)
    for item in context.cache.ingresses_by_namespace.all(home):
        meta = item["metadata"]
        if find_exposed_job(item) == uid and hosts_of(item) & lost.keys():
            await context.api.delete(kinds.INGRESS, meta["name"], home, uid=meta.get("uid"))
    return lost


async def _ensure_one(context: Context, resolved: Resolved, route: Route) -> Route:
    if route.host is None or not route.is_open:
        return route
    own = resolved.home.labels | {labels.COMPONENT: labels.COMPONENT_EXPOSURE}
    body = build_ingress(route.ingress, resolved.home.namespace, own, route.host, route.target, resolved.policy.expose)
    try:
        await context.applier.ensure(kinds.INGRESS, body)
    except (Forbidden, Invalid) as error:
        if isinstance(error, Forbidden) and error.is_terminating:
            raise
        message = f"the host cluster refuses the Ingress for host '{route.host}': {error.message}"
        return replace(route, refusal=(conditions.INGRESS_REFUSED, message))
    return route


def observe_exposure(cache: Cache, resolved: Resolved, routes: Routes) -> Exposure:
    """The state of the targets behind the routes, from the caches."""
    return Exposure(tuple(_observe_one(cache, resolved.home.namespace, route) for route in routes))


def _observe_one(cache: Cache, home: str, route: Route) -> TargetView:
    name = names.host_name(route.target.service_name, route.target.service_namespace)
    return TargetView(route, cache.find(kinds.SERVICE, name, home), cache.slices_by_service.all((home, name)))


def is_waiting(routes: Routes) -> bool:
    """Whether a route is refused for a reason that may disappear without an event."""
    return any(route.is_requested and route.refusal for route in routes)

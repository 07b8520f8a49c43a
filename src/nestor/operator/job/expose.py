"""The Ingresses of one admitted job, the Services and endpoints behind them, and the network policies for them."""

from collections.abc import Collection, Container, Mapping
from dataclasses import replace

from nestor.api import conditions, labels, names
from nestor.api.names import Part
from nestor.api.objects import Object, spec_of
from nestor.cluster.exposure.exposed import Exposure, TargetView
from nestor.cluster.exposure.host_claims import HostClaim, find_exposed_job, find_foreign, find_rivals, hosts_of
from nestor.cluster.exposure.ingress import build_ingress, find_port
from nestor.cluster.exposure.routes import Route
from nestor.cluster.policies import build_exposed
from nestor.kube import kinds
from nestor.kube.tasks import together
from nestor.operator.admission.admit import Resolved
from nestor.operator.guest import Routes, ensure_route
from nestor.operator.job.hosts import Hosts
from nestor.operator.world.context import Cache, Context
from nestor.operator.world.ownership import find_home


def admit_routes(cache: Cache, hosts: Hosts, resolved: Resolved, certificate_problem: str | None = None) -> Routes:
    """The job's routes, with a refusal for each that it may not have. `certificate_problem`: why the certificate is unusable."""
    if certificate_problem:
        refusal = conditions.TLS_SECRET_NOT_FOUND, certificate_problem
        return tuple(replace(route, refusal=refusal) if route.is_open else route for route in resolved.routes)
    mine = _list_claims(cache, hosts, resolved)
    rivals = find_rivals(mine, hosts.find({claim.host for claim in mine}))
    policy = resolved.policy.expose
    # An Ingress with the same host is another controller's business.
    rivals_of = () if policy.gateway else cache.informers[kinds.INGRESS]
    foreign = find_foreign(mine, rivals_of, hosts.homes, class_name=policy.ingress_class_name)
    held = {claim.host for claim in mine if claim.is_held}
    return tuple(_admit_one(resolved, route, rivals, foreign, held) for route in resolved.routes)


def _list_claims(cache: Cache, hosts: Hosts, resolved: Resolved) -> list[HostClaim]:
    job = cache.jobs.get(resolved.name, resolved.namespace)
    created = job["metadata"].get("creationTimestamp", "") if job else ""
    held = hosts.held(job) if job else {}
    return [
        HostClaim(
            route.host, resolved.name, resolved.namespace, resolved.uid, created, held.get(route.host, ""), route.is_default
        )
        for route in resolved.routes
        if route.host
    ]


def _admit_one(
    resolved: Resolved, route: Route, rivals: Mapping[str, str], foreign: Mapping[str, str], held: Container[str]
) -> Route:
    """Another job's host is given up. One that only a foreign Ingress has too is kept if the job has it already."""
    host = route.host or ""
    message = rivals.get(host) or foreign.get(host)
    if message is None:
        return route
    is_kept = host not in rivals and host in held
    advice = "it is derived from the names of the Service, the job and its namespace"
    if host == resolved.routes[0].host:
        advice = "choose another one with `expose.host`"
    if is_kept:
        advice = "the job's own Ingress stays"
    return replace(route, refusal=(conditions.HOSTNAME_CONFLICT, f"{message}; {advice}"), is_kept=is_kept)


async def ensure_ingresses(context: Context, resolved: Resolved, routes: Routes, kept: Collection[str] = ()) -> Routes:
    """Ensure an Ingress for each open route, and delete all others of ours. Refusals by the host are in the returned routes.

    A problem with one target never affects the others. `kept`: names of others that may stay as they are.
    """
    home = resolved.home.namespace
    wanted = {route.ingress for route in routes if route.is_open} | set(kept)
    for item in context.cache.exposing[kinds.INGRESS].all(home):
        if find_exposed_job(item, {home: resolved.uid}) and item["metadata"]["name"] not in wanted:
            await context.api.delete(kinds.INGRESS, item["metadata"]["name"], home)
    made = await together(*(ensure_route(context, resolved, route, kinds.INGRESS, build_ingress) for route in routes))
    return tuple(route for route, _ in made)


async def withdraw_lost(context: Context, hosts: Hosts, job: Object) -> dict[str, str]:
    """Delete what exposes a refused job at hosts that are another job's by now. A sentence for each of these hosts."""
    uid, home = job["metadata"]["uid"], find_home(job).namespace
    held = [claim for claim in hosts.of(job) if claim.is_held]
    lost = find_rivals(held, hosts.find({claim.host for claim in held}))
    for kind, item in context.cache.find_exposing(home):
        meta = item["metadata"]
        if find_exposed_job(item, {home: uid}) and hosts_of(item) & lost.keys():
            await context.api.delete(kind, meta["name"], home, uid=meta.get("uid"))
    return lost


def observe_exposure(cache: Cache, resolved: Resolved, routes: Routes) -> Exposure:
    home, views = resolved.home.namespace, []
    for route in routes:
        name = names.host_name(route.target.service_name, route.target.service_namespace)
        views.append(TargetView(route, cache.find_service(route, home), cache.slices_by_service.all((home, name))))
    return Exposure(tuple(views))


def is_waiting(routes: Routes) -> bool:
    """Whether a route is refused for a reason that may disappear without an event."""
    return any(route.is_requested and route.refusal for route in routes)


class Openings:
    """One policy for each open route whose Service is there. Others are closed: what is not exposed is nobody's business."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._made: dict[str, set[str]] = {}
        """Names of the policies there are, by namespace."""

    def forget(self, namespace: str) -> None:
        self._made.pop(namespace, None)

    async def ensure(self, resolved: Resolved, routes: tuple[Route, ...]) -> None:
        """Open what these routes lead to, and close everything else."""
        home, context = resolved.home, self._context
        wanted = {body["metadata"]["name"]: body for route in routes for body in [self._build(resolved, route)] if body}
        if home.namespace not in self._made:
            self._made[home.namespace] = await self._list(resolved)
        made = self._made[home.namespace]
        ensure, ensure_deleted = context.applier.ensure, context.applier.ensure_deleted
        await together(
            *(ensure(kinds.NETWORK_POLICY, body) for body in wanted.values()),
            *(ensure_deleted(kinds.NETWORK_POLICY, name, home.namespace) for name in made - wanted.keys()),
        )
        self._made[home.namespace] = set(wanted)

    def _build(self, resolved: Resolved, route: Route) -> Object | None:
        """The policy for one route; None while there is nothing to open."""
        home = resolved.home
        service = self._context.cache.find_service(route, home.namespace)
        port = find_port(spec_of(service).get("ports") or [], route.target.service_port)
        selector = spec_of(service).get("selector")
        if not route.is_open or port is None or not selector:
            return None
        opened = {"protocol": "TCP", "port": port.get("targetPort") or port["port"]}
        policy = home.child(Part.EXPOSED_POLICY) if route.ingress == home.name else f"{route.ingress}-{Part.EXPOSED_POLICY}"
        return build_exposed(home, policy, selector, opened, resolved.policy.expose.from_)

    async def _list(self, resolved: Resolved) -> set[str]:
        """What another process made."""
        home = resolved.home
        ours = f"{labels.CLUSTER}={home.name},{labels.COMPONENT}={labels.COMPONENT_EXPOSURE}"
        found = await self._context.api.list(kinds.NETWORK_POLICY, home.namespace, labels=ours)
        return {item["metadata"]["name"] for item in found}

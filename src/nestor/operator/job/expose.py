"""Makes and keeps the Ingresses of one admitted job, and observes what is behind them."""

from __future__ import annotations

from dataclasses import replace

from nestor import names
from nestor.api import conditions, labels
from nestor.cluster.shape import Shape
from nestor.exposure.claim import Claim, find_conflicts
from nestor.exposure.decide import Exposure, TargetView
from nestor.exposure.ingress import build_ingress
from nestor.exposure.routes import Route
from nestor.kube import Forbidden, Invalid, kinds
from nestor.kube.tasks import together
from nestor.operator.admission.admit import Resolved
from nestor.operator.world.context import Context


class Exposer:
    """One job's targets at a time; a trouble of one of them is never another one's."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def admit(self, resolved: Resolved, tls: str | None) -> tuple[Route, ...]:
        """The job's routes; those whose host is somebody else's say so. `tls` is what is wrong with the class's TLS secret."""
        routes = resolved.routes
        further = {route.host for route in routes[1:] if route.host}
        self._context.further_hosts[resolved.uid] = frozenset(further)
        if tls:
            refusal = conditions.TLS_SECRET_NOT_FOUND, tls
            return tuple(replace(route, refusal=refusal) if route.is_open else route for route in routes)
        conflicts = self._find_conflicts(resolved)
        return tuple(
            replace(route, refusal=(conditions.HOSTNAME_CONFLICT, conflicts[route.host])) if route.host in conflicts else route
            for route in routes
        )

    def _find_conflicts(self, resolved: Resolved) -> dict[str | None, str]:
        """A sentence for each host that the job may not have."""
        world, routes = self._context.world, resolved.routes
        job = world.jobs.get(resolved.name, resolved.namespace) or {"metadata": {}}
        created = job["metadata"].get("creationTimestamp", "")
        held = self._context.held_hosts(resolved.host_namespace, resolved.uid)
        mine = [
            Claim(route.host, resolved.name, resolved.namespace, resolved.uid, created, route.host in held, route.is_default)
            for route in routes
            if route.host
        ]
        found = find_conflicts(mine, self._context.claims(), world.informers[kinds.INGRESS])
        first = routes[0].host if routes else None
        advice = {
            host: "choose another one by `expose.host`"
            if host == first
            else "it comes from the names of the Service, the job and its namespace"
            for host in found
        }
        return {host: f"{message}; {advice[host]}" for host, message in found.items()}

    async def ensure(self, resolved: Resolved, shape: Shape, routes: tuple[Route, ...]) -> tuple[Route, ...]:
        """An Ingress for each open route, and no other; what the host cluster refuses is said in the route that comes back."""
        wanted = {route.ingress for route in routes if route.is_open}
        for item in self._context.world.ingresses_by_namespace.all(shape.namespace):
            meta = item["metadata"]
            if (meta.get("labels") or {}).get(labels.JOB_UID) == resolved.uid and meta["name"] not in wanted:
                await self._context.api.delete(kinds.INGRESS, meta["name"], shape.namespace)
        return tuple(await together(*(self._ensure_one(resolved, shape, route) for route in routes)))

    async def _ensure_one(self, resolved: Resolved, shape: Shape, route: Route) -> Route:
        if route.host is None or not route.is_open:
            return route
        body = build_ingress(route.ingress, shape.namespace, resolved.labels, route.host, route.target, resolved.policy.expose)
        try:
            await self._context.applier.ensure(kinds.INGRESS, body)
        except (Forbidden, Invalid) as error:
            if isinstance(error, Forbidden) and error.is_terminating:
                raise
            message = f"the host cluster refuses the Ingress of host '{route.host}': {error.message}"
            return replace(route, refusal=(conditions.INGRESS_REFUSED, message))
        return route

    def observe(self, shape: Shape, routes: tuple[Route, ...]) -> Exposure:
        """What is behind the routes, from the caches."""
        return Exposure(tuple(self._observe_one(shape, route) for route in routes))

    def _observe_one(self, shape: Shape, route: Route) -> TargetView:
        world = self._context.world
        name = names.host_name(route.target.service_name, route.target.service_namespace)
        service = world.find(kinds.SERVICE, name, shape.namespace)
        return TargetView(route, service, world.slices_by_service.all((shape.namespace, name)))


def is_waiting(routes: tuple[Route, ...]) -> bool:
    """Whether a route is closed by something that may pass without an event of ours."""
    return any(route.is_requested and route.refusal for route in routes)

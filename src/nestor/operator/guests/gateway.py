"""HTTPRoutes in place of Ingresses, for jobs whose class names a Gateway."""

from collections.abc import Collection
from dataclasses import replace

from nestor.api import conditions, labels
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.times import seconds_since
from nestor.cluster.exposure.http_route import PATIENCE_SECONDS, build_http_route, judge_http_route, name_gateway, read_written
from nestor.cluster.exposure.routes import Route
from nestor.cluster.home import Home
from nestor.kube import Change, RetryLater, kinds
from nestor.kube.optional import OptionalInformer
from nestor.kube.tasks import together
from nestor.operator.admission.admit import Resolved
from nestor.operator.guest import Guest, Routes, Word, ensure_route
from nestor.operator.world.context import Context

_UNSERVED = (
    conditions.GATEWAY_PENDING,
    conditions.GATEWAY_SILENT,
    conditions.GATEWAY_REFUSED,
    conditions.GATEWAY_UNAVAILABLE,
    conditions.INGRESS_REFUSED,
)


class Gateway(Guest):
    """Watches HTTPRoutes from when a class names a Gateway: not every host cluster has the kind."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        ours = f"{labels.MANAGED_BY}=nestor,{labels.COMPONENT}={labels.COMPONENT_EXPOSURE}"
        self._made = OptionalInformer(context.api, kinds.HTTP_ROUTE, labels=ours, trim=trim_http_route)
        context.cache.add_exposing(self._made)
        for store in (context.cache.classes, context.cache.jobs):
            store.on_change(self._look)

    async def expose(self, resolved: Resolved, routes: Routes) -> tuple[Routes, Collection[str]] | None:
        """An HTTPRoute for each open route, and none besides. Until the Gateway serves a host, an Ingress that has it stays."""
        if resolved.policy.expose.gateway is None:
            return None
        self._made.want()
        if not self._made.answered.is_set():
            raise RetryLater(0.5, "the host's HTTPRoutes are not known yet")
        if not self._made.synced.is_set() or (self._made.trouble is not None and not self._made.trouble.is_transient):
            kind = "HTTPRoutes (gateway.networking.k8s.io/v1)"
            message = f"the host cluster has no {kind}, which the class's `expose.gateway` needs"
            refusal = conditions.GATEWAY_UNAVAILABLE, message
            found = [replace(route, refusal=refusal, is_kept=False) if route.is_open else route for route in routes]
        else:
            await self._withdraw(resolved.home.namespace, {route.ingress for route in routes if route.is_open})
            found = await together(*(self._ensure_one(resolved, route) for route in routes))
        return tuple(found), [route.ingress for route in found if route.refusal and route.refusal[0] in _UNSERVED]

    async def ensure(self, resolved: Resolved, home: Home) -> None:
        """Once there are Ingresses again, no HTTPRoute stays."""
        if resolved.policy.expose.gateway is None:
            await self._withdraw(home.namespace, ())

    def report(self, resolved: Resolved) -> Word | None:
        """Which Gateway, and when its silence is worth a word. While there are routes, another operator must look for them."""
        gateway, found = resolved.policy.expose.gateway, self._find(resolved.home.namespace)
        if gateway is None:
            return Word({"gateway": None}) if self._made.synced.is_set() and not found else None
        ages = [seconds_since(read_written(item)) for item in found if judge_http_route(item, gateway)]
        silent = [PATIENCE_SECONDS - age for age in ages if age < PATIENCE_SECONDS]
        return Word({"gateway": name_gateway(gateway)}, retry_after=min(silent) + 1 if silent else None)

    def _look(self, change: Change) -> None:
        """A class names a Gateway, or a job has had one."""
        if (spec_of(change.new).get("expose") or {}).get("gateway") or status_of(change.new).get("gateway"):
            self._made.want()

    def _find(self, home: str) -> list[Object]:
        return self._context.cache.exposing[kinds.HTTP_ROUTE].all(home)

    async def _withdraw(self, home: str, kept: Collection[str]) -> None:
        gone = [meta for item in self._find(home) if (meta := item["metadata"])["name"] not in kept]
        await together(*(self._context.applier.ensure_deleted(kinds.HTTP_ROUTE, meta["name"], home) for meta in gone))

    async def _ensure_one(self, resolved: Resolved, route: Route) -> Route:
        route, made = await ensure_route(self._context, resolved, route, kinds.HTTP_ROUTE, build_http_route)
        gateway = resolved.policy.expose.gateway
        refusal = judge_http_route(made, gateway) if made is not None and gateway is not None else None
        # It stays: the Gateway may yet accept it.
        return replace(route, refusal=refusal, is_kept=True) if refusal and route.refusal is None else route


def trim_http_route(route: Object) -> Object:
    """All but the fields that each writer has: when they wrote is read."""
    fields = [
        {key: item[key] for key in ("time", "subresource") if key in item}
        for item in route["metadata"].get("managedFields") or ()
    ]
    return {**route, "metadata": {**route["metadata"], "managedFields": fields}}

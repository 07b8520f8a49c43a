"""The network policies that let the Ingress controller reach a job's targets, and nothing else of the job."""

from __future__ import annotations

from nestor import names
from nestor.api import labels
from nestor.cluster.policies import build_exposed
from nestor.exposure.ports import find_port
from nestor.exposure.routes import Route
from nestor.kube import kinds
from nestor.kube.tasks import together
from nestor.names import Part
from nestor.objects import Object, spec_of
from nestor.operator.admission.admit import Resolved
from nestor.operator.world.context import Context


class Openings:
    """One policy for each open route whose Service is there. Others are closed: what is not exposed is nobody's business."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._made: dict[str, set[str]] = {}
        """Names of the policies there are, by namespace."""

    def forget(self, namespace: str) -> None:
        """Drop what is remembered about a namespace that is being deleted."""
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
        name = names.host_name(route.target.service_name, route.target.service_namespace)
        service = self._context.cache.find(kinds.SERVICE, name, home.namespace)
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

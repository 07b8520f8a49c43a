"""Builders of targets, routes and what is behind them."""

from typing import Any

from nestor.api.appdef_models import Target
from nestor.api.expose import ExposePolicy, JobExpose
from nestor.cluster.exposure.exposed import TargetView
from nestor.cluster.exposure.routes import ExposedJob, Route, plan_routes

Object = dict[str, Any]


def target(name: str = "web", port: int = 8080, namespace: str = "default") -> Target:
    """One target of an AppDef."""
    return Target(service_name=name, service_port=port, service_namespace=namespace)


def plan(
    *targets: Target, name: str = "shop", namespace: str = "team-a", policy: Object | None = None, **expose: Any
) -> tuple[Route, ...]:
    """The routes of a job below `jobs.test` that asks for all its targets, unless it says otherwise."""
    allowed = ExposePolicy.model_validate({"domain": "jobs.test"} | (policy or {}))
    wish = JobExpose.model_validate({"allTargets": True} | expose)
    return plan_routes(ExposedJob(name, namespace, "default", wish, allowed), targets)


def service(*ports: Object) -> Object:
    """A host Service."""
    return {"spec": {"ports": list(ports) or [{"name": "http", "port": 8080, "targetPort": "http"}]}}


def endpoints(*, is_ready: bool | None = True, port: str | None = "http", addresses: int = 1) -> Object:
    """An EndpointSlice; `port` None: its pods have none of that name, `is_ready` None: it is not said."""
    ready = {} if is_ready is None else {"conditions": {"ready": is_ready}}
    found = [{"addresses": [f"10.0.0.{number}"], **ready} for number in range(addresses)]
    return {"endpoints": found, "ports": [] if port is None else [{"name": port, "port": 8080}]}


def view(route: Route, *slices: Object, **changes: Any) -> TargetView:
    """A target that answers, unless slices or changes say otherwise."""
    values: Object = {"service": service(), "slices": list(slices) or [endpoints()]}
    return TargetView(route, **(values | changes))

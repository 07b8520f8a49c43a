"""What of a job is opened to the Ingress controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from nestor.api import conditions, labels, names
from nestor.cluster.shape import Host
from nestor.kube import Api, kinds
from nestor.operator.job.expose import Openings
from nestor.operator.settings import Settings
from nestor.operator.world.context import Cache, Context
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import STEPS, TARGET, build_job, build_resolved

Object = dict[str, Any]
NESTED = {"targets": [TARGET, TARGET | {"service_name": "api"}], "templates": STEPS}
RESOLVED = build_resolved(build_job(nested=NESTED, expose={"allTargets": True}))
SELECTOR = {"nestor.dev/cluster": "hello", "app": "web"}


def name_open(api: MemoryApi) -> set[str]:
    return {name for kind, _, name in api.objects if kind == kinds.NETWORK_POLICY.plural}


def build_context(api: MemoryApi) -> Context:
    """An operator that knows no Service yet."""
    return Context.create(cast(Api, api), Settings(image="x"), Cache(cast(Api, api)), Host(()))


def put_service(context: Context, name: str, ports: list[Object], selector: Object | None = None) -> None:
    """A host Service, as the syncer makes it."""
    key = RESOLVED.home.namespace, names.host_name(name, "default")
    spec = {"ports": ports, "selector": SELECTOR if selector is None else selector}
    context.cache.informers[kinds.SERVICE].store[key] = {"metadata": {"name": key[1], "namespace": key[0]}, "spec": spec}


PORT = {"protocol": "TCP", "port": 8080, "targetPort": "http"}


async def test_each_target_is_opened_once_its_service_is_there_and_no_other_port_of_it() -> None:
    api = MemoryApi()
    context = build_context(api)
    openings = Openings(context)
    await openings.ensure(RESOLVED, RESOLVED.routes)
    assert name_open(api) == set()
    put_service(context, "web", [{"protocol": "TCP", "port": 9090, "targetPort": 9090}, PORT])
    put_service(context, "api", [{"protocol": "TCP", "port": 8080}])
    put_service(context, "database", [{"protocol": "TCP", "port": 8080}])
    await openings.ensure(RESOLVED, RESOLVED.routes)
    further = f"{RESOLVED.routes[1].ingress}-exposed"
    found = {
        name: (item["spec"]["podSelector"], item["spec"]["ingress"][0]["ports"]) for (_, _, name), item in api.objects.items()
    }
    assert found == {
        "hello-exposed": ({"matchLabels": SELECTOR}, [{"protocol": "TCP", "port": "http"}]),
        further: ({"matchLabels": SELECTOR}, [{"protocol": "TCP", "port": 8080}]),
    }
    assert api.asked.count(f"LIST networkpolicies {RESOLVED.home.namespace}") == 1


@pytest.mark.parametrize(
    ("ports", "selector"), [([], None), ([{"protocol": "UDP", "port": 8080}], None), ([PORT], {}), ([{"port": 81}], None)]
)
async def test_a_service_that_leads_nowhere_opens_nothing(ports: list[Object], selector: Object | None) -> None:
    api = MemoryApi()
    context = build_context(api)
    put_service(context, "web", ports, selector)
    await Openings(context).ensure(RESOLVED, RESOLVED.routes)
    assert name_open(api) == set()


async def test_what_is_exposed_no_longer_is_closed() -> None:
    api = MemoryApi()
    context = build_context(api)
    openings = Openings(context)
    put_service(context, "web", [PORT])
    await openings.ensure(RESOLVED, RESOLVED.routes)
    refused = tuple(replace(route, refusal=(conditions.HOSTNAME_CONFLICT, "taken")) for route in RESOLVED.routes)
    await openings.ensure(RESOLVED, refused)
    assert name_open(api) == set()
    await openings.ensure(RESOLVED, RESOLVED.routes)
    assert name_open(api) == {"hello-exposed"}


async def test_a_new_operator_closes_what_an_earlier_one_opened() -> None:
    api = MemoryApi()
    exposure = {labels.COMPONENT: labels.COMPONENT_EXPOSURE}
    for name, own in (("x-exposed", exposure), ("hello-app", {})):
        meta = {"name": name, "namespace": RESOLVED.home.namespace, "labels": {labels.CLUSTER: "hello"} | own}
        api.put(kinds.NETWORK_POLICY, {"metadata": meta})
    openings = Openings(build_context(api))
    await openings.ensure(RESOLVED, RESOLVED.routes)
    assert name_open(api) == {"hello-app"}
    openings.forget(RESOLVED.home.namespace)
    await openings.ensure(RESOLVED, RESOLVED.routes)
    assert api.asked.count(f"LIST networkpolicies {RESOLVED.home.namespace}") == 2

"""Jobs whose class has a Gateway: what becomes of their HTTPRoutes."""

import datetime
from typing import Any, cast

import pytest

from nestor.api import conditions, labels
from nestor.api.times import now, write
from nestor.kube import Forbidden, kinds
from nestor.kube.optional import OptionalInformer
from nestor.operator.admission.copied_inputs import CopiedInputs
from tests.unit.operator.builders import Object, build_job
from tests.unit.operator.scene import HOME, Scene

GATEWAY = {"name": "public", "namespace": "gateways"}
VICTIMS = "shop-team-b.jobs.test"


def set_gateway(scene: Scene) -> None:
    """Have the class expose its jobs by a Gateway."""
    scene.set_class("Baseline", expose={"gateway": GATEWAY})


async def make_job(*, has_gateway: bool = True, **spec: Any) -> Scene:
    """A job with an HTTPRoute, or an Ingress."""
    scene = Scene()
    if has_gateway:
        set_gateway(scene)
    scene.add_job(**spec)
    look(scene)
    await reconcile(scene)
    assert (route_of(scene) is not None) is has_gateway
    assert (ingress_of(scene) is None) is has_gateway
    return scene


def look(scene: Scene) -> None:
    """Have an operator's process whose caches know what there is."""
    assert scene.reconciler
    for kind in (kinds.INGRESS, kinds.HTTP_ROUTE):
        for item in list(scene.context.cache.informers[kind]):
            scene.hide(kind, item)
        for item in scene.api.every(kind.plural):
            scene.show(kind, item)
    made = cast(OptionalInformer, scene.context.cache.informers[kinds.HTTP_ROUTE])
    made.answered.set()
    made.synced.set()


async def reconcile(scene: Scene) -> Object:
    """A pass, whose writes the caches know afterwards. The job."""
    await scene.run()
    job = scene.settle()
    look(scene)
    return job


def route_of(scene: Scene) -> Object | None:
    return scene.api.look(kinds.HTTP_ROUTE, "hello", HOME)


def ingress_of(scene: Scene) -> Object | None:
    return scene.api.look(kinds.INGRESS, "hello", HOME)


def answer(scene: Scene, status: str) -> None:
    """What the Gateway's controller says of the route."""
    route = route_of(scene) or {}
    said = {"type": "Accepted", "status": status, "reason": "X", "message": ""}
    scene.api.put(kinds.HTTP_ROUTE, route | {"status": {"parents": [{"parentRef": GATEWAY, "conditions": [said]}]}})


def add_victim(scene: Scene) -> None:
    """A job whose default host another one has."""
    victim = build_job("shop", "team-b")
    victim["metadata"] |= {"uid": "2", "creationTimestamp": "2026-02-01T00:00:00Z", "finalizers": [labels.FINALIZER]}
    scene.change(kinds.NESTED_APP_JOB, victim)


async def test_a_refused_job_holds_its_host_and_loses_it_to_whose_it_is_also_after_a_restart() -> None:
    scene = await make_job(expose={"host": VICTIMS})
    scene.edit(command="no such command")
    await reconcile(scene)
    assert route_of(scene) is not None

    scene.restart()
    look(scene)
    assert [(claim.host, claim.is_held) for claim in scene.reconciler.hosts.find({VICTIMS})] == [(VICTIMS, True)]
    add_victim(scene)
    job = await reconcile(scene)
    assert route_of(scene) is None
    assert scene.said(conditions.EXPOSED)[1] == conditions.HOSTNAME_CONFLICT
    assert "url" not in job["status"]
    assert all(claim.host != VICTIMS or claim.uid == "2" for claim in scene.reconciler.hosts.find({VICTIMS}))


async def test_routes_go_when_the_class_has_no_gateway_any_more_even_if_a_pass_in_between_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = await make_job()
    scene.set_class("Baseline")

    async def fail(*_: Any) -> None:
        raise Forbidden(403, "Forbidden", "exceeded quota")

    with monkeypatch.context() as patch:
        patch.setattr(CopiedInputs, "ensure_templates", fail)
        job = await reconcile(scene)
    assert job["status"]["gateway"] == "gateways/public"
    assert route_of(scene) is not None
    job = await reconcile(scene)
    assert route_of(scene) is None
    job = await reconcile(scene)
    assert "gateway" not in job["status"]


@pytest.mark.parametrize("status", ["True", "False"])
async def test_an_ingress_stays_until_the_gateway_has_accepted_the_route(status: str) -> None:
    scene = await make_job(has_gateway=False)
    set_gateway(scene)
    await reconcile(scene)
    assert route_of(scene) is not None
    assert ingress_of(scene) is not None
    assert scene.said(conditions.EXPOSED)[1] == conditions.GATEWAY_PENDING
    answer(scene, status)
    look(scene)
    await reconcile(scene)
    assert (ingress_of(scene) is None) is (status == "True")


async def test_an_ingress_whose_host_is_anothers_goes_even_if_there_is_no_route_yet() -> None:
    scene = await make_job(has_gateway=False, expose={"host": VICTIMS})
    set_gateway(scene)
    add_victim(scene)
    await reconcile(scene)
    assert ingress_of(scene) is None
    assert route_of(scene) is None


async def test_the_routes_go_after_the_ingresses_have_come() -> None:
    scene = await make_job()
    scene.set_class("Baseline")
    start = len(scene.api.asked)
    await reconcile(scene)
    asked = scene.api.asked[start:]
    made, gone = f"APPLY ingresses {HOME}/hello", f"DELETE httproutes {HOME}/hello"
    assert asked.index(made) < asked.index(gone)


@pytest.mark.parametrize(("age", "reason"), [(20, conditions.GATEWAY_PENDING), (100, conditions.GATEWAY_SILENT)])
@pytest.mark.parametrize("has_changed", [True, False])
async def test_the_silence_of_a_gateway_is_told_once_it_has_lasted(age: float, reason: str, has_changed: bool) -> None:
    scene = await make_job()
    route = route_of(scene) or {}
    meta, then = route["metadata"], write(now() - datetime.timedelta(seconds=age))
    meta["creationTimestamp"] = "2020-01-01T00:00:00Z" if has_changed else then
    if has_changed:
        meta["managedFields"] = [{"manager": "x", "time": then}, {"manager": "x", "time": write(now()), "subresource": "status"}]
    scene.api.put(kinds.HTTP_ROUTE, route)
    look(scene)
    result = await scene.run()
    assert scene.said(conditions.EXPOSED)[1] == reason
    assert result.retry_after is not None
    assert result.retry_after <= 41


async def test_until_its_routes_are_known_a_job_waits() -> None:
    scene = Scene()
    set_gateway(scene)
    scene.add_job()
    result = await scene.run()
    assert result.retry_after == 0.5
    assert route_of(scene) is None


async def test_a_deletion_begins_with_the_routes() -> None:
    scene = await make_job()
    scene.settle(metadata=scene.job["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"})
    scene.show_home()
    await scene.run()
    assert route_of(scene) is None

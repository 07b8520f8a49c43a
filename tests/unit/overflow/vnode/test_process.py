"""The process: settings, how it ends, what it tells probes, which pods its kubelet API finds."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from nestor.api import conditions
from nestor.api.objects import Object, conditions_of, status_of
from nestor.kube import Api, kinds
from nestor.kube.serving.pages import STALE_SECONDS
from nestor.overflow.vnode import api, main
from nestor.overflow.vnode.api import build_finder
from nestor.overflow.vnode.backend import factory
from nestor.overflow.vnode.backend.health import Health
from nestor.overflow.vnode.backend.view import BackendView, NodeRef
from nestor.overflow.vnode.identity import Certificate, Wish
from nestor.overflow.vnode.main import Parts, State
from nestor.overflow.vnode.nodes import Nodes
from nestor.overflow.vnode.restart import Restart
from nestor.overflow.vnode.settings import Settings, parse
from nestor.pods.kubelet.routes import Route, find_route
from nestor.pods.providers.base import Shape
from nestor.pods.providers.errors import Unreachable
from tests.fakes.api import MemoryApi
from tests.fakes.backend import MemoryBackend
from tests.unit.overflow.vnode.world import NodeApi, World
from tests.waiting import eventually

TLS = {"caRef": {"name": "tls", "key": "ca"}}
BASIC = ["--backend=gpu", "--namespace=nestor-system", "--address=10.0.0.7"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, 0),
        (ExceptionGroup("parts", [Restart("new")]), 0),
        (ExceptionGroup("parts", [ExceptionGroup("nodes", [Restart("node gone")])]), 0),
        (ExceptionGroup("parts", [RuntimeError("a part has ended")]), 1),
        (ExceptionGroup("parts", [Restart("new"), RuntimeError("a part has ended")]), 1),
        (RuntimeError("no kubeconfig"), 1),
    ],
)
def test_exit_codes(monkeypatch: pytest.MonkeyPatch, error: Exception | None, code: int) -> None:
    async def run(settings: Settings) -> None:
        assert settings.backend == "gpu"
        if error is not None:
            raise error

    monkeypatch.setattr(main, "run", run)
    assert main.main(BASIC) == code


def build_parts(world: World) -> Parts:
    """Without nodes and a certificate, as where the operator has made no node yet."""
    server = cast(Api, world.api)
    view = BackendView(server, build_body(), world.health)
    nodes = Nodes(server, parse(BASIC), view, world.health, world.pods, "v1.35.0")
    served = api.NodeApi(server, parse(BASIC), nodes, cast(Any, world.backend), world.pods.registry)
    return Parts(view, nodes, served, world.health, world.pods, world.poller)


async def test_metrics_and_probes(world: World) -> None:
    await world.accept()
    state = State()
    assert (state.find_unready(), state.find_stale()) == ("starting", None)
    assert "nestor_vnode_ready 0.0" in state.write_metrics().splitlines()
    state.parts = build_parts(world)
    assert (state.find_unready(), state.find_stale()) == (None, None)
    lines = state.write_metrics().splitlines()
    assert {
        "nestor_vnode_ready 1.0",
        'nestor_vnode_pods{node="far",state="Accepted"} 1.0',
        "nestor_vnode_backend_answers 1.0",
    } <= {*lines}
    state.parts.view.informer.last_contact -= STALE_SECONDS + 1
    assert state.find_stale() == "a watch of overflowbackends went silent"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("containerLogs/shop/web/app", True),
        ("containerLogs/shop/absent/app", False),
        ("containerLogs/other/web/app", False),
        ("exec/shop/web/wrong-uid/app", False),
    ],
)
async def test_which_pods_are_found(world: World, path: str, found: bool) -> None:
    await world.run()
    served = build_finder(world.pods.registry)(route(path))
    assert (served is not None) is found
    assert served is None or not served.problem


async def test_a_pod_that_was_not_sent_has_no_logs_yet(world: World) -> None:
    world.bind("web", hostNetwork=True, restartPolicy="Always")
    await world.until(lambda: "BackendRefused" in world.events)
    served = build_finder(world.pods.registry)(route("containerLogs/shop/web/app"))
    assert served is not None
    assert served.problem == 'container "app" in pod "web" is waiting to start'


async def test_a_container_that_waits_at_its_backend_has_no_logs_yet(world: World) -> None:
    uid = await world.accept()
    find, entry = build_finder(world.pods.registry), world.entry(uid)
    said = []
    states: list[Object] = [{"waiting": {}}, {"running": {}}, {"terminated": {"exitCode": 0}}]
    for state in states:
        entry.remote = {"containerStatuses": [{"name": "app", "state": state}]}
        served = find(route("containerLogs/shop/web/app"))
        assert served is not None
        said.append(served.problem)
    assert said == ['container "app" in pod "web" is waiting to start', "", ""]


def route(path: str) -> Route:
    made = find_route("GET", path.split("/"))
    assert made is not None
    return made


def build_body(**status: Any) -> Object:
    spec = {"type": "Interlink", "interlink": {"url": "https://x.example"}}
    meta = {"name": "gpu", "uid": "u", "generation": 3}
    return {"apiVersion": "nestor.dev/v1alpha1", "kind": "OverflowBackend", "metadata": meta, "spec": spec, "status": status}


class Place:
    def __init__(self, **spec: Any) -> None:
        self.api = NodeApi()
        body = build_body()
        body["spec"] |= spec
        self.body = self.api.put(kinds.OVERFLOW_BACKEND, body)
        self.health = Health()
        self.view = BackendView(cast(Api, self.api), self.body, self.health)
        self.backend = MemoryBackend()

    async def pass_once(self) -> Object:
        """One look at the backend; returns the status that is there afterwards."""
        await self.view._discover(cast(Any, self.backend))
        await self.view.write()
        return status_of(self.api.look(kinds.OVERFLOW_BACKEND, "gpu"))


async def test_discovered_shapes_are_written() -> None:
    place = Place()
    place.backend.shapes = [Shape("a100", {"cpu": "8", "nvidia.com/gpu": "2"}, machines=3)]
    status = await place.pass_once()
    assert [(item["name"], item["capacity"], item["machines"]) for item in status["shapes"]] == [
        ("a100", {"cpu": "8", "nvidia.com/gpu": "2"}, 3)
    ]
    (reachable,) = status["conditions"]
    assert (reachable["type"], reachable["status"], reachable["observedGeneration"]) == ("Reachable", "True", 3)
    assert reachable["message"] == "The backend answers."
    place.backend.shapes = [
        replace(place.backend.shapes[0], faults="`resources.pods` is malformed"),
        Shape("b", {"cpu": "plenty"}),
    ]
    now = await place.pass_once()
    assert now["shapes"] == status["shapes"]
    assert "counts: `resources.pods` is malformed; shape 'b' is left out" in now["conditions"][0]["message"]


async def test_certificates_that_the_cluster_does_not_issue_are_told_as_long_as_that_is_so() -> None:
    place = Place()
    place.view.find_lacking = lambda: "request csr-1 is approved"
    tasks = [asyncio.create_task(place.view.informer.run())]
    await place.view.informer.synced.wait()
    found = conditions.find((await place.pass_once())["conditions"], "Certified") or {}
    assert (found["status"], found["reason"], found["message"]) == ("False", "CertificateNotIssued", "request csr-1 is approved")
    place.view.find_lacking = str

    async def is_over() -> bool:
        return [item["type"] for item in (await place.pass_once())["conditions"]] == ["Reachable"]

    await eventually(is_over)
    for task in tasks:
        task.cancel()


async def test_without_a_serving_certificate_the_process_is_ready_once_that_is_told(world: World) -> None:
    """Its nodes take pods; only logs and commands fail."""
    server = api.NodeApi(cast(Api, world.api), parse(BASIC), cast(Any, None), cast(Any, world.backend), world.pods.registry)
    assert server.find_problem() is None
    server._certificate = Certificate(cast(Api, world.api), Wish("gpu", "gpu", "serving", "10.0.0.7"), Path("/nowhere"))
    assert "not issued yet" in (server.find_problem() or "")
    server._certificate.is_lacking = True
    assert server.find_problem() is None


async def test_given_shapes_win() -> None:
    place = Place(shapes=[{"name": "mine", "capacity": {"cpu": "1"}}])
    place.backend.shapes = [Shape("theirs", {"cpu": "8"})]
    assert [item["name"] for item in (await place.pass_once())["shapes"]] == ["mine"]
    assert place.backend.count("discover") == 0


async def test_a_backend_is_not_called_silent_before_its_first_call_is_over() -> None:
    place = Place(shapes=[{"name": "small", "capacity": {"cpu": "4"}}])
    assert not (await place.pass_once()).get("conditions")
    woken = []
    place.health.on_change(lambda: woken.append(True))
    for _ in range(2):
        place.health.note_failure(Unreachable("connection refused"))
    assert woken == [True]
    (reachable,) = (await place.pass_once())["conditions"]
    assert (reachable["status"], reachable["reason"], reachable["message"]) == ("False", "Unreachable", "connection refused")


@pytest.mark.parametrize("status", ["True", "False"])
async def test_what_the_last_process_has_said_stays_until_the_first_call_is_over(status: str) -> None:
    place = Place(shapes=[{"name": "small", "capacity": {"cpu": "4"}}])
    said = {"type": "Reachable", "status": status, "reason": "BackendAnswers", "message": "It was so.", "observedGeneration": 3}
    said["lastTransitionTime"] = "2030-01-01T00:00:00Z"
    place.body["status"]["conditions"] = [said]
    place.view._body = place.api.put(kinds.OVERFLOW_BACKEND, place.body)
    assert (await place.pass_once())["conditions"] == [said]


async def test_shapes_stay_while_the_backend_is_away() -> None:
    place = Place()
    place.backend.shapes = [Shape("a100", {"cpu": "8"})]
    await place.pass_once()
    place.backend.is_down = True
    place.health = Health()
    place.view = BackendView(cast(Api, place.api), cast(Object, place.api.look(kinds.OVERFLOW_BACKEND, "gpu")), place.health)
    status = await place.pass_once()
    assert [item["name"] for item in status["shapes"]] == ["a100"]
    found = conditions.find(conditions_of({"status": status}), "Reachable") or {}
    assert (found["status"], found["reason"], found["message"]) == ("False", "Unreachable", "connection refused")


@pytest.mark.parametrize("error", [ValueError("an answer that no reader has foreseen"), KeyError("x"), RecursionError()])
async def test_nothing_that_a_backend_tells_ends_the_process(error: Exception) -> None:
    place = Place()
    place.backend.shapes = [Shape("a100", {"cpu": "8"})]
    await place.pass_once()
    place.backend.fault = lambda call, _: error if call == "discover" else None
    assert [item["name"] for item in (await place.pass_once())["shapes"]] == ["a100"]


async def test_nodes_are_those_that_the_operator_has_made() -> None:
    nodes = [
        {"name": "gpu", "shape": "default", "state": "Ready"},
        {"name": "gpu-old", "shape": "old", "state": "Draining"},
        {"name": "taken", "shape": "taken", "state": "Refused"},
    ]
    view = BackendView(cast(Api, MemoryApi()), build_body(nodes=nodes), Health())
    assert view.nodes == {NodeRef("gpu", "default"), NodeRef("gpu-old", "old")}


LINK: Object = {"interlink": {"url": "https://x.example"}}
FAR: Object = {"type": "Kubernetes", "kubernetes": {"kubeconfigRef": {"name": "far", "key": "config"}}}
SHAPES: Object = {"shapes": [{"name": "gpu", "capacity": {"cpu": "8"}}]}


@pytest.mark.parametrize(
    ("spec", "change", "restarts"),
    [
        (LINK, {"price": 7}, False),
        (LINK, {"node": {"pods": 5}}, False),
        (LINK, SHAPES, False),
        (LINK, {"interlink": {"url": "https://y.example"}}, True),
        (FAR, {"price": 7}, False),
        # Those that an admin has written say which machines the pods go to.
        (FAR, SHAPES, True),
    ],
)
async def test_what_begins_a_new_process(spec: Object, change: Object, restarts: bool) -> None:
    place = Place(**spec)
    informer, keeping = (
        asyncio.create_task(item) for item in (place.view.informer.run(), place.view.keep(cast(Any, place.backend)))
    )
    await place.view.informer.synced.wait()
    place.api.put(kinds.OVERFLOW_BACKEND, place.body | {"spec": place.body["spec"] | change})
    await asyncio.wait([keeping], timeout=10 if restarts else 0.05)
    informer.cancel()
    keeping.cancel()
    (result,) = await asyncio.gather(keeping, return_exceptions=True)
    assert isinstance(result, Restart) is restarts


@pytest.mark.parametrize(
    ("interlink", "reason", "problem"),
    [
        # A specification that an older definition has admitted.
        ({"url": 7}, "BackendInvalid", ""),
        ({"url": "https://x.example", "tls": TLS}, "SecretNotFound", "key 'ca' of Secret 'tls'"),
    ],
)
async def test_what_keeps_a_backend_from_being_used_is_told_until_it_is_mended(
    monkeypatch: pytest.MonkeyPatch, interlink: Object, reason: str, problem: str
) -> None:
    monkeypatch.setattr(main, "_PATIENCE_SECONDS", 0.01)
    api, state = Place(interlink=interlink).api, State()
    task = asyncio.create_task(main._connect(cast(Api, api), parse(BASIC), factory.build_backend, state))

    async def is_told() -> bool:
        found = conditions.find(conditions_of(api.look(kinds.OVERFLOW_BACKEND, "gpu")), "Reachable") or {}
        return found.get("reason") == reason and state.problem.startswith(problem)

    await eventually(is_told)
    api.put(kinds.SECRET, {"metadata": {"name": "tls", "namespace": "nestor-system"}, "data": {"ca": ""}})
    api.put(kinds.OVERFLOW_BACKEND, build_body())
    _, _, backend = await task
    await backend.close()

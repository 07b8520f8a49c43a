"""How certificate requests are answered, and names of nodes reserved for as long as somebody may hold a certificate for them."""

import datetime
import ipaddress
from typing import Any

import pytest
from cryptography import x509

from nestor.api import labels
from nestor.api.contracts import vnode
from nestor.api.objects import Object
from nestor.api.times import now, read, write
from nestor.kube import Conflict, NotFound, kinds
from nestor.operator.backends import requests
from nestor.operator.backends.requests import MARGIN_SECONDS, PATIENCE_SECONDS, RequestReconciler, find_change
from nestor.operator.world.context import Result
from tests.unit.operator.backends.builders import build_backend, build_live, build_process
from tests.unit.operator.backends.test_certificates import OWN, build, serving, sign, subject
from tests.unit.operator.scene import Scene

ADDRESS = x509.IPAddress(ipaddress.ip_address("10.1.2.3"))


def show(scene: Scene, request: Object, *, age: float = 0, **meta: Any) -> RequestReconciler:
    """Have the operator know of a request, and of a backend with a node and a process."""
    backend = scene.change(kinds.OVERFLOW_BACKEND, build_backend())
    scene.show(kinds.NODE, build_live(backend))
    scene.show(kinds.POD, build_process())
    created = write(now() - datetime.timedelta(seconds=age))
    request["metadata"] = {"name": "csr", "creationTimestamp": created, "labels": {labels.BACKEND: "link"}, **meta}
    scene.show(kinds.CERTIFICATE_REQUEST, request)
    return RequestReconciler(scene.context)


def read_answer(scene: Scene) -> list[Object]:
    found = scene.api.look(kinds.CERTIFICATE_REQUEST, "csr") or {}
    return list(found["status"].get("conditions") or [])


@pytest.mark.parametrize("request_", [build(sign(subject())), serving(ADDRESS)], ids=["client", "serving"])
async def test_a_request_of_the_process_is_approved(request_: Object) -> None:
    scene = Scene()
    assert await show(scene, request_).reconcile("csr") == Result()
    (answer,) = read_answer(scene)
    assert (answer["type"], answer["status"], answer["reason"]) == ("Approved", "True", "NestorVirtualNode")
    is_identity = request_["spec"]["signerName"] == vnode.CLIENT_SIGNER
    assert (scene.api.look(*WHERE) is not None) is is_identity, "whose name is reserved"
    assert scene.api.asked[-1] == "PATCH certificatesigningrequests csr/approval"
    assert scene.api.bodies[-1]["metadata"].keys() == {"uid", "resourceVersion"}


@pytest.mark.parametrize("name", ["worker-1", "other"])
async def test_a_node_of_nobody_is_waited_for_and_then_denied(name: str) -> None:
    """Also a node with the label of a backend, but without its owner."""
    scene = Scene()
    scene.show(kinds.NODE, {"metadata": {"name": "worker-1", "labels": {labels.BACKEND: "link"}}})
    scene.show(kinds.NODE, build_live(build_backend("other", uid="gone")))
    requests = show(scene, build(sign(subject(f"system:node:{name}"))))
    assert (await requests.reconcile("csr")).retry_after == 1
    assert read_answer(scene) == []
    requests = show(scene, build(sign(subject(f"system:node:{name}"))), age=PATIENCE_SECONDS + 1)
    assert await requests.reconcile("csr") == Result()
    assert [item["type"] for item in read_answer(scene)] == ["Denied"]


@pytest.mark.parametrize(
    ("request_", "meta"),
    [
        (build(sign(subject()), user="system:bootstrap:a"), {}),
        (build(sign(subject()), conditions=[{"type": "Approved"}]), {}),
        (build(sign(subject())), {"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        (build(sign(subject())), {"name": "another"}),
    ],
    ids=["somebody else's", "answered", "going", "gone"],
)
async def test_others_are_not_touched(request_: Object, meta: Object) -> None:
    scene = Scene()
    assert await show(scene, request_, **meta).reconcile("csr") == Result()
    assert scene.api.asked == []


async def test_an_address_of_a_pod_elsewhere_counts_for_nothing() -> None:
    """Whoever may create pods can label them as he likes, but not in the operator's namespace."""
    scene = Scene()
    request = serving(x509.IPAddress(ipaddress.ip_address("10.9.9.9")), user=OWN)
    requests = show(scene, request)
    pod = build_process(podIPs=[{"ip": "10.9.9.9"}])
    scene.show(kinds.POD, pod | {"metadata": pod["metadata"] | {"namespace": "team-a"}})
    scene.show(kinds.POD, pod | {"metadata": pod["metadata"] | {"name": "other", "labels": {labels.BACKEND: "link"}}})
    assert (await requests.reconcile("csr")).retry_after == 1


@pytest.mark.parametrize("error", [Conflict(409, "Conflict", "changed"), NotFound(404, "NotFound", "gone")])
async def test_a_request_that_changed_meanwhile_comes_again_by_itself(error: Conflict | NotFound) -> None:
    scene = Scene()
    requests = show(scene, build(sign(subject())))
    scene.api.refusal = lambda _, body: error if "status" in body else None
    assert await requests.reconcile("csr") == Result()


NOW = read("2026-01-01T00:00:00Z")
LATER = "2026-01-02T02:00:00Z"
WHERE = (kinds.CONFIG_MAP, vnode.RESERVED_CONFIG_MAP, "nestor-system")


@pytest.mark.parametrize(
    ("data", "change"),
    [
        ({}, {}),
        ({"link": "link 2026-01-01T12:00:00Z"}, {}),  # until later now
        ({"other": "other 2026-01-01T12:00:00Z"}, {}),
        ({"old": "link 2025-12-31T23:59:59Z"}, {"old": None}),
        ({"a": "nonsense", "b": "x 2026-01-01T12:00:00", "c": ""}, {"a": None, "b": None, "c": None}),
    ],
)
def test_a_name_is_reserved_for_the_life_of_its_certificate(data: Object, change: Object) -> None:
    assert read(LATER) - NOW == datetime.timedelta(seconds=vnode.CERTIFICATE_SECONDS + MARGIN_SECONDS)
    assert find_change(data, "link", "link", NOW) == {"link": f"link {LATER}"} | change


def test_a_process_cannot_fill_the_list_by_ever_new_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "NAMES_LIMIT", 2)
    full = {"a": f"link {LATER}", "b": f"link {LATER}", "c": f"other {LATER}"}
    assert find_change(full, "d", "link", NOW) is None
    assert find_change(full, "b", "link", NOW) == {"b": f"link {LATER}"}
    assert find_change(full, "d", "other", NOW) == {"d": f"other {LATER}"}


async def test_the_name_is_reserved_before_the_certificate_is_approved_and_others_stay() -> None:
    scene = Scene()
    scene.api.put(WHERE[0], {"metadata": {"name": WHERE[1], "namespace": WHERE[2]}, "data": {"x": "other 2999-01-01T00:00:00Z"}})
    assert await show(scene, build(sign(subject()))).reconcile("csr") == Result()
    data = (scene.api.look(*WHERE) or {})["data"]
    assert (data["x"], data["link"].startswith("link 20")) == ("other 2999-01-01T00:00:00Z", True)
    writes = [item.split(" ")[1] for item in scene.api.asked if not item.startswith("GET")]
    assert writes == ["configmaps", "certificatesigningrequests"]


async def test_a_name_too_many_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "NAMES_LIMIT", 0)
    scene = Scene()
    await show(scene, build(sign(subject()))).reconcile("csr")
    assert [item["type"] for item in read_answer(scene)] == ["Denied"]
    assert scene.api.look(*WHERE) is None

"""How certificate requests are answered."""

from __future__ import annotations

import datetime
import ipaddress
from typing import Any

import pytest
from cryptography import x509

from nestor.api import labels
from nestor.api.times import now, write
from nestor.kube import Conflict, NotFound, kinds
from nestor.operator.backends.requests import PATIENCE_SECONDS, RequestReconciler
from nestor.operator.world.context import Result
from tests.unit.operator.backends.builders import build_backend, build_live, build_process
from tests.unit.operator.backends.test_certificates import OWN, build, serving, sign, subject
from tests.unit.operator.scene import Scene

Object = dict[str, Any]
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
    """What was answered."""
    found = scene.api.look(kinds.CERTIFICATE_REQUEST, "csr") or {}
    return list(found["status"].get("conditions") or [])


@pytest.mark.parametrize("request_", [build(sign(subject())), serving(ADDRESS)], ids=["client", "serving"])
async def test_a_request_of_the_process_is_approved(request_: Object) -> None:
    scene = Scene()
    assert await show(scene, request_).reconcile("csr") == Result()
    (answer,) = read_answer(scene)
    assert (answer["type"], answer["status"], answer["reason"]) == ("Approved", "True", "NestorVirtualNode")
    assert scene.api.asked[-1] == "PATCH certificatesigningrequests csr/approval"
    assert scene.api.bodies[-1]["metadata"].keys() == {"uid", "resourceVersion"}


async def test_a_request_for_another_name_is_denied_with_the_reason() -> None:
    scene = Scene()
    await show(scene, serving(x509.DNSName("kubernetes"), ADDRESS)).reconcile("csr")
    (answer,) = read_answer(scene)
    assert (answer["type"], answer["message"]) == ("Denied", "'kubernetes' is not the name of the node")


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
    "request_",
    [build(sign(subject()), user="system:bootstrap:a"), build(sign(subject()), conditions=[{"type": "Approved"}])],
    ids=["somebody else's", "answered"],
)
async def test_others_are_not_touched(request_: Object) -> None:
    scene = Scene()
    assert await show(scene, request_).reconcile("csr") == Result()
    assert scene.api.asked == []


async def test_nothing_is_asked_for_what_is_gone() -> None:
    scene = Scene()
    requests = show(scene, build(sign(subject())), deletionTimestamp="2026-01-01T00:00:00Z")
    assert [await requests.reconcile(name) for name in ("csr", "unknown")] == [Result(), Result()]
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

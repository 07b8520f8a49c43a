"""What of ResourceClaims the host has, and what comes up."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.allowances import Devices
from nestor.syncer.copies.rows import devices
from tests.unit.pods.translate.builders import TARGET

Object = dict[str, Any]

GPUS = Devices(classes=["gpu", "fpga"])


def claim(*requests: Object, **content: Any) -> Object:
    meta = {"name": "card", "namespace": "shop", "uid": "c1"}
    return {"metadata": meta, "spec": {"devices": {"requests": list(requests)} | content}}


def one(**content: Any) -> Object:
    return {"name": "one", "exactly": {"deviceClassName": "gpu"} | content}


def either(**content: Any) -> Object:
    return {
        "name": "one",
        "firstAvailable": [{"name": "a", "deviceClassName": "fpga"}, {"name": "b", "deviceClassName": "gpu"} | content],
    }


CONFIG = [{"opaque": {"driver": "gpu.example.com", "parameters": {"path": "/"}}}]


@pytest.mark.parametrize("given", [claim(one()), claim(either()), claim(one(count=2), either()), claim()])
def test_what_is_allowed_is_carried(given: Object) -> None:
    assert devices.find_refusal(given, GPUS, ()) is None
    built = devices.build_claim(given, TARGET)
    wanted = given["spec"]["devices"]
    assert built["spec"]["devices"] == (wanted if wanted["requests"] else {})


REFUSALS: list[tuple[Object, Devices, str]] = [
    (claim(one()), Devices(), "the class allows no devices (`devices.classes`)"),
    (claim(one(deviceClassName="nic")), GPUS,
     "`spec.devices.requests[0].exactly.deviceClassName` may not be 'nic': the class allows 'gpu', 'fpga'"),
    (claim(one(), either(deviceClassName="nic")), GPUS,
     "`spec.devices.requests[1].firstAvailable[1].deviceClassName` may not be 'nic': the class allows 'gpu', 'fpga'"),
    (
        claim(one(adminAccess=True)),
        GPUS,
        "`spec.devices.requests[0].exactly.adminAccess` may not be set: devices of the host cluster are not the "
        "nested cluster's to administer",
    ),
    (
        claim(either(tolerations=[{"operator": "Exists"}])),
        GPUS,
        "`spec.devices.requests[0].firstAvailable[1].tolerations` may not be set: taints of the host cluster's devices are "
        "not the nested cluster's to tolerate",
    ),
    (claim(one(), config=CONFIG), GPUS,
     "`spec.devices.config` may not be set: the class allows no parameters (`devices.parameters`)"),
    ({"metadata": {}}, GPUS, "the claim is too large"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "allowed", "message"), REFUSALS)
def test_what_is_refused_is_told(given: Object, allowed: Devices, message: str) -> None:
    assert devices.find_refusal(given, allowed, ()) == message


def test_parameters_are_carried_where_the_class_allows_them() -> None:
    given = claim(one(), config=CONFIG)
    assert devices.find_refusal(given, Devices(classes=["gpu"], parameters=True), ()) is None
    assert devices.build_claim(given, TARGET)["spec"]["devices"]["config"] == CONFIG


@pytest.mark.parametrize("name", ["adminAccess", "tolerations", "anythingNew"])
def test_what_does_not_pass_is_in_no_host_claim(name: str) -> None:
    given = claim(one(**{name: True}), either(**{name: True}))
    assert devices.build_claim(given, TARGET)["spec"]["devices"]["requests"] == [one(), either()]


def test_a_field_that_no_version_has_yet_is_told_wherever_it_is() -> None:
    given = claim(one(new=1), either(new=1) | {"new": 1}, new=1)
    given["spec"]["new"] = 1
    told = (devices.find_ignored(given) or "").split("; ")
    assert [text.split("`")[1] for text in told] == [
        "spec.new",
        "spec.devices.new",
        "spec.devices.requests[1].new",
        "spec.devices.requests[0].exactly.new",
        "spec.devices.requests[1].firstAvailable[1].new",
    ]
    assert devices.find_ignored(claim(one())) is None


RESULT = {"request": "one", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
PODS = [{"metadata": {"name": "train", "uid": "p1"}}]


def allocated(**more: Any) -> Object:
    status = {"allocation": {"devices": {"results": [RESULT | more], "config": CONFIG}}, "reservedFor": [{"resource": "pods"}]}
    return {"metadata": {"labels": {"nestor.dev/nested-uid": "c1"}}, "status": status}


TOLD: Object = {
    "allocation": {"devices": {"results": [RESULT]}},
    "reservedFor": [{"resource": "pods", "name": "train", "uid": "p1"}],
}
FREE: Object = allocated() | {"status": {}}
BACK = {"allocation": None, "reservedFor": None}


def known(**meta: Any) -> Object:
    """A nested claim that says what the host has allocated."""
    found = claim(one()) | {"status": TOLD}
    return found | {"metadata": found["metadata"] | meta}


@pytest.mark.parametrize(
    ("nested", "host", "pods", "patch"),
    [
        # Without parameters, and for nested pods.
        (claim(one()), allocated(), PODS, TOLD),
        (known(), allocated(), PODS, None),
        (known(), allocated(), [], {"reservedFor": None}),
        (known(), FREE, PODS, BACK),
        # An API server lets nobody change an allocation: another one comes after the first is taken back.
        (known(), allocated(device="gpu-1"), PODS, BACK),
        # What an older nested API server drops is no change.
        (known(), allocated(skipNodeOperations=["x"]), PODS, None),
        # Nothing comes up for a successor, or for one that goes.
        (known(uid="c2"), FREE, PODS, None),
        (known(deletionTimestamp="2026-01-01T00:00:00Z"), FREE, PODS, None),
    ],
)
def test_what_comes_up(nested: Object, host: Object, pods: list[Object], patch: Object | None) -> None:
    assert devices.lift_status(nested, host, pods) == (None if patch is None else {"status": patch})

"""ResourceClaims: what of them the host has, what comes up, and DeviceClasses, between two clusters in memory."""

from typing import Any

import pytest

from nestor.api.allowances import Devices
from nestor.api.objects import Object
from nestor.kube import Forbidden, NotFound, RetryLater, kinds
from nestor.syncer.copies.rows import devices
from nestor.syncer.copies.rows.classes import DeviceClassRow
from nestor.syncer.copies.rows.devices import ResourceClaimRow
from tests.unit.pods.translate.builders import TARGET
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, running

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
    assert not list(devices.find_refusals(given, GPUS, ()))
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
    assert list(devices.find_refusals(given, allowed, ())) == [message]


def test_parameters_are_carried_where_the_class_allows_them() -> None:
    given = claim(one(), config=CONFIG)
    assert not list(devices.find_refusals(given, Devices(classes=["gpu"], parameters=True), ()))
    assert devices.build_claim(given, TARGET)["spec"]["devices"]["config"] == CONFIG


@pytest.mark.parametrize("name", ["adminAccess", "tolerations", "anythingNew"])
def test_what_does_not_pass_is_in_no_host_claim(name: str) -> None:
    given = claim(one(**{name: True}), either(**{name: True}))
    assert devices.build_claim(given, TARGET)["spec"]["devices"]["requests"] == [one(), either()]


def test_a_field_that_no_version_has_yet_is_told_wherever_it_is() -> None:
    given = claim(one(new=1), either(new=1) | {"new": 1}, new=1)
    given["spec"]["new"] = 1
    told = list(devices.find_ignored(given))
    assert [text.split("`")[1] for text in told] == [
        "spec.new",
        "spec.devices.new",
        "spec.devices.requests[1].new",
        "spec.devices.requests[0].exactly.new",
        "spec.devices.requests[1].firstAvailable[1].new",
    ]
    assert not list(devices.find_ignored(claim(one())))


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


CLAIM, CLASS = kinds.RESOURCE_CLAIM, kinds.DEVICE_CLASS
ROWS = (DeviceClassRow, ResourceClaimRow)


def start(*classes: str) -> Clusters:
    """With a DeviceClass that the policy allows, and one that it does not."""
    clusters = Clusters.build(devices={"classes": list(classes) or ["gpu"]})
    for name in ("gpu", "hidden"):
        clusters.host.put(CLASS, {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}})
    return clusters


def claim_of(name: str = "card", of: str = "gpu") -> Object:
    requests = [{"name": "one", "exactly": {"deviceClassName": of}}]
    return {"metadata": {"name": name, "namespace": SPACE}, "spec": {"devices": {"requests": requests}}}


def copy(clusters: Clusters, name: str = "card") -> Any:
    return clusters.copy(CLAIM, name)


async def test_a_claim_is_allocated_for_the_host_pod_and_says_so_for_the_nested_one() -> None:
    clusters = start()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim_of())
        pod = clusters.add_pod(resourceClaims=[{"name": "a", "resourceClaimName": "card"}])
        await made.settle()
        assert (clusters.nested.look(CLASS, "gpu") or {})["spec"] == {}
        assert clusters.nested.look(CLASS, "hidden") is None
        host = copy(clusters)
        assert host["spec"] == claim_of()["spec"]
        meta = TARGET.metadata(pod) | {"uid": "host-pod"}
        claims = [{"name": "a", "resourceClaimName": host["metadata"]["name"]}]
        reserved = [{"resource": "pods", "name": meta["name"], "uid": "host-pod"}, {"resource": "pods", "name": "x", "uid": "y"}]
        status = {"allocation": {"devices": {"results": [RESULT], "config": [{"source": "FromClass"}]}}, "reservedFor": reserved}
        await made.put_host(CLAIM, host | {"status": status})
        told: Any = clusters.nested.look(CLAIM, "card", SPACE)
        assert told["status"] == {"allocation": {"devices": {"results": [RESULT]}}}
        # The UID keeps it from a successor of the same name.
        assert clusters.nested.bodies[-1]["metadata"] == {"uid": told["metadata"]["uid"]}
        clusters.host.put(kinds.POD, {"metadata": meta, "spec": {"resourceClaims": claims}})  # news of pods may come later
        await made.settle()
        told = clusters.nested.look(CLAIM, "card", SPACE)
        assert told["status"]["reservedFor"] == [{"resource": "pods", "name": "web", "uid": pod["metadata"]["uid"]}]
        await made.drop_nested(CLAIM, "card", SPACE)
        assert copy(clusters) is None


async def test_what_is_refused_says_so_and_is_carried_once_it_is_allowed() -> None:
    clusters = start()
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, claim_of(of="hidden"))
        ((reason, told),) = clusters.events
        assert reason == "ClaimRefused"
        assert told == "`spec.devices.requests[0].exactly.deviceClassName` may not be 'hidden': the class allows 'gpu'"
        with pytest.raises(Forbidden, match="ResourceClaim 'card': "):
            await made.engines[1].ensure((SPACE, "card"))
        assert copy(clusters) is None
        clusters.allow(devices={"classes": ["gpu", "hidden"]})
        await made.until(lambda: copy(clusters))


async def test_a_class_of_the_tenant_s_own_is_not_the_host_s() -> None:
    clusters = start()
    clusters.nested.put(CLASS, {"metadata": {"name": "gpu"}, "spec": {"own": True}})
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, claim_of())
        assert clusters.events[0][1].startswith("DeviceClass 'gpu' of this cluster is not the host cluster's")
        clusters.nested.drop(CLASS, "gpu")
        await made.until(lambda: copy(clusters))


async def test_a_stricter_class_takes_no_claim_away() -> None:
    clusters = start()
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, claim_of())
        before = copy(clusters)["metadata"]["uid"]
        clusters.allow()
        await made.put_nested(CLAIM, claim_of("more"))
        assert copy(clusters)["metadata"]["uid"] == before
        assert clusters.events == [("ClaimRefused", "the class allows no devices (`devices.classes`)")]


async def test_a_successor_waits_until_the_host_has_released_the_devices() -> None:
    clusters = start()
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, claim_of())
    held = copy(clusters)
    held["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    clusters.host.put(CLAIM, held)
    clusters.nested.drop(CLAIM, "card", SPACE)
    nested = clusters.nested.put(CLAIM, claim_of())
    async with running(clusters, *ROWS) as made:
        with pytest.raises(RetryLater, match="an earlier ResourceClaim is being deleted"):
            await made.engines[1].ensure((SPACE, "card"))
        clusters.host.drop(CLAIM, held["metadata"]["name"], HOST)
        await made.until(lambda: copy(clusters))
        assert copy(clusters)["metadata"]["labels"]["nestor.dev/nested-uid"] == nested["metadata"]["uid"]


async def test_pods_wait_for_their_claims_for_a_moment_and_are_then_told() -> None:
    clusters = start()
    async with running(clusters, *ROWS) as made:
        engine = made.engines[1]
        own = clusters.add_pod("own", resourceClaims=[{"name": "a", "resourceClaimName": "card"}])
        made_for = clusters.add_pod("made", resourceClaims=[{"name": "a", "resourceClaimTemplateName": "cards"}])
        for pod, message in (
            (own, 'resourceclaim "card" not found'),
            (made_for, "the ResourceClaim for 'a' from template 'cards' not found"),
        ):
            for _ in range(40):
                with pytest.raises(RetryLater):
                    await engine.ensure_needs(pod)
            with pytest.raises(NotFound, match=message):
                await engine.ensure_needs(pod)
        clusters.nested.put(CLAIM, claim_of())
        await engine.ensure_needs(own)
        assert copy(clusters) is not None
        clusters.nested.put(CLAIM, claim_of("made-a-x7"))
        await engine.ensure_needs(
            made_for | {"status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "made-a-x7"}]}}
        )
        assert copy(clusters, "made-a-x7") is not None

"""DeviceClasses and ResourceClaims between two clusters in memory."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.kube import Forbidden, NotFound, RetryLater, kinds
from nestor.syncer.copies.rows.classes import DeviceClassRow
from nestor.syncer.copies.rows.devices import ResourceClaimRow
from tests.unit.pods.translate.builders import TARGET
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, running

Object = dict[str, Any]

CLAIM, CLASS = kinds.RESOURCE_CLAIM, kinds.DEVICE_CLASS
ROWS = (DeviceClassRow, ResourceClaimRow)
RESULT = {"request": "one", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}


def build(*classes: str) -> Clusters:
    """With a DeviceClass that the policy allows, and one that it does not."""
    clusters = Clusters.build()
    allow(clusters, *(classes or ("gpu",)))
    for name in ("gpu", "hidden"):
        clusters.host.put(CLASS, {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}})
    return clusters


def allow(clusters: Clusters, *classes: str) -> None:
    clusters.allow(devices={"classes": list(classes)})


def claim(name: str = "card", of: str = "gpu") -> Object:
    requests = [{"name": "one", "exactly": {"deviceClassName": of}}]
    return {"metadata": {"name": name, "namespace": SPACE}, "spec": {"devices": {"requests": requests}}}


def copy(clusters: Clusters, name: str = "card") -> Any:
    return clusters.copy(CLAIM, name)


async def test_a_claim_is_allocated_for_the_host_pod_and_says_so_for_the_nested_one() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        clusters.nested.put(CLAIM, claim())
        pod = clusters.add_pod(resourceClaims=[{"name": "a", "resourceClaimName": "card"}])
        await made.settle()
        assert (clusters.nested.look(CLASS, "gpu") or {})["spec"] == {}
        assert clusters.nested.look(CLASS, "hidden") is None
        host = copy(clusters)
        assert host["spec"] == claim()["spec"]
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
    clusters = build()
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, claim(of="hidden"))
        ((reason, told),) = clusters.events
        assert reason == "ClaimRefused"
        assert told == "`spec.devices.requests[0].exactly.deviceClassName` may not be 'hidden': the class allows 'gpu'"
        with pytest.raises(Forbidden, match="ResourceClaim 'card': "):
            await made.engines[1].ensure((SPACE, "card"))
        assert copy(clusters) is None
        allow(clusters, "gpu", "hidden")
        await made.until(lambda: copy(clusters))


async def test_a_class_of_the_tenant_s_own_is_not_the_host_s() -> None:
    clusters = build()
    clusters.nested.put(CLASS, {"metadata": {"name": "gpu"}, "spec": {"own": True}})
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, claim())
        assert clusters.events[0][1].startswith("DeviceClass 'gpu' of this cluster is not the host cluster's")
        clusters.nested.drop(CLASS, "gpu")
        await made.until(lambda: copy(clusters))


async def test_a_stricter_class_takes_no_claim_away() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, claim())
        before = copy(clusters)["metadata"]["uid"]
        allow(clusters)
        await made.put_nested(CLAIM, claim("more"))
        assert copy(clusters)["metadata"]["uid"] == before
        assert clusters.events == [("ClaimRefused", "the class allows no devices (`devices.classes`)")]


async def test_a_successor_waits_until_the_host_has_released_the_devices() -> None:
    clusters = build()
    async with running(clusters, *ROWS) as made:
        await made.put_nested(CLAIM, claim())
    held = copy(clusters)
    held["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    clusters.host.put(CLAIM, held)
    clusters.nested.drop(CLAIM, "card", SPACE)
    nested = clusters.nested.put(CLAIM, claim())
    async with running(clusters, *ROWS) as made:
        with pytest.raises(RetryLater, match="the devices of an earlier claim are being released"):
            await made.engines[1].ensure((SPACE, "card"))
        clusters.host.drop(CLAIM, held["metadata"]["name"], HOST)
        await made.until(lambda: copy(clusters))
        assert copy(clusters)["metadata"]["labels"]["nestor.dev/nested-uid"] == nested["metadata"]["uid"]


async def test_pods_wait_for_their_claims_for_a_moment_and_are_then_told() -> None:
    clusters = build()
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
        clusters.nested.put(CLAIM, claim())
        await engine.ensure_needs(own)
        assert copy(clusters) is not None
        clusters.nested.put(CLAIM, claim("made-a-x7"))
        await engine.ensure_needs(
            made_for | {"status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "made-a-x7"}]}}
        )
        assert copy(clusters, "made-a-x7") is not None

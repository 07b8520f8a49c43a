"""ResourceClaims of nested clusters are allocated by the host, by the DeviceClasses that the class allows.

API servers and controllers are real, and in one test the host's scheduler, too. In the others, functions of this file stand in
for it and write what it would write. No driver of devices runs here, so no pod really starts.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import Kind, kinds
from tests.integration import apiserver
from tests.integration.syncer.pods import build_pod, condition
from tests.integration.syncer.test_storage import is_so, refusals
from tests.integration.syncer.world import NODE, World
from tests.waiting import until

CLAIM, CLASS = kinds.RESOURCE_CLAIM, kinds.DEVICE_CLASS
TEMPLATE = Kind("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate")
FINALIZER = "resource.kubernetes.io/delete-protection"
DRIVER = "gpu.example.com"
REAL = "real.example.com"
"""Of the devices that the host's own scheduler knows of."""


@pytest.fixture
async def classes(world: World) -> AsyncIterator[None]:
    """The host has three DeviceClasses, of which the class allows two."""
    for name, driver in (("gpu", DRIVER), ("hidden", DRIVER), ("real", REAL)):
        parameters = {"opaque": {"driver": driver, "parameters": {"secret": "of-the-host"}}}
        selectors = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
        await world.host.apply(CLASS, {"metadata": {"name": name}, "spec": {"selectors": selectors, "config": [parameters]}})
    await world.allow(devices={"classes": ["gpu", "real"]})
    await is_so(world, world.nested, CLASS, "gpu", None, bool)
    yield
    await world.allow(devices=None)
    await until(
        lambda: world.nested.find(CLASS, "gpu"), lambda found: found is None
    )  # so that the next test does not take it for its own


def wish(of: str = "gpu", **exactly: Any) -> Object:
    """The spec of a claim for one device."""
    return {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": of} | exactly}]}}


def claim(space: str, name: str = "card", **spec: Any) -> Object:
    """A nested claim."""
    return {
        "apiVersion": CLAIM.api_version,
        "kind": CLAIM.name,
        "metadata": {"name": name, "namespace": space},
        "spec": spec or wish(),
    }


def using(name: str = "card", field: str = "resourceClaimName", **content: Any) -> Object:
    """A pod's spec that uses this claim or template."""
    container = {"name": "web", "image": "nginx", "resources": {"claims": [{"name": "device"}]}}
    return {"resourceClaims": [{"name": "device", field: name}], "containers": [container]} | content


async def allocate(world: World, host: Object, *pods: Object) -> None:
    """Stand in for the host's scheduler: a device for this host claim, reserved for these host pods."""
    meta = host["metadata"]
    result = {"request": "one", "driver": DRIVER, "pool": NODE, "device": "gpu-0"}
    parameters = {"source": "FromClass", "opaque": {"driver": DRIVER, "parameters": {"secret": "of-the-host"}}}
    reserved = [{"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]} for pod in pods]
    await world.host.patch(CLAIM, meta["name"], meta["namespace"], {"metadata": {"finalizers": [FINALIZER]}})
    status = {"allocation": {"devices": {"results": [result], "config": [parameters]}}, "reservedFor": reserved}
    await world.host.patch(CLAIM, meta["name"], meta["namespace"], {"status": status}, subresource="status")


def users(found: Object) -> list[str]:
    """The pods that a claim is reserved for."""
    return sorted(item["name"] for item in found.get("status", {}).get("reservedFor") or [])


@pytest.mark.usefixtures("classes")
async def test_a_claim_is_allocated_for_host_pods_and_says_so(world: World, space: str) -> None:
    found = await world.nested.get(CLASS, "gpu")
    assert not found["spec"]
    await world.heard()
    assert await world.nested.find(CLASS, "hidden") is None
    nested_claim = await world.nested.create(CLAIM, claim(space))
    pods = [await world.nested.create(kinds.POD, build_pod(space, name, **using())) for name in ("web", "more")]
    hosts = [await world.host_pod(pod) for pod in pods]
    copy = await world.host_object(CLAIM, "card", space)
    for host in hosts:
        assert host["spec"]["resourceClaims"] == [{"name": "device", "resourceClaimName": copy["metadata"]["name"]}]
        assert host["spec"]["containers"][0]["resources"]["claims"] == [{"name": "device"}]
    await allocate(world, copy, *hosts)
    seen = await is_so(world, world.nested, CLAIM, "card", space, lambda item: users(item) == ["more", "web"])
    assert seen["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
    assert "of-the-host" not in str(seen)

    # A pod goes, then the other one with the claim, which the host keeps as long as it is in use.
    for host in hosts:
        await world.run(host)
    await world.nested.delete(kinds.POD, "more", space, grace_seconds=0)
    await world.finish(hosts[1])
    await is_so(world, world.nested, CLAIM, "card", space, lambda item: users(item) == ["web"])
    await world.nested.delete(CLAIM, "card", space)
    await world.gone(world.nested, CLAIM, nested_claim)
    name = copy["metadata"]["name"]
    await is_so(world, world.host, CLAIM, name, world.namespace, lambda item: item["metadata"].get("deletionTimestamp"))
    successor = await world.nested.create(CLAIM, claim(space))
    await world.nested.delete(kinds.POD, "web", space, grace_seconds=0)
    await world.finish(hosts[0])
    await world.gone(world.host, CLAIM, copy)
    other = await world.host_object(CLAIM, "card", space)
    assert other["metadata"]["labels"]["nestor.dev/nested-uid"] == successor["metadata"]["uid"]
    assert "allocation" not in other.get("status", {})


@pytest.mark.usefixtures("classes")
async def test_the_nested_cluster_makes_claims_from_templates(world: World, space: str) -> None:
    pod = await world.nested.create(kinds.POD, build_pod(space, **using("cards", "resourceClaimTemplateName")))
    seen = await world.nested_pod(pod, lambda item: condition(item, "PodScheduled").get("reason") == "PodRefused")
    assert condition(seen, "PodScheduled")["message"] == "the ResourceClaim for 'device' from template 'cards' not found"
    body = {"apiVersion": TEMPLATE.api_version, "kind": TEMPLATE.name, "metadata": {"name": "cards", "namespace": space}}
    await world.nested.create(TEMPLATE, body | {"spec": {"spec": wish()}})
    host = await world.host_pod(pod)
    (made,) = [item["metadata"]["name"] for item in await world.nested.list(CLAIM, space)]
    assert host["spec"]["resourceClaims"] == [{"name": "device", "resourceClaimName": names.host_name(made, space)}]
    copy = await world.host_object(CLAIM, made, space)
    await allocate(world, copy, host)
    await world.run(host)
    await is_so(world, world.nested, CLAIM, made, space, lambda item: users(item) == ["web"])
    # It goes with its pod.
    await world.nested.delete(kinds.POD, "web", space, grace_seconds=0)
    await world.finish(host)
    await world.gone(world.host, CLAIM, copy)
    await world.heard()
    assert await world.nested.find(CLAIM, made, space) is None


@pytest.mark.usefixtures("classes")
async def test_nobody_gets_a_claim_of_another_namespace_or_admin_access(world: World, space: str) -> None:
    await world.nested.create(CLAIM, claim(space))
    copy = await world.host_object(CLAIM, "card", space)
    other = f"{space}-2"
    labels = {"resource.kubernetes.io/admin-access": "true"}
    await world.nested.create(kinds.NAMESPACE, {"metadata": {"name": other, "labels": labels}})
    await world.eventually(lambda: world.nested.find(kinds.SERVICE_ACCOUNT, "default", other))
    for number, name in enumerate(("card", copy["metadata"]["name"])):
        pod = await world.nested.create(kinds.POD, build_pod(other, f"web-{number}", **using(name)))
        seen = await world.nested_pod(pod, lambda item: condition(item, "PodScheduled").get("reason") == "PodRefused")
        assert condition(seen, "PodScheduled")["message"] == f'resourceclaim "{name}" not found'

    for name, spec in (
        ("admin", wish(adminAccess=True)),
        ("foreign", wish("hidden")),
        ("tolerant", wish(tolerations=[{"operator": "Exists"}])),
        ("odd", wish() | {"devices": wish()["devices"] | {"config": [{"opaque": {"driver": DRIVER, "parameters": {"a": "b"}}}]}}),
    ):
        written = await world.nested.create(CLAIM, claim(other, name, **spec))
        if written["spec"] == wish():
            continue  # the nested API server does not have the field (alpha): nothing of it is there
        (told,) = await refusals(world, other, name)
        assert told.startswith("`spec.devices."), told
        assert "may not be" in told
        await world.heard()
        assert await world.host.find(CLAIM, names.host_name(name, other), world.namespace) is None
        pod = await world.nested.create(kinds.POD, build_pod(other, f"web-{name}", **using(name)))
        seen = await world.nested_pod(pod, lambda item: condition(item, "PodScheduled").get("reason") == "PodRefused")
        assert condition(seen, "PodScheduled")["message"] == f"ResourceClaim '{name}': {told}"


@pytest.mark.usefixtures("classes")
async def test_a_restart_in_the_middle_finds_what_has_happened(world: World, space: str) -> None:
    gone = await world.nested.create(CLAIM, claim(space, "gone"))
    gone_host = await world.host_object(CLAIM, "gone", space)
    await world.nested.create(CLAIM, claim(space))
    copy = await world.host_object(CLAIM, "card", space)
    pod = await world.nested.create(kinds.POD, build_pod(space, **using()))
    host = await world.host_pod(pod)
    await world.stop()
    try:
        await allocate(world, copy, host)
        await world.nested.delete(CLAIM, "gone", space)
        await world.gone(world.nested, CLAIM, gone)
        await world.nested.create(CLAIM, claim(space, "late"))
    finally:
        await world.start()
    await is_so(world, world.nested, CLAIM, "card", space, lambda item: users(item) == ["web"])
    await world.host_object(CLAIM, "late", space)
    await world.gone(world.host, CLAIM, gone_host)


@pytest.fixture
def scheduler(control_plane: apiserver.ControlPlane) -> Iterator[str]:
    """The host's own scheduler, for the pods that name it, while the tests play the default one."""
    with control_plane.scheduling("devices"):
        yield "devices"


@pytest.mark.slow
@pytest.mark.usefixtures("classes")
async def test_the_host_s_scheduler_allocates_what_there_is(world: World, space: str, scheduler: str) -> None:
    slices = Kind("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": REAL, "nodeName": NODE, "pool": pool, "devices": [{"name": "gpu-7"}]}
    await world.host.apply(slices, {"metadata": {"name": space}, "spec": spec})
    await world.allow(placement={"schedulers": [scheduler]})
    body = {"apiVersion": TEMPLATE.api_version, "kind": TEMPLATE.name, "metadata": {"name": "cards", "namespace": space}}
    await world.nested.create(TEMPLATE, body | {"spec": {"spec": wish("real")}})
    try:
        first = await world.nested.create(kinds.POD, build_pod(space, **using("cards", "resourceClaimTemplateName")))
        host = await world.host_pod(first)
        assert host["spec"]["schedulerName"] == scheduler

        async def find_node() -> str | None:
            found: str | None = (await world.nested.get(kinds.POD, "web", space))["spec"].get("nodeName")
            return found

        assert await world.eventually(find_node) == NODE  # the scheduler has to start first
        (made,) = [item["metadata"]["name"] for item in await world.nested.list(CLAIM, space)]
        found = await is_so(world, world.nested, CLAIM, made, space, lambda item: users(item) == ["web"])
        assert [item["device"] for item in found["status"]["allocation"]["devices"]["results"]] == ["gpu-7"]
        assert "of-the-host" not in str(found)
        # A second one has to wait for the only device, and gets it when the first pod has gone.
        second = await world.nested.create(kinds.POD, build_pod(space, "next", **using("cards", "resourceClaimTemplateName")))
        waiting = await world.nested_pod(second, lambda item: "claims" in condition(item, "PodScheduled").get("message", ""))
        assert "cannot allocate all claims" in condition(waiting, "PodScheduled")["message"]
        await world.nested.delete(kinds.POD, "web", space, grace_seconds=0)
        await world.finish(host)
        await world.nested_pod(second, lambda item: item["spec"].get("nodeName"))
    finally:
        await world.allow(placement=None)
        await world.host.delete(slices, space)

"""Services carry traffic inside the nested cluster, and lead nowhere else."""

import json
from pathlib import Path

import pytest

from nestor.api import names
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.e2e.attack_script import is_refusal
from tests.e2e.conftest import kubectl
from tests.e2e.services import Inside
from tests.waiting import eventually, until, wait_for

pytestmark = pytest.mark.xdist_group("house")


async def test_the_first_services_of_a_job_have_addresses_that_are_free_on_both_sides(inside: Inside, kubeconfig: Path) -> None:
    """They are made by a step, as soon as the API server is there."""
    # From within the pod: nobody else reaches this port.
    read = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8081/metrics').read().decode())"
    pod = ("-n", inside.home, "house-k3s-0", "-c", "syncer")
    lines = (await kubectl(kubeconfig, "exec", *pod, "--", "python3", "-c", read)).splitlines()
    counters = {name: float(number) for name, _, number in (line.partition(" ") for line in lines) if "_service" in name}
    print(counters)
    assert counters["nestor_syncer_service_addresses_reserved_total"] > 0


async def test_a_cluster_ip_is_the_same_on_both_sides_and_keeps_a_client_at_its_pod(inside: Inside, api: Api) -> None:
    nested = await inside.get("service", "sticky")
    host = await api.get(kinds.SERVICE, names.host_name("sticky", "default"), inside.home)
    assert host["spec"]["clusterIPs"] == nested["spec"]["clusterIPs"]
    first = await inside.reach("sticky.default")
    pages = await inside.shell("for i in $(seq 12); do timeout 3 wget -q -O - http://sticky.default/; done")
    assert pages.split() == [first] * 12
    assert first in ("web-0", "web-1")


async def test_the_name_of_a_headless_service_stands_for_its_pods(inside: Inside) -> None:
    addresses = {(await inside.get("pod", name))["status"]["podIP"]: name for name in ("web-0", "web-1")}

    async def resolved() -> bool:
        text = await inside.shell("nslookup each.default.svc.cluster.local || true")
        return all(address in text for address in addresses)

    await eventually(resolved)
    assert await inside.reach("web-1.each.default.svc.cluster.local:8080") == "web-1"


async def test_udp_is_carried(inside: Inside) -> None:
    address = (await inside.get("service", "udp"))["spec"]["clusterIP"]
    await until(lambda: inside.shell(f"nslookup answer.example {address} 2>&1 || true"), lambda said: "192.0.2.7" in said)


async def test_endpoints_of_users_own_reach_own_pods_and_nothing_else(inside: Inside, api: Api) -> None:
    own = (await inside.get("pod", "web-1"))["status"]["podIP"]
    (foreign, *_) = [
        address
        for found in await api.list(kinds.ENDPOINT_SLICE, "default")
        for endpoint in found["endpoints"]
        for address in endpoint["addresses"]
    ]

    def build(name: str, address: str, port: int) -> Object:
        labels = {"kubernetes.io/service-name": name}
        meta = {"name": f"{name}-1", "namespace": "default", "labels": labels}
        slices: Object = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": meta, "addressType": "IPv4"}
        return slices | {"endpoints": [{"addresses": [address]}], "ports": [{"port": port}]}

    for body in (build("manual", own, 8080), build("forged", foreign, 6443)):
        await kubectl(inside.kubeconfig, "apply", "-f", "-", stdin=json.dumps(body))
    assert await inside.reach("manual.default") == "web-1"
    # It was made after the other one, and may be carried after it.
    there = await wait_for(api, kinds.ENDPOINT_SLICE, names.host_name("forged-1", "default"), inside.home, bool)
    assert there is not None
    assert not there["endpoints"]

    async def told() -> bool:
        events = await kubectl(inside.kubeconfig, "get", "events", "--field-selector=reason=EndpointsIgnored")
        return foreign in events and "services.endpointRanges" in events

    await eventually(told)
    # It has no endpoints: that is an answer, while silence would be none.
    assert is_refusal(await inside.shell("timeout 10 wget -q -O - http://forged.default/ 2>&1 || true"))

"""What a class allows the pods of its jobs beyond their containers, on real nodes: host names, priorities, disruption budgets."""

import json
from collections.abc import AsyncIterator

import pytest

from nestor.api import names
from nestor.api.objects import Object, status_of
from nestor.kube import Api, ApiError, kinds
from tests.e2e.conftest import kubectl
from tests.e2e.house import House, Room
from tests.waiting import eventually

pytestmark = pytest.mark.xdist_group("house")

BUDGET = kinds.POD_DISRUPTION_BUDGET
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: pods, labels: {{app: web}}}}
spec:
  terminationGracePeriodSeconds: 1
  priorityClassName: {priority}
  {fields}
  containers:
  - name: main
    image: docker.io/library/busybox:1.35
    command: [sleep, "3600"]
---
"""
REST = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: pods}
spec:
  minAvailable: 2
  selector: {matchLabels: {app: web}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: pods}
spec:
  defaultBackend: {service: {name: web, port: {number: 80}}}
"""


@pytest.fixture
async def room(house: House) -> AsyncIterator[Room]:
    """A namespace of a cluster whose class allows all of it."""
    await kubectl(house.kubeconfig, "wait", "--for=create", f"priorityclass/{house.class_name}")
    async with house.room("pods") as made:
        yield made


async def test_names_priorities_and_budgets_hold_on_the_host(api: Api, house: House, room: Room) -> None:
    fields = "hostname: db-0\n  subdomain: db\n  setHostnameAsFQDN: true"
    written = (("db", fields), ("web.1", "restartPolicy: Never"))
    pods = "".join(POD.format(name=name, fields=fields, priority=house.class_name) for name, fields in written)
    await room.kubectl("apply", "-f", "-", stdin=pods + REST)
    await room.kubectl("wait", "--for=condition=Ready", "pod/db", "pod/web.1")

    assert (await room.kubectl("exec", "db", "--", "hostname")).strip() == "db-0.db.pods.svc.cluster.local"
    assert (await room.kubectl("exec", "web.1", "--", "hostname")).strip() == "web.1"
    hosts = [await api.get(kinds.POD, names.host_name(name, room.name), house.home) for name in ("db", "web.1")]
    assert [(pod["spec"]["priorityClassName"], pod["spec"]["priority"]) for pod in hosts] == [(house.class_name, 100)] * 2

    async def read_told() -> list[str]:
        """The syncer does not say it before pods run, but beside them."""
        told = json.loads(await room.kubectl("get", "events", "--field-selector=reason=NotCarried", "-o", "json"))["items"]
        return [item["involvedObject"]["kind"] for item in told]

    assert await eventually(read_told) == ["Ingress"]

    await budget_says(api, house.home, allowed=0)
    with pytest.raises(ApiError, match="violate the pod's disruption budget"):
        await evict(api, hosts[1])
    await room.kubectl("patch", "pdb", "web", "--type=merge", "-p", '{"spec": {"minAvailable": 1}}')
    await budget_says(api, house.home, allowed=1)
    await evict(api, hosts[1])
    await room.kubectl("wait", "--for=delete", "pod/web.1")
    await budget_says(api, house.home, allowed=0)


async def budget_says(api: Api, home: str, *, allowed: int) -> None:
    """Wait until the host's controller lets so many pods go."""

    async def look() -> bool:
        found = await api.find(BUDGET, names.host_name("web", "pods"), home)
        status = status_of(found)
        is_fresh = found is not None and status.get("observedGeneration") == found["metadata"]["generation"]
        return is_fresh and status["currentHealthy"] > 0 and status["disruptionsAllowed"] == allowed

    await eventually(look)


async def evict(api: Api, host: Object) -> None:
    """As a drain does."""
    meta = {key: host["metadata"][key] for key in ("name", "namespace")}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    await api.create(kinds.POD, body, subresource="eviction", name=meta["name"])

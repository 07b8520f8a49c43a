"""What a class allows the pods of its jobs beyond their containers, on real nodes: host names, priorities, disruption budgets."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nestor import names
from nestor.api import conditions
from nestor.kube import Api, ApiError, kinds
from nestor.objects import Object, status_of
from tests.e2e.conftest import NOTHING, apply, inline_job, kubectl, nested_kubeconfig
from tests.waiting import eventually, job_with

BUDGET = kinds.POD_DISRUPTION_BUDGET
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: default, labels: {{app: web}}}}
spec:
  terminationGracePeriodSeconds: 1
  priorityClassName: low
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
metadata: {name: web, namespace: default}
spec:
  minAvailable: 2
  selector: {matchLabels: {app: web}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: default}
spec:
  defaultBackend: {service: {name: web, port: {number: 80}}}
"""


@pytest.fixture
async def open_class(api: Api) -> AsyncIterator[str]:
    """A class whose pods may have a priority, and whose budgets hold when nodes are drained."""
    name = f"open-{uuid.uuid4().hex[:6]}"
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 100}
    await api.create(kinds.PRIORITY_CLASS, priority)
    spec: Object = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
    allowed = {"allowed": [{"name": "low", "hostName": name}]}
    placement = {"disruptionBudgets": True, "priorityClasses": allowed}
    await api.apply(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": spec | {"placement": placement}})
    yield name
    await api.delete(kinds.NESTED_CLASS, name)
    await api.delete(kinds.PRIORITY_CLASS, name)


async def test_names_priorities_and_budgets_hold_on_the_host(api: Api, namespace: str, open_class: str, tmp_path: Path) -> None:
    documents = inline_job("pods", namespace, {"nothing.yaml": NOTHING})
    documents[-1]["spec"]["className"] = open_class
    await apply(api, documents)
    job = await job_with(api, "pods", namespace, conditions.CLUSTER_READY, "True")
    inside, home = await nested_kubeconfig(api, job, tmp_path), job["status"]["namespace"]
    for name in ("serviceaccount/default", "priorityclass/low"):  # one by one: kubectl gives up when two are missing
        await kubectl(inside, "wait", "--for=create", name, "--timeout=60s", limit=90)
    fields = "hostname: db-0\n  subdomain: db\n  setHostnameAsFQDN: true"
    pods = POD.format(name="db", fields=fields) + POD.format(name="web.1", fields="restartPolicy: Never")
    await kubectl(inside, "apply", "-f", "-", stdin=pods + REST)
    await kubectl(inside, "wait", "--for=condition=Ready", "pod/db", "pod/web.1", "--timeout=60s", limit=90)

    assert (await kubectl(inside, "exec", "db", "--", "hostname")).strip() == "db-0.db.default.svc.cluster.local"
    assert (await kubectl(inside, "exec", "web.1", "--", "hostname")).strip() == "web.1"
    hosts = [await api.get(kinds.POD, names.host_name(name, "default"), home) for name in ("db", "web.1")]
    assert [(pod["spec"]["priorityClassName"], pod["spec"]["priority"]) for pod in hosts] == [(open_class, 100)] * 2

    async def read_told() -> list[str]:
        """The syncer does not say it before pods run, but beside them."""
        told = json.loads(await kubectl(inside, "get", "events", "--field-selector=reason=NotCarried", "-o", "json"))["items"]
        return [item["involvedObject"]["kind"] for item in told]

    assert await eventually(read_told, limit=60) == ["Ingress"]

    await budget_says(api, home, allowed=0)
    with pytest.raises(ApiError, match="violate the pod's disruption budget"):
        await evict(api, hosts[1])
    await kubectl(inside, "patch", "pdb", "web", "--type=merge", "-p", '{"spec": {"minAvailable": 1}}')
    await budget_says(api, home, allowed=1)
    await evict(api, hosts[1])
    await kubectl(inside, "wait", "--for=delete", "pod/web.1", "--timeout=60s", limit=90)
    await budget_says(api, home, allowed=0)


async def budget_says(api: Api, home: str, *, allowed: int) -> None:
    """Wait until the host's controller lets so many pods go."""

    async def look() -> bool:
        found = await api.find(BUDGET, names.host_name("web", "default"), home)
        status = status_of(found)
        is_fresh = found is not None and status.get("observedGeneration") == found["metadata"]["generation"]
        return is_fresh and status["currentHealthy"] > 0 and status["disruptionsAllowed"] == allowed

    await eventually(look, limit=60)


async def evict(api: Api, host: Object) -> None:
    """As a drain does."""
    meta = {key: host["metadata"][key] for key in ("name", "namespace")}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    await api.create(kinds.POD, body, subresource="eviction", name=meta["name"])

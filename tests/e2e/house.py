"""A nested cluster for tests of several files, which one worker runs, so that each does not start its own: a cluster costs about
12 s of processor time. Each file has a namespace in it. The conftest makes the fixtures known.
"""

import contextlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nestor.api import conditions
from nestor.kube import Api, kinds
from tests.e2e.conftest import apply, apply_class, fresh_namespace, inline_job, kubectl, nested_kubeconfig
from tests.waiting import job_with

SERVICES = """
apiVersion: v1
kind: Service
metadata: {name: each, namespace: default}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: sticky, namespace: default}
spec: {sessionAffinity: ClientIP, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: default}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: one, namespace: default}
spec: {type: NodePort, selector: {statefulset.kubernetes.io/pod-name: web-0}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: udp, namespace: default}
spec: {selector: {app: names}, ports: [{port: 53, targetPort: 1053, protocol: UDP}]}
---
apiVersion: v1
kind: Service
metadata: {name: manual, namespace: default}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: forged, namespace: default}
spec: {ports: [{port: 80}]}
"""


@dataclass
class Room:
    """A namespace of the cluster."""

    kubeconfig: Path
    name: str

    async def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl in it."""
        return await kubectl(self.kubeconfig, "-n", self.name, *arguments, stdin=stdin)


@dataclass
class House:
    """The cluster, whose class allows what its tests need."""

    kubeconfig: Path
    home: str
    """The job's namespace in the host cluster."""
    class_name: str
    """No other job has this class; its PriorityClass of the host has the same name."""

    @contextlib.asynccontextmanager
    async def room(self, name: str) -> AsyncIterator[Room]:
        """A fresh namespace of this name, in which pods can be made at once."""
        room = Room(self.kubeconfig, name)
        await room.kubectl("create", "namespace", name)
        await room.kubectl("wait", "--for=create", "serviceaccount/default")
        yield room
        await room.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
async def house_class(api: Api) -> AsyncIterator[str]:
    """A class whose jobs may have node ports, priorities, and disruption budgets that hold when nodes are drained."""
    name = f"house-{uuid.uuid4().hex[:6]}"
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 100}
    await api.create(kinds.PRIORITY_CLASS, priority)
    placement = {"disruptionBudgets": True, "priorityClasses": {"allowed": [name]}}
    await apply_class(api, name, services={"nodePorts": True}, placement=placement)
    yield name
    await api.delete(kinds.NESTED_CLASS, name)
    await api.delete(kinds.PRIORITY_CLASS, name)


@pytest.fixture(scope="session")
async def house(
    api: Api, used_namespaces: list[str], house_class: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """The cluster. A step makes its Services, as soon as the API server is there: that is a test of `services`."""
    async with fresh_namespace(api, used_namespaces) as namespace:
        documents = inline_job("house", namespace, {"services.yaml": SERVICES})
        documents[-1]["spec"]["className"] = house_class
        await apply(api, documents)
        await job_with(api, "house", namespace, conditions.STEPS_APPLIED, "True")
        job = await job_with(api, "house", namespace, conditions.CLUSTER_READY, "True")
        kubeconfig = await nested_kubeconfig(api, job, tmp_path_factory.mktemp("house"))
        await kubectl(kubeconfig, "wait", "--for=create", "serviceaccount/default")
        yield House(kubeconfig, job["status"]["namespace"], house_class)

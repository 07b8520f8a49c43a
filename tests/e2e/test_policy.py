"""What a class allows the pods of its jobs: Pod Security, live."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nestor.api import conditions
from nestor.kube import Api, kinds
from nestor.objects import Object, status_of
from tests.e2e.conftest import apply, inline_job, kubectl, nested_kubeconfig
from tests.waiting import eventually, job_with, wait_for_any

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: default}}
spec:
  hostPID: true
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: docker.io/library/busybox:1.35
    command: [sleep, "3600"]
    securityContext: {{privileged: true}}
    volumeMounts: [{{name: node, mountPath: /node}}]
  volumes:
  - name: node
    hostPath: {{path: /}}
"""
NOTHING = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nothing, namespace: default}\n"


@pytest.fixture
async def privileged_class(api: Api) -> AsyncIterator[str]:
    """A class whose jobs may have privileged pods."""
    spec: Object = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
    name = f"privileged-{uuid.uuid4().hex[:6]}"
    home = spec.get("namespace", {}) | {"podSecurity": "Privileged"}
    await api.apply(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": spec | {"namespace": home}})
    yield name
    await api.delete(kinds.NESTED_CLASS, name)


async def test_privileged_pods_run_where_the_class_allows_them_and_only_while_it_does(
    api: Api, namespace: str, privileged_class: str, tmp_path: Path
) -> None:
    documents = inline_job("node-tools", namespace, {"nothing.yaml": NOTHING})
    documents[-1]["spec"]["className"] = privileged_class
    await apply(api, documents)
    job = await job_with(api, "node-tools", namespace, conditions.STEPS_APPLIED, "True")
    await job_with(api, "node-tools", namespace, conditions.CLUSTER_READY, "True")
    inside, home = await nested_kubeconfig(api, job, tmp_path), job["status"]["namespace"]

    await kubectl(inside, "wait", "--for=create", "serviceaccount/default", "--timeout=60s", limit=90)
    await kubectl(inside, "apply", "-f", "-", stdin=POD.format(name="first"))
    await kubectl(inside, "wait", "--for=condition=Ready", "pod/first", "--timeout=60s", limit=90)
    assert "kubelet" in await kubectl(inside, "exec", "first", "--", "ps")
    assert "proc" in await kubectl(inside, "exec", "first", "--", "ls", "/node")

    change = {"spec": {"namespace": {"podSecurity": "Baseline"}}}
    await api.patch(kinds.NESTED_CLASS, privileged_class, None, change)
    await wait_for_any(
        api, kinds.NESTED_CLUSTER, home, lambda item: status_of(item).get("policy", {}).get("podSecurity") == "Baseline"
    )
    await kubectl(inside, "apply", "-f", "-", stdin=POD.format(name="second"))

    async def look() -> str | None:
        events = await kubectl(inside, "get", "events", "--field-selector=involvedObject.name=second,reason=PodRefused")
        return events if "spec.hostPID" in events else None

    assert "hostPath" in await eventually(look)
    assert "Running" in await kubectl(inside, "get", "pod", "first")
    assert "Pending" in await kubectl(inside, "get", "pod", "second")

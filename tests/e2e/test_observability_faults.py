"""Faults made for real: `kubectl describe naj` alone tells cause, place and next step of each. Nothing else is looked at.

Those of a nested cluster follow one another in the same job, which is corrected each time into the next fault.
"""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster.demo.tools import find_tool
from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests import refusals
from tests.describing import Fault, find_unexplained
from tests.e2e.conftest import NOTHING, Object, apply, image, inline_job, nested_kubeconfig
from tests.waiting import job_with, wait_for, wait_for_any

TARGET = {"service_name": "web", "service_port": 8080, "service_namespace": "default"}
PARAMETER = {"name": "Replicas", "type": "INT", "min": 1, "max": 9, "required": True}
STEPS, PODS = "steps", "pods"
"""The jobs whose faults follow one another."""


@dataclass
class Site:
    """Where faults are made: a user's namespace, and a class with room for one job."""

    api: Api
    namespace: str
    small: str
    domain: str
    folder: Path

    async def run(self, name: str, step: Object | None = None, targets: Sequence[Object] = (), **spec: Any) -> Object:
        """Apply a job with this step. Its templates are always the same: it keeps those that it has started with."""
        steps = [step or build_step("nothing")]
        return await self.apply(inline_job(name, self.namespace, TEMPLATES, steps, targets=list(targets)), **spec)

    async def apply(self, documents: list[Object], **spec: Any) -> Object:
        """Apply a job's documents."""
        documents[-1]["spec"] |= spec
        return await apply(self.api, documents)

    async def find_home(self, job: Object) -> str:
        """The namespace of the job's own."""
        uid = labels.selector(job_uid=job["metadata"]["uid"])
        found = await wait_for_any(self.api, kinds.NAMESPACE, "", lambda _: True, labels=uid)
        return str(found["metadata"]["name"])


def build_step(name: str) -> Object:
    """One that applies the template of its name."""
    return {"name": name, "type": "kubectl", "path": f"{name}.yaml"}


def build_web(**container: Any) -> str:
    """A Service, and a Deployment of a pod with this container."""
    spec = {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", **container}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    deployment = {"strategy": {"type": "Recreate"}, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    service = {"selector": {"app": "web"}, "ports": [{"port": 8080}]}
    items = [
        {"apiVersion": version, "kind": kind, "metadata": {"name": "web", "namespace": "default"}, "spec": spec}
        for version, kind, spec in (("apps/v1", "Deployment", deployment), ("v1", "Service", service))
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


TEMPLATES = {
    "nothing.yaml": NOTHING,
    "bad.yaml": "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: x}\n",
    "orphan.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: orphan, namespace: default}\n",
    "pull.yaml": build_web(image=image("no-such-image:1")),
    "room.yaml": build_web(image="docker.io/library/busybox:1.35", resources={"requests": {"cpu": "1000"}}),
}


def build_pod(name: str, namespace: str) -> Object:
    """A pod to ask the API server about."""
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def miss_class(site: Site) -> None:
    await site.run("class", className="gold")


async def miss_parameter(site: Site) -> None:
    documents = inline_job("parameter", site.namespace, {"nothing.yaml": NOTHING})
    documents[-1]["spec"]["app"]["appDef"]["commands"]["Run"]["parameters"] = {"REPLICAS": PARAMETER}
    await site.apply(documents, parameters={"REPLICAS": 12})


async def fill_queue(site: Site) -> None:
    await job_with(site.api, STEPS, site.namespace, conditions.ADMITTED, "True")
    await site.run("queue", className=site.small)


async def exceed_quota(site: Site) -> None:
    home, name = await site.find_home(await site.run("quota")), "quota-k3s-0"
    await wait_for(site.api, kinds.POD, name, home, bool)
    await site.api.create(
        kinds.RESOURCE_QUOTA, {"metadata": {"name": "admins", "namespace": home}, "spec": {"hard": {"count/pods": "0"}}}
    )
    await refusals.until_refused(site.api, kinds.POD, build_pod("another", home), "exceeded quota: admins")
    await site.api.delete(kinds.POD, name, home, grace_seconds=0)


async def refuse_on_host(site: Site) -> None:
    body = build_pod("policy-k3s-0", site.namespace)
    await refusals.refuse(site.api, site.small, kinds.POD, body, "images must be signed")
    await site.run("policy")


async def take_host(site: Site) -> None:
    backend = {"service": {"name": "portal", "port": {"number": 80}}}
    host = f"host-{site.namespace}.{site.domain}"
    rule = {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    default = await site.api.get(kinds.NESTED_CLASS, "default")
    spec = {"ingressClassName": default["spec"]["expose"].get("ingressClassName"), "rules": [rule]}
    await site.api.create(kinds.INGRESS, {"metadata": {"name": "portal", "namespace": site.namespace}, "spec": spec})
    await site.run("host", targets=[TARGET])


async def pass_deadline(site: Site) -> None:
    await site.run("deadline", activeDeadlineSeconds=1)


async def break_template(site: Site) -> None:
    await site.run(STEPS, build_step("bad"), className=site.small)


async def exceed_time(site: Site) -> None:
    script = base64.b64encode(b"#!/bin/sh\nexec sleep 600\n").decode()
    step = {"name": "long", "type": "custom", "cmd": script, "timeout_seconds": 1}
    await site.run(STEPS, step, className=site.small)


async def be_refused_inside(site: Site) -> None:
    job = await site.api.get(kinds.NESTED_APP_JOB, STEPS, site.namespace)
    meta = {"name": "orphan", "namespace": "default"}
    async with await Api.connect(str(await nested_kubeconfig(site.api, job, site.folder))) as inside:
        await refusals.refuse(inside, "policy.example.com", kinds.CONFIG_MAP, {"metadata": meta}, "no team label")
    await site.run(STEPS, build_step("orphan"), className=site.small)


async def miss_service(site: Site) -> None:
    await site.run(PODS, targets=[TARGET])
    await job_with(site.api, PODS, site.namespace, conditions.STEPS_APPLIED, "True")


async def pull_nothing(site: Site) -> None:
    await site.run(PODS, build_step("pull"), [TARGET])


async def want_too_much(site: Site) -> None:
    await site.run(PODS, build_step("room"), [TARGET])


APART: tuple[Fault[Site], ...] = (
    Fault("class", miss_class, "ClassNotFound", "no NestedClass named 'gold'", "available: ", "existing class", "ClassNotFound"),
    Fault(
        "parameter",
        miss_parameter,
        "ParametersInvalid",
        "REPLICAS",
        "parameters",
        "correct `spec.parameters`",
        "ParametersInvalid",
    ),
    Fault("queue", fill_queue, "Queued", "1 job runs, and 1 may", "class 'small-", "raise the limits of the class's `queue`"),
    Fault("quota", exceed_quota, "ProvisioningFailed", "exceeded quota: admins", "pod 'quota-k3s-0'", "an admin can change"),
    Fault("policy", refuse_on_host, "ProvisioningFailed", "images must be signed", "pod 'policy-k3s-0'", "an admin can change"),
    Fault("host", take_host, "HostnameConflict", "taken by Ingress 'portal'", "host 'host-", "expose.host", "HostnameConflict"),
    Fault(
        "deadline",
        pass_deadline,
        "DeadlineExceeded",
        "longer than its `activeDeadlineSeconds` of 1 s",
        "Completion Time",
        "create it again with a larger",
        "DeadlineExceeded",
    ),
)
"""Each with a job of its own."""
FAILED = "StepFailed"
IN_STEPS: tuple[Fault[Site], ...] = (
    Fault("template", break_template, FAILED, "no matches for kind", "step 1 of 1 'bad'", "correct the template", FAILED),
    Fault("slow", exceed_time, FAILED, "timed out after 1 s", "step 1 of 1 'long'", "correct the template", FAILED),
    Fault("refused", be_refused_inside, FAILED, "no team label", "step 1 of 1 'orphan'", "correct the template", FAILED),
)
WAITING = "NoReadyEndpoint"
IN_PODS: tuple[Fault[Site], ...] = (
    Fault("service", miss_service, "TargetNotFound", "no Service named 'web'", "namespace 'default'", "must name a Service"),
    Fault("pull", pull_nothing, WAITING, "no-such-image:1", "pod 'web-", "look at the Service's pods"),
    Fault("room", want_too_much, WAITING, "Insufficient cpu", "pod 'web-", "look at the Service's pods"),
)


async def test_describe_alone_explains_faults_of_a_real_cluster(
    api: Api, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    default = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
    site = Site(api, namespace, f"small-{uuid.uuid4().hex[:6]}", default["expose"]["domain"], tmp_path)
    await api.apply(kinds.NESTED_CLASS, {"metadata": {"name": site.small}, "spec": default | {"queue": {"maxRunningJobs": 1}}})

    async def read(*faults: Fault[Site], job: str = "") -> list[str]:
        for fault in faults:
            await fault.make(site)
        return await find_unexplained(api, find_tool("kubectl"), kubeconfig, namespace, faults, job=job)

    async def read_in_turn(job: str, faults: Sequence[Fault[Site]]) -> list[str]:
        return [problem for fault in faults for problem in await read(fault, job=job)]

    try:
        async with asyncio.TaskGroup() as group:
            parts = (read(*APART), read_in_turn(STEPS, IN_STEPS), read_in_turn(PODS, IN_PODS))
            tasks = [group.create_task(part) for part in parts]
        assert [problem for task in tasks for problem in task.result()] == []
    finally:
        await refusals.allow(api, site.small)
        await api.delete(kinds.NESTED_CLASS, site.small)

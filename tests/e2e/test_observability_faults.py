"""Faults made for real: `kubectl describe naj` alone tells cause, place and next step of each. Nothing else is looked at.

Those of a nested cluster follow one another in the same job, which is corrected each time into the next fault.
"""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster.demo.tools import find_tool
from nestor.api import conditions
from nestor.kube import Api, kinds
from tests import refusals
from tests.describing import Fault, find_unexplained
from tests.e2e.conftest import NOTHING, Object, apply, dump, image, inline_job, nested_kubeconfig
from tests.waiting import job_with

TARGET = {"service_name": "web", "service_port": 8080, "service_namespace": "default"}
STEPS, PODS = "steps", "pods"
"""The jobs whose faults follow one another."""


@dataclass
class Site:
    """Where faults are made: a user's namespace."""

    api: Api
    namespace: str
    folder: Path

    async def run(self, name: str, step: Object | None = None, targets: Sequence[Object] = (), **spec: Any) -> Object:
        """Apply a job with this step. Its templates are always the same: it keeps those that it has started with."""
        steps = [step or build_step("nothing")]
        return await self.apply(inline_job(name, self.namespace, TEMPLATES, steps, targets=list(targets)), **spec)

    async def apply(self, documents: list[Object], **spec: Any) -> Object:
        """Apply a job's documents."""
        documents[-1]["spec"] |= spec
        return await apply(self.api, documents)


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
    return dump(*items)


TEMPLATES = {
    "nothing.yaml": NOTHING,
    "bad.yaml": "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: x}\n",
    "orphan.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: orphan, namespace: default}\n",
    "pull.yaml": build_web(image=image("no-such-image:1")),
    "room.yaml": build_web(image="docker.io/library/busybox:1.35", resources={"requests": {"cpu": "1000"}}),
}


async def break_template(site: Site) -> None:
    await site.run(STEPS, build_step("bad"))


async def exceed_time(site: Site) -> None:
    script = base64.b64encode(b"#!/bin/sh\nexec sleep 600\n").decode()
    step = {"name": "long", "type": "custom", "cmd": script, "timeout_seconds": 1}
    await site.run(STEPS, step)


async def be_refused_inside(site: Site) -> None:
    job = await site.api.get(kinds.NESTED_APP_JOB, STEPS, site.namespace)
    meta = {"name": "orphan", "namespace": "default"}
    async with await Api.connect(str(await nested_kubeconfig(site.api, job, site.folder))) as inside:
        await refusals.refuse(inside, "policy.example.com", kinds.CONFIG_MAP, {"metadata": meta}, "no team label")
    await site.run(STEPS, build_step("orphan"))


async def miss_service(site: Site) -> None:
    await site.run(PODS, targets=[TARGET])
    await job_with(site.api, PODS, site.namespace, conditions.STEPS_APPLIED, "True")


async def pull_nothing(site: Site) -> None:
    await site.run(PODS, build_step("pull"), [TARGET])


async def want_too_much(site: Site) -> None:
    await site.run(PODS, build_step("room"), [TARGET])


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
    site = Site(api, namespace, tmp_path)

    async def read(fault: Fault[Site], job: str) -> list[str]:
        await fault.make(site)
        return await find_unexplained(api, find_tool("kubectl"), kubeconfig, namespace, [fault], job=job)

    async def read_in_turn(job: str, faults: Sequence[Fault[Site]]) -> list[str]:
        return [problem for fault in faults for problem in await read(fault, job)]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read_in_turn(*part)) for part in ((STEPS, IN_STEPS), (PODS, IN_PODS))]
    assert [problem for task in tasks for problem in task.result()] == []

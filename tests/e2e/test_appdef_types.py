"""Every type of template step, from an app image or without one, to what it leaves in the nested cluster."""

import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.e2e.conftest import Web, apply, class_like_default, example, inline_job, kubectl, nested_kubeconfig
from tests.waiting import has, job_with, wait_for

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fetched, namespace: default}\ndata: {by: url}\n"


async def failed(api: Api, job: Object) -> Object:
    """Await that a step of the job, as it is applied now, has failed."""
    meta = job["metadata"]
    return await job_with(
        api,
        meta["name"],
        meta["namespace"],
        conditions.STEPS_APPLIED,
        "False",
        conditions.STEP_FAILED,
        generation=meta["generation"],
    )


async def logs_of_runner(cluster: Path, job: Object) -> str:
    """The log of the job's runner."""
    return await kubectl(cluster, "logs", "-n", job["status"]["namespace"], f"{job['metadata']['name']}-run")


async def test_a_kustomize_overlay(api: Api, namespace: str, web: Web, tmp_path: Path) -> None:
    await apply(api, example("03-kustomize", "overlay", namespace))
    job = await job_with(api, "overlay", namespace, conditions.READY, "True")
    assert "Hello from the production overlay" in await web.page(job["status"]["url"])
    inside = await nested_kubeconfig(api, job, tmp_path)
    assert await kubectl(inside, "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}") == "2"


async def test_a_script_that_installs_a_chart_and_waits_for_it(api: Api, namespace: str, web: Web, tmp_path: Path) -> None:
    await apply(api, example("04-helm-script", "chart", namespace))
    # `--wait` is the script's: when the step is done, so is the chart.
    job = await job_with(api, "chart", namespace, conditions.STEPS_APPLIED, "True")
    inside = await nested_kubeconfig(api, job, tmp_path)
    assert await kubectl(inside, "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}") == "1"
    job = await job_with(api, "chart", namespace, conditions.READY, "True")
    assert "Hello from a script with helm" in await web.page(job["status"]["url"])


@pytest.mark.long
async def test_four_types_with_parameters_and_a_change_of_one(
    api: Api, namespace: str, web: Web, tmp_path: Path, kubeconfig: Path
) -> None:
    await apply(api, example("07-four-types", "four", namespace))
    job = await job_with(api, "four", namespace, conditions.READY, "True")
    assert [(step["type"], step["state"]) for step in job["status"]["steps"]] == [
        ("kubectl", "Succeeded"),
        ("custom", "Succeeded"),
        ("kustomize", "Succeeded"),
        ("helm", "Succeeded"),
    ]
    text = await web.page(job["status"]["url"])
    assert "Hello from the job" in text
    inside = await nested_kubeconfig(api, job, tmp_path)
    assert await kubectl(inside, "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}") == "2"
    log = await logs_of_runner(kubeconfig, job)
    assert "[database] " in log
    assert "[seed] " in log
    assert "[web-servers] " in log

    # REPLICAS is rendered into the last step alone, so that is what runs again.
    before = {step["name"]: step for step in job["status"]["steps"]}
    await api.patch(kinds.NESTED_APP_JOB, "four", namespace, {"spec": {"parameters": {"REPLICAS": 3}}})

    def is_applied_anew(item: Object | None) -> bool:
        steps = {step["name"]: step for step in (item or {}).get("status", {}).get("steps", ())}
        again = steps.get("web-servers", {})
        return bool(again) and again["state"] == "Succeeded" and again.get("hash") != before["web-servers"]["hash"]

    changed = await wait_for(api, kinds.NESTED_APP_JOB, "four", namespace, is_applied_anew)
    assert changed is not None
    assert [step for step in changed["status"]["steps"] if step["name"] in ("database", "page")] == [
        before["database"],
        before["page"],
    ]
    assert await kubectl(inside, "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}") == "3"


@pytest.fixture
async def manifest_url(api: Api, namespace: str) -> str:
    """A manifest behind a URL: a web server in the host cluster, outside of any job."""
    meta = {"name": "pages", "namespace": namespace}
    pages = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"manifest.yml": MANIFEST}}
    await api.apply(kinds.CONFIG_MAP, pages)
    httpd = {
        "name": "httpd",
        "image": "docker.io/library/busybox:1.35",
        "command": ["httpd", "-f", "-p", "8000", "-h", "/pages"],
        "readinessProbe": {"httpGet": {"path": "/manifest.yml", "port": 8000}, "periodSeconds": 1, "timeoutSeconds": 10},
        "volumeMounts": [{"name": "pages", "mountPath": "/pages"}],
    }
    volumes = [{"name": "pages", "configMap": {"name": "pages"}}]
    spec = {"terminationGracePeriodSeconds": 0, "containers": [httpd], "volumes": volumes}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    await api.create(kinds.POD, pod)
    ready = await wait_for(api, kinds.POD, "pages", namespace, has("Ready", "True"))
    assert ready is not None
    return f"http://{ready['status']['podIP']}:8000"


@pytest.fixture
async def neighborly_class(api: Api) -> AsyncIterator[str]:
    """A class whose jobs may connect to the host's pods, where the web server is."""
    async with class_like_default(api, "neighborly", network={"privateRanges": []}) as name:
        yield name


async def test_a_manifest_by_url(api: Api, namespace: str, manifest_url: str, neighborly_class: str, tmp_path: Path) -> None:
    digest = hashlib.sha256(MANIFEST.encode()).hexdigest()
    (document,) = example("05-manifest-by-url", "remote", namespace)
    document["spec"]["className"] = neighborly_class
    command = document["spec"]["app"]["appDef"]["commands"]["Start"]["nested_kubernetes"]
    # The example's own manifest is out of reach here.
    step = next(item for item in command["templates"] if item.get("format") == "url")
    command["templates"] = [step | {"path": f"{manifest_url}/manifest.yml", "sha256": digest, "namespace": "default"}]
    await apply(api, [document])
    job = await job_with(api, "remote", namespace, conditions.STEPS_APPLIED, "True")
    assert [step["sha256"] for step in job["status"]["steps"]] == [digest]
    inside = await nested_kubeconfig(api, job, tmp_path)
    assert await kubectl(inside, "get", "configmap", "fetched", "-o", "jsonpath={.data.by}") == "url"


def script(text: str) -> str:
    """A script as an AppDef carries it."""
    return base64.b64encode(text.encode()).decode()


BY_PATH = """#!/bin/bash
set -eux
/usr/bin/kubectl get configmap fetched
git init --quiet repository
mkdir -p tiny/templates
printf 'apiVersion: v2\nname: tiny\nversion: 1.0.0\n' > tiny/Chart.yaml
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-chart}\ndata: {by: helm}\n' > tiny/templates/map.yaml
/usr/bin/helm upgrade --install tiny ./tiny --wait --timeout 1m
curl --version
jq --null-input 1
python3 --version
"""


async def test_the_tutorials_version_and_its_tools_by_path(api: Api, namespace: str, tmp_path: Path) -> None:
    steps = [{"name": "map", "type": "kubectl", "path": "a.yml"}, {"name": "by-path", "type": "custom", "cmd": script(BY_PATH)}]
    await apply(api, inline_job("kns", namespace, {"a.yml": MANIFEST}, steps, kubernetes_version="v1.30"))
    job = await job_with(api, "kns", namespace, conditions.STEPS_APPLIED, "True")
    admitted = conditions.find(job["status"]["conditions"], conditions.ADMITTED) or {}
    assert "the AppDef's Kubernetes version 'v1.30' is not offered; v1." in admitted["message"]
    assert "the nearest newer one, is taken" in admitted["message"]
    assert [(step["state"], step["attempt"]) for step in job["status"]["steps"]] == [("Succeeded", 1), ("Succeeded", 1)]
    inside = await nested_kubeconfig(api, job, tmp_path)
    assert await kubectl(inside, "get", "configmap", "from-chart", "-o", "jsonpath={.data.by}") == "helm"


def count(step: str, note: str = "", before: str = "") -> Object:
    """A step that leaves a ConfigMap in the nested cluster each time that it is run to its end."""
    text = f"#!/bin/sh\n# {note}\n{before}\nkubectl create configmap run-{step}-$(date +%s%N)\n"
    return {"name": step, "type": "custom", "cmd": script(text)}


async def runs_in(inside: Path) -> dict[str, int]:
    """How often each of these steps was run to its end."""
    names = (await kubectl(inside, "get", "configmaps", "-o", "name")).split()
    steps = [name.split("-")[1] for name in names if name.startswith("configmap/run-")]
    return {step: steps.count(step) for step in sorted(set(steps))}


@pytest.mark.long
async def test_a_failing_step_is_retried_by_the_next_runner_too_and_none_runs_twice(
    api: Api, namespace: str, tmp_path: Path
) -> None:
    patience = count("b", before="kubectl get configmap go-on || exit 4") | {"retry": 60, "retry_sleep": 1}
    await apply(api, inline_job("steps", namespace, {"a.yml": MANIFEST}, [count("a"), patience, count("c")]))
    job = await job_with(api, "steps", namespace, conditions.STEPS_APPLIED, "False", conditions.STEP_RETRYING)
    first, failing, _ = job["status"]["steps"]
    assert failing.get("exitCode") == 4, job["status"]["steps"]
    assert "go-on" in failing["message"]

    (runner,) = await api.list(kinds.POD, job["status"]["namespace"], labels=labels.selector(component="runner"))
    await api.delete(kinds.POD, runner["metadata"]["name"], job["status"]["namespace"], grace_seconds=0)
    inside = await nested_kubeconfig(api, job, tmp_path)
    await kubectl(inside, "create", "configmap", "go-on")
    job = await job_with(api, "steps", namespace, conditions.STEPS_APPLIED, "True")
    assert job["status"]["steps"][0] == first
    step = job["status"]["steps"][1]
    assert step["state"] == "Succeeded"
    assert 1 < step["attempt"] <= step["maxAttempts"] == 61
    assert await runs_in(inside) == {"a": 1, "b": 1, "c": 1}

    # What changed runs again, and what comes after it; a rerun is all of it.
    changed = [count("a"), patience | {"cmd": count("b", "changed")["cmd"]}, count("c")]
    again = await apply(api, inline_job("steps", namespace, {"a.yml": MANIFEST}, changed))
    job = await job_with(api, "steps", namespace, conditions.STEPS_APPLIED, "True", generation=again["metadata"]["generation"])
    assert await runs_in(inside) == {"a": 1, "b": 2, "c": 2}
    await api.patch(kinds.NESTED_APP_JOB, "steps", namespace, {"metadata": {"annotations": {"nestor.dev/rerun": "1"}}})

    def has_run_again(item: Object | None) -> bool:
        steps = (item or {}).get("status", {}).get("steps", ())
        return bool(steps) and steps != job["status"]["steps"] and all(step["state"] == "Succeeded" for step in steps)

    await wait_for(api, kinds.NESTED_APP_JOB, "steps", namespace, has_run_again)
    assert await runs_in(inside) == {"a": 2, "b": 3, "c": 3}

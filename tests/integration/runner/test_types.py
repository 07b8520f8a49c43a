"""Every type of step, with the real kubectl and helm."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from nestor.contracts.runner import Exit
from nestor.kube import kinds
from nestor.steps.plan import Remote
from tests.integration.runner.conftest import Stage
from tests.waiting import wait_for


def config_map(name: str, value: str = "x") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{key: {value}}}\n"


def write(folder: Path, **files: str) -> None:
    """Keys are paths with `__` for `/` and `_` for `.`."""
    for name, content in files.items():
        file = folder / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


async def data(stage: Stage, name: str, namespace: str = "default") -> dict[str, Any]:
    """Of a ConfigMap that is there."""
    found: dict[str, Any] = (await stage.api.get(kinds.CONFIG_MAP, name, namespace))["data"]
    return found


CHART = """apiVersion: v2
name: web
version: 0.1.0
"""
TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {a: "{{ .Values.a }}", b: "{{ .Values.b }}", c: "{{ .Values.c }}"}
"""
HOOK = """apiVersion: batch/v1
kind: Job
metadata: {name: "{{ .Release.Name }}-hook", annotations: {"helm.sh/hook": pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
"""


async def test_a_kustomize_overlay_is_applied(stage: Stage) -> None:
    write(
        stage.templates,
        base__kustomization_yaml="resources: [map.yaml]",
        base__map_yaml=config_map("kustomized"),
        over__kustomization_yaml="resources: [../base]\nnamePrefix: prod-\n"
        "configMapGenerator: [{name: made, literals: [a=b], options: {disableNameSuffixHash: true}}]",
    )
    runner = await stage.run(stage.plan({"name": "k", "type": "kustomize", "path": "over"}))
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert "[k] configmap/prod-kustomized created" in runner.lines
    assert await data(stage, "prod-made") == {"a": "b"}


async def test_a_manifest_without_namespaces_goes_where_the_step_says(stage: Stage) -> None:
    stage.write(space="apiVersion: v1\nkind: Namespace\nmetadata: {name: elsewhere}\n", map=config_map("moved"))
    runner = await stage.run(stage.plan({"name": "space"}, {"name": "map", "namespace": "elsewhere", "server_side": True}))
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert "[map] configmap/moved serverside-applied" in runner.lines
    assert await data(stage, "moved", "elsewhere") == {"key": "x"}


async def test_a_chart_of_the_templates_is_installed_and_upgraded(stage: Stage) -> None:
    write(stage.templates, charts__web__Chart_yaml=CHART, charts__web__values_yaml="a: 1\nb: 1\nc: 1")
    write(stage.templates, charts__web__templates__map_yaml=TEMPLATE, more_yaml="b: 2\nc: 2")
    field: dict[str, Any] = {"name": "chart", "type": "helm", "path": "charts/web", "namespace": "charts"}
    helm = {"release": "site", "values": {"c": 3}, "values_files": ("more.yaml",)}
    runner = await stage.run(stage.plan({**field, "helm": helm}))
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert await data(stage, "site", "charts") == {"a": "1", "b": "2", "c": "3"}
    assert "[chart] REVISION: 1" in runner.lines
    assert "WARNING" not in runner.log  # as of a kubeconfig that others may read
    runner = await stage.run(stage.plan({**field, "helm": helm | {"values": {"c": 4}}}))
    assert "[chart] REVISION: 2" in runner.lines
    assert (await data(stage, "site", "charts"))["c"] == "4"


async def test_a_release_whose_helm_was_killed_in_the_middle_is_installed_by_the_next_runner(stage: Stage) -> None:
    write(stage.templates, charts__web__Chart_yaml=CHART, charts__web__templates__hook_yaml=HOOK)
    plan = stage.plan({"name": "chart", "type": "helm", "path": "charts/web", "helm": {"release": "stuck"}})
    runner = await stage.with_whole_starts().start(plan)
    await wait_for(stage.api, kinds.SECRET, "sh.helm.release.v1.stuck.v1", "default", lambda found: found is not None)
    runner.send(signal.SIGKILL)
    # In a pod, it would have gone with the runner.
    os.kill(int((stage.folder / "helm.pid").read_text()), signal.SIGKILL)
    await runner.wait()
    (stage.templates / "charts/web/templates/hook.yaml").unlink()
    runner = await stage.run(plan)
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert "[chart] helm was interrupted in an earlier attempt; unfinished revisions removed: 1" in runner.lines
    assert "[chart] REVISION: 1" in runner.lines


async def test_a_script_uses_helm_with_a_chart_of_the_image_as_in_the_tutorial(stage: Stage) -> None:
    write(stage.templates, charts__web__Chart_yaml=CHART, charts__web__templates__map_yaml=TEMPLATE)
    script = """#!/bin/bash
set -x
cat << EOF > ./helm-values.yaml
a: from the script
EOF
helm upgrade --install kubeai ./charts/web -f ./helm-values.yaml --wait --timeout 10m
kubectl config set-context --current --namespace=kube-public
"""
    after = stage.script("next", "kubectl create configmap after --from-literal=a=b")
    runner = await stage.run(stage.plan(stage.script("helmdeploy", script), after))
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert (await data(stage, "kubeai"))["a"] == "from the script"
    # One step's context is not the next one's.
    assert await data(stage, "after") == {"a": "b"}
    assert any(line.startswith("[helmdeploy] + helm upgrade") for line in runner.lines)
    assert not (stage.templates / "helm-values.yaml").exists()


async def test_a_script_is_seen_line_by_line_while_it_runs(stage: Stage) -> None:
    runner = await stage.start(stage.plan(stage.script("live", "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last")))
    await runner.wait_for_line("[live] first")
    assert "[live] last" not in runner.lines
    (stage.folder / "work" / "templates" / "go").touch()
    assert await runner.wait() == Exit.SUCCEEDED
    assert "[live] last" in runner.lines


def own_address() -> str | None:
    """One of this machine that is not loopback, which no step may reach; None on a machine without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))  # sends nothing
        except OSError:
            return None
        return str(probe.getsockname()[0])


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """Serves one manifest, two seconds of trouble first, on an address that is not loopback."""
    address = own_address()
    if address is None:
        pytest.skip("this machine has loopback alone")
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if len(asked) < 3:
            return web.Response(status=503)
        if request.path == "/loop":
            return web.Response(status=302, headers={"Location": "/loop"})
        if request.path == "/away":
            return web.Response(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})
        return web.Response(text=config_map("fetched"))

    application = web.Application()
    application.router.add_get("/{name}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, address, 0).start()
    yield f"http://{address}:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_a_manifest_by_url_is_retried_checked_and_recorded(stage: Stage, server: str) -> None:
    digest = hashlib.sha256(config_map("fetched").encode()).hexdigest()
    field = {"type": "kubectl", "format": "url", "path": f"{server}/map.yaml?token=hunter2", "retry": 5, "retry_sleep_seconds": 0}
    plan = stage.plan({"name": "url", "sha256": digest, **field}, {"name": "wrong", "sha256": "0" * 64, **field})
    runner = await stage.run(plan)
    assert await runner.wait() == Exit.STEP_FAILED
    assert await stage.states() == [("Succeeded", 3), ("Failed", 1)]
    url, wrong = (await stage.record())["steps"]
    assert url["sha256"] == digest
    assert f"has the checksum {digest}, the step's `sha256` is {'0' * 64}" in wrong["message"]
    assert "the server answers 503 Service Unavailable" in runner.log
    assert "hunter2" not in runner.log
    assert await data(stage, "fetched") == {"key": "x"}


@pytest.mark.parametrize(
    ("path", "remote", "said"),
    [
        ("{server}/away", {}, "169.254.169.254 is link-local"),
        ("{server}/loop", {}, "more than 5 redirects"),
        ("{api}/api/v1/secrets", {}, "127.0.0.1 is the runner itself"),
        ("{server}/map.yaml", {"denied_addresses": (own_address() or "10.0.0.1",)}, "belongs to the cluster that runs the job"),
        ("{server}/map.yaml", {"enabled": False}, "does not allow steps to fetch anything"),
    ],
)
async def test_a_url_that_is_refused_is_the_end(stage: Stage, server: str, path: str, remote: dict[str, Any], said: str) -> None:
    url = path.format(server=server, api=stage.api.host)
    field = {"name": "url", "type": "kubectl", "format": "url", "path": url, "retry": 9, "retry_sleep_seconds": 0}
    runner = await stage.run(stage.plan(field, remote=Remote(**remote)))
    assert await runner.wait() == Exit.STEP_FAILED
    step = (await stage.record())["steps"][0]
    assert said in step["message"]
    assert step["attempt"] == (3 if path.endswith(("/away", "/loop")) else 1)


async def test_five_thousand_documents_are_applied_within_the_limit(stage: Stage) -> None:
    stage.write(many="---\n".join(config_map(f"many-{number}") for number in range(5000)))
    runner = await stage.start(stage.plan({"name": "many"}))
    assert await runner.wait(limit=280) == Exit.SUCCEEDED, runner.log[-500:]
    assert sum(bool(re.fullmatch(r"\[many\] configmap/many-\d+ created", line)) for line in runner.lines) == 5000

"""Every type of step, with the real kubectl and helm."""

import json
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from nestor.api.contracts.runner import Exit
from nestor.apps.steps.plan import Remote
from nestor.kube import kinds
from tests.addresses import own_address
from tests.fakes.pages import serving
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
    runner.send(signal.SIGKILL)  # and helm is killed with it
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


CLONE = """#!/bin/bash
set -ex
git clone $SOURCE server && cd server
[ $NESTOR_ATTEMPT = 1 ] && exit 1
cat ../earlier > earlier
kubectl apply -f map.yaml
"""


def make_repository(folder: Path) -> None:
    """A git repository with one manifest."""
    folder.mkdir()
    (folder / "map.yaml").write_text(config_map("cloned"))
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "--quiet"], ["add", "."], [*identity, "commit", "--quiet", "--message=a"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


async def test_a_script_that_clones_heals_when_it_is_retried(stage: Stage) -> None:
    make_repository(stage.folder / "source")
    first = stage.script("earlier", "echo from an earlier step > earlier")
    clone = stage.script("clone", CLONE, retry=2, retry_sleep_seconds=0)
    after = stage.script("after", "cat server/earlier")
    plan = stage.plan(first, clone, after, environment={"SOURCE": str(stage.folder / "source")})
    runner = await stage.run(plan)
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert await stage.states() == [("Succeeded", 1), ("Succeeded", 2), ("Succeeded", 1)]
    assert "[after] from an earlier step" in runner.lines
    assert await data(stage, "cloned") == {"key": "x"}


async def test_a_script_whose_runner_was_killed_begins_in_a_clean_folder_in_the_next_pod(stage: Stage) -> None:
    write(stage.templates, earlier="of the image\n")
    script = "mkdir server && echo begun\nwhile [ ! -e $GO ]; do sleep 0.1; done\ncat earlier"
    plan = stage.plan(stage.script("clone", script), environment={"GO": str(stage.folder / "go")})
    runner = await stage.with_whole_starts().start(plan)
    await runner.wait_for_line("[clone] begun")
    runner.send(signal.SIGKILL)
    await runner.wait_for_end()
    (stage.folder / "go").touch()
    successor = await stage.run(plan)
    assert await successor.wait() == Exit.SUCCEEDED, successor.log
    assert "[clone] of the image" in successor.lines


async def test_a_script_is_seen_line_by_line_while_it_runs(stage: Stage) -> None:
    runner = await stage.start(stage.plan(stage.script("live", "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last")))
    await runner.wait_for_line("[live] first")
    assert "[live] last" not in runner.lines
    (stage.folder / "work" / "templates" / "go").touch()
    assert await runner.wait() == Exit.SUCCEEDED
    assert "[live] last" in runner.lines


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """Serves one manifest, and leads away, on an address that is not loopback."""
    address = own_address()
    if address is None:
        pytest.skip("this machine has loopback alone")

    async def answer(request: web.Request) -> web.Response:
        if request.path == "/away":
            return web.Response(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})
        return web.Response(text=config_map("fetched"))

    async with serving(answer, address) as port:
        yield f"http://{address}:{port}"


@pytest.mark.parametrize(
    ("path", "remote", "said"),
    [
        ("{server}/away", {}, "169.254.169.254 is link-local"),
        ("{api}/api/v1/secrets", {}, "127.0.0.1 is the runner itself"),
        ("{server}/map.yaml", {"denied_addresses": (own_address() or "10.0.0.1",)}, "belongs to the cluster that runs the job"),
    ],
)
async def test_a_url_that_is_refused_is_the_end(stage: Stage, server: str, path: str, remote: dict[str, Any], said: str) -> None:
    """That one is fetched, tests/e2e/test_appdef_types.py shows."""
    url = path.format(server=server, api=stage.api.host)
    field = {"name": "url", "type": "kubectl", "format": "url", "path": url, "retry": 9, "retry_sleep_seconds": 0}
    runner = await stage.run(stage.plan(field, remote=Remote(**remote)))
    assert await runner.wait() == Exit.STEP_FAILED
    assert said in (await stage.record())["steps"][0]["message"]


def large_crd(name: str, properties: int = 600) -> str:
    """A CRD that a client-side apply cannot take with 600 properties: its text is also to be an annotation of 256 KiB at most."""
    described = {f"p{number}": {"type": "string", "description": "x" * 500} for number in range(properties)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": described}}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": name.capitalize(), "plural": name},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    return json.dumps(crd) + "\n"


async def count_properties(stage: Stage, name: str) -> int:
    """Of the CRD as it is in the cluster."""
    [version] = (await stage.api.get(kinds.CRD, f"{name}.example.com"))["spec"]["versions"]
    return len(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])


FALLBACK = "an object is too large for client-side apply; all are applied again by server-side apply"


async def test_an_object_too_large_for_client_side_apply_is_applied_by_the_server(stage: Stage) -> None:
    stage.write(all=config_map("beside") + "---\n" + large_crd("gadgets"), alone=large_crd("gizmos"))
    plan = stage.plan({"name": "all"}, {"name": "alone", "server_side": True})
    runner = await stage.run(plan)
    assert await runner.wait() == Exit.SUCCEEDED, runner.log
    assert await stage.states() == [("Succeeded", 1), ("Succeeded", 1)]
    assert f"[all] {FALLBACK}" in runner.lines
    assert runner.log.count(FALLBACK) == 1
    assert "[all] customresourcedefinition.apiextensions.k8s.io/gadgets.example.com serverside-applied" in runner.lines
    assert await data(stage, "beside") == {"key": "x"}
    assert await count_properties(stage, "gadgets") == 600
    assert "metadata.annotations: Too long" not in (await stage.record())["steps"][0]["message"]


@pytest.mark.slow
async def test_what_was_applied_by_the_server_is_applied_again_whatever_its_size(stage: Stage) -> None:
    for properties, value, falls_back in (
        (10, "a", False),
        (600, "b", True),
        (601, "c", True),
        (9, "d", False),
        (600, "e", True),
    ):
        stage.write(crd=config_map("sized", value) + "---\n" + large_crd("sized", properties))
        plan = stage.plan({"name": "crd"}).model_copy(update={"base": value, "hash": value})
        runner = await stage.run(plan)
        assert await runner.wait() == Exit.SUCCEEDED, runner.log
        assert (f"[crd] {FALLBACK}" in runner.lines) == falls_back
        assert await data(stage, "sized") == {"key": value}
        assert await count_properties(stage, "sized") == properties


@pytest.mark.slow
async def test_five_thousand_documents_are_applied_within_the_limit(stage: Stage) -> None:
    stage.write(many="---\n".join(config_map(f"many-{number}") for number in range(5000)))
    runner = await stage.start(stage.plan({"name": "many"}))
    assert await runner.wait() == Exit.SUCCEEDED, runner.log[-500:]
    assert sum(bool(re.fullmatch(r"\[many\] configmap/many-\d+ created", line)) for line in runner.lines) == 5000

"""The command line as its user meets it, on one application from its first second to its last."""

import json
import os
import sys
from pathlib import Path

import pytest
import yaml

from devcluster.demo.tools import find_tool
from nestor.kube import Api, kinds
from tests import children
from tests.e2e.conftest import LIMIT_SECONDS, ROOT, Cluster, Web, image
from tests.waiting import wait_for_none

IMAGE = image("examples/four-types:1")


class Nestor:
    """`nestor`, with the admin's kubeconfig and a namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        tools = Path(find_tool("kubectl")).parent
        self._options = ["--kubeconfig", str(cluster.kubeconfig), "--namespace", namespace]
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "PATH": f"{tools}:{os.environ['PATH']}",
            "NO_COLOR": "1",
            "COLUMNS": "120",
        }

    async def __call__(self, *arguments: str, code: int = 0) -> str:
        """Run a command; its output, errors included. Fails when it exits otherwise than with `code`."""
        command = (sys.executable, "-m", "nestor", *self._options, *arguments)
        exited, output = await children.run(*command, limit=LIMIT_SECONDS, env=self._environment, cwd="/")
        assert exited == code, f"nestor {' '.join(arguments)} exited {exited}:\n{output}"
        return output


@pytest.mark.long
async def test_an_application_by_the_command_line_alone(
    api: Api, namespace: str, cluster: Cluster, web: Web, tmp_path: Path
) -> None:
    nestor = Nestor(cluster, namespace)
    followed = await nestor("run", IMAGE, "--name", "four", "--parameter", "GREETING=Hello from the command line")
    url = (await api.get(kinds.NESTED_APP_JOB, "four", namespace))["status"]["url"]
    for word in ("database", "seed", "page", "web-servers", url):
        assert word in followed
    assert followed.rstrip().endswith(url)
    assert "Hello from the command line" in await web.page(url)

    assert "four" in await nestor("list")
    assert [item["metadata"]["name"] for item in json.loads(await nestor("list", "-o", "json"))["items"]] == ["four"]
    status = await nestor("status", "four")
    assert "web-servers" in status
    assert url in status
    lines = (await nestor("logs", "four", "seed")).splitlines()
    assert lines
    assert all(line.startswith("[seed] ") for line in lines)

    kubeconfig = tmp_path / "nested.kubeconfig"
    await nestor("kubeconfig", "four", "--output", str(kubeconfig))
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    assert yaml.safe_load(kubeconfig.read_text())["kind"] == "Config"
    assert "database" in await nestor("exec", "four", "--", "kubectl", "get", "deployments")

    await nestor("suspend", "four")
    await nestor("resume", "four")
    doctored = await nestor("doctor")
    assert "no problems found" in doctored
    await nestor("delete", "four", "--wait")
    assert await api.find(kinds.NESTED_APP_JOB, "four", namespace) is None
    assert "four" in await nestor("status", "four", code=3)


async def test_the_first_application_runs_as_the_chart_has_it(api: Api, namespace: str, cluster: Cluster, web: Web) -> None:
    nestor = Nestor(cluster, namespace)
    assert "hello-world" in await nestor("apps")
    url = (await nestor("run", "hello-world", "--name", "first", "-p", "GREETING=My first job")).splitlines()[-1]
    assert url == (await api.get(kinds.NESTED_APP_JOB, "first", namespace))["status"]["url"]
    page = await web.page(url)
    assert "<h1>My first job</h1>" in page
    assert "job <b>first</b>" in page
    await nestor("doctor")


@pytest.mark.parametrize(("app", "shown"), [("visit-counter", "Request number "), ("pi", "Pi is about 3.1")])
async def test_so_do_the_others(namespace: str, cluster: Cluster, web: Web, app: str, shown: str) -> None:
    url = (await Nestor(cluster, namespace)("run", app)).splitlines()[-1]
    assert shown in await web.page(url)


async def test_a_manifest_runs_without_an_appdef(namespace: str, cluster: Cluster, web: Web) -> None:
    manifest = ROOT / "examples" / "01-hello-world" / "templates" / "web.yml"
    url = (await Nestor(cluster, namespace)("run", "--manifest", str(manifest), "--target", "web:8080")).splitlines()[-1]
    assert "Hello from a nested cluster" in await web.page(url)


async def test_what_fails_is_told_by_words_and_exit_codes(namespace: str, cluster: Cluster, tmp_path: Path) -> None:
    nestor = Nestor(cluster, namespace)
    assert "no-such-app" in await nestor("run", "no-such-app", code=3)
    bad = tmp_path / "job.yaml"
    good = (ROOT / "examples" / "02-web-and-database" / "job.yaml").read_text()
    bad.write_text(good.replace("type: kubectl", "type: ansible", 1))
    told = await nestor("validate", str(bad), code=1)
    assert "templates[0].type" in told
    assert "kustomize" in told
    appdef = ROOT / "examples" / "01-hello-world" / "AppDef.json"
    (job,) = yaml.safe_load_all(await nestor("convert", str(appdef), "--image", "registry.example.com/hello:1"))
    assert job["spec"]["app"]["appDef"] == json.loads(appdef.read_text())


async def test_jobs_are_measured_beside_the_app_without_nestor(api: Api, namespace: str, cluster: Cluster) -> None:
    said = await Nestor(cluster, namespace)("bench", "--jobs", "2", "--at-once", "2", "-o", "json")
    found = json.loads(said[said.index("{") :])
    assert [len(found[place]["seconds"]) for place in ("jobs", "floor")] == [2, 2]
    assert found["ratios"]["http200"]["p50"] > 1
    for kind in (kinds.NESTED_APP_JOB, kinds.DEPLOYMENT, kinds.POD):
        await wait_for_none(api, kind, namespace)

"""`nestor doctor` on a real API server, for an admin and for somebody who may see little; and completion of names."""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from nestor.clients.cli.exits import Code
from nestor.kube import Api
from tests import children
from tests.integration import apiserver
from tests.integration.cli.conftest import JOBS, ROOT, SECRETS, CommandLine, create, grant, report
from tests.unit.clients.cli.builders import condition


async def test_what_a_cluster_without_nestor_has_and_lacks_is_told(cli: CommandLine) -> None:
    """What one with Nestor has, tests/e2e/test_cli.py shows."""
    call = await cli("doctor")
    assert call.code == Code.FAILED
    for part in (
        "answers: Kubernetes v1.",
        "image volumes are supported",
        "resources are installed and up to date",
        "no operator is installed",
        "there is no NestedClass",
        "you can run jobs",
    ):
        assert part in call.stdout, part


async def test_a_job_is_explained(cli: CommandLine, host: Api, namespace: str) -> None:
    job = await create(host, namespace)
    refused = [condition(kind, "False", "CommandNotFound", "the AppDef has no command 'Stop'") for kind in ("Admitted", "Ready")]
    await report(host, job, *refused, nextStep="delete the job and create it again with one of the listed commands")
    call = await cli("doctor", "shop")
    assert call.code == Code.FAILED
    assert "✗ job 'shop': CommandNotFound: the AppDef has no command 'Stop'" in call.stdout
    assert "→ delete the job and create it again with one of the listed commands" in call.stdout


async def test_who_may_see_little_is_told_what_is_unknown(
    cli: CommandLine, host: Api, control_plane: apiserver.ControlPlane, namespace: str
) -> None:
    await grant(host, "jill", namespace, JOBS, SECRETS)
    call = await replace(cli, kubeconfig=control_plane.kubeconfig_of("jill"))("doctor")
    assert call.code == Code.OK, call.stdout
    assert "you have no permission to list Deployments" in call.stdout
    assert "you have no permission to read their definitions" in call.stdout
    assert call.stdout.splitlines()[-1] == "no problems found"


async def test_names_are_completed(cli: CommandLine, host: Api, namespace: str) -> None:
    await create(host, namespace, "shop-one")
    await create(host, namespace, "other")
    words = {"_NESTOR_COMPLETE": "complete_bash", "COMP_WORDS": f"nestor status -n {namespace} sh", "COMP_CWORD": "4"}
    call = await cli(**words)
    assert call.stdout.split() == ["shop-one"], call.stderr
    await report(
        host, await create(host, namespace, "steps"), steps=[{"name": "database", "type": "kubectl", "state": "Succeeded"}]
    )
    call = await cli(**words | {"COMP_WORDS": f"nestor logs -n {namespace} steps d", "COMP_CWORD": "5"})
    assert call.stdout.split() == ["database"]


async def test_kubectl_finds_the_plugin_and_its_completion(cli: CommandLine, host: Api, namespace: str, tmp_path: Path) -> None:
    await create(host, namespace, "shop-one")
    for name, function in (("kubectl-nestor", "main"), ("kubectl_complete-nestor", "complete_kubectl")):
        script = tmp_path / name
        script.write_text(f"#!{sys.executable}\nfrom nestor.__main__ import {function}\n{function}()\n")
        script.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{apiserver.binary().parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(cli.kubeconfig),
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(tmp_path),
    }

    async def kubectl(*arguments: str) -> str:
        streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
        async with children.running("kubectl", *arguments, env=environment, **streams) as process:
            output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return output.decode()

    assert "shop-one" in await kubectl("nestor", "list", "-n", namespace)
    assert "Usage: kubectl nestor list" in await kubectl("nestor", "list", "--help")
    lines = (await kubectl("__complete", "nestor", "status", "-n", namespace, "sh")).splitlines()
    assert lines[0].split("\t")[0] == "shop-one"
    assert lines[-1] == ":4"
    commands = (await kubectl("__complete", "nestor", "st")).splitlines()
    assert [line.split("\t")[0] for line in commands] == ["status", ":4"]

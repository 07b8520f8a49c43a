"""`nestor install` on a real API server, with a Helm that notes what it is to do; the real one reads the values."""

import os
from pathlib import Path

import yaml

from nestor.clients.cli.exits import Code
from tests import children
from tests.integration import apiserver
from tests.integration.cli.conftest import ROOT, CommandLine

CHART = ROOT / "charts/nestor"


async def test_helm_gets_the_values_that_were_shown(cli: CommandLine, tmp_path: Path) -> None:
    file, log, helm = tmp_path / "values.yaml", tmp_path / "log", tmp_path / "helm"
    fixed = ("install", "--domain", "apps.test", "--chart", str(CHART), "--values", str(file))
    call = await cli(*fixed, "--yes", PATH="/nowhere")
    assert (call.code, "Helm is not installed" in call.stderr, file.exists()) == (Code.USAGE, True, False)
    helm.write_text(f'#!/bin/sh\necho "$@" >> {log}\ntest ! -e {tmp_path}/broken\n')
    helm.chmod(0o755)
    cli.environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    shown = await cli(*fixed, "--dry-run")
    assert (shown.code, file.exists()) == (Code.OK, False)
    assert "answers: Kubernetes v1." in shown.stdout
    refused = await cli(*fixed)
    assert (refused.code, "add --yes" in refused.stderr, file.exists()) == (Code.USAGE, True, False)
    for _ in range(2):
        assert (await cli(*fixed, "--yes")).code == Code.OK
    command = shown.stdout.splitlines()[-1].removeprefix("helm ")
    assert log.read_text() == f"{command}\n" * 2
    assert f"--namespace {cli.namespace} --create-namespace" in command
    assert f"--kubeconfig={cli.kubeconfig}" in command
    assert file.read_text() in shown.stdout

    other = await cli(*fixed, "--profile", "Evaluation", "--yes")
    assert (other.code, "exists with other values" in other.stderr) == (Code.USAGE, True)
    assert yaml.safe_load(file.read_text())["defaultClass"]["profile"] == "Tenants"
    (tmp_path / "broken").touch()
    failed = await cli(*fixed, "--yes")
    assert (failed.code, "Helm failed with exit code 1" in failed.stderr) == (Code.FAILED, True)
    code, output = await children.run(str(apiserver.binary("helm")), "template", str(CHART), "--values", str(file), limit=60)
    assert (code, "domain: apps.test" in output) == (0, True), output

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
    fixed = ("install", "-n", cli.namespace, "--chart", str(CHART), "--values", str(file))
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
    assert f"--kubeconfig={cli.kubeconfig}" in command
    assert file.read_text() in shown.stdout

    file.write_text(f"{file.read_text()}k3s: {{coreDNSImage: own}}  # as edited\n")
    assert (await cli(*fixed, "--yes")).code == Code.OK
    assert "# as edited" in file.read_text()
    stopped = await cli(*fixed, "--domain", "apps.test", "--ingress-class", "none", "--yes")
    assert (stopped.code, "the cluster has a problem" in stopped.stderr, "apps.test" in file.read_text()) == (1, True, False)
    other = await cli(*fixed, "--profile", "Evaluation", "--yes")
    made = yaml.safe_load(file.read_text())
    assert (other.code, made["defaultClass"]["profile"], made["k3s"]) == (Code.OK, "Evaluation", {"coreDNSImage": "own"})
    for wrong in (tmp_path, tmp_path / "none/v.yaml"):
        assert "error: " in (call := await cli(*fixed[:-1], str(wrong), "--yes")).stderr
        assert (call.code, "Traceback" in call.stderr) == (Code.USAGE, False)
    (tmp_path / "broken").touch()
    failed = await cli(*fixed, "--yes")
    assert (failed.code, "Helm failed with exit code 1" in failed.stderr) == (Code.FAILED, True)
    code, output = await children.run(str(apiserver.binary("helm")), "template", str(CHART), "--values", str(file), limit=60)
    assert (code, "profile: Evaluation" in output) == (0, True), output

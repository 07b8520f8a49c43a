"""A workflow engine, Snakemake itself, drives jobs to their ends with real `kubectl apply` and `kubectl wait`, as in batch.md."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor.api import conditions
from nestor.kube import Api, kinds
from tests import children
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import POLICY, come_to
from tests.integration.operator.world import STEP, be_ready_server, build_job, host_namespace, run_of
from tests.waiting import exists, job_with

RULES = """
rule job:
    input: "{name}.yaml", lambda chosen: ["prepare.done"] if chosen.name == "train" else []
    output: touch("{name}.done")
    shell:
        "kubectl delete --ignore-not-found -f {input[0]} && kubectl apply -f {input[0]}"
        " && kubectl wait -f {input[0]} --for=jsonpath='{{.status.terminalState}}' --timeout=2h"
        " && kubectl wait -f {input[0]} --for=condition=Succeeded --timeout=0"
"""
OPTIONS = ("--cores=4", "--keep-going", "--scheduler=greedy", "--nocolor")


def write(folder: Path, name: str, namespace: str, **spec: Any) -> None:
    """A job's file."""
    job = build_job(name, namespace, nested={"templates": [STEP]}, successPolicy=POLICY, **spec)
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(job))


async def play(api: Api, name: str, namespace: str, state: str) -> None:
    """Be the nested cluster of a job: its steps succeed, and then its application does; or they fail."""
    where = await host_namespace(api, await exists(api, kinds.NESTED_APP_JOB, name, namespace))
    await be_ready_server(api, name, where, run=await run_of(api, name, where, state, state=state))
    if state == "Succeeded":
        await come_to(api, name, where, state)


@pytest.mark.slow
@pytest.mark.timeout(600)  # the first run installs Snakemake, if `make test-full` has not
async def test_snakemake_goes_on_after_success_and_stops_after_failure_and_refusal(
    operator: Operator, plane: apiserver.ControlPlane, api: Api, namespace: str, tmp_path: Path
) -> None:
    snakemake, bin_folder = str(apiserver.binary("snakemake")), apiserver.binary("kubectl").parent
    environment = os.environ | {"KUBECONFIG": str(plane.kubeconfig), "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    environment["XDG_CACHE_HOME"] = str(tmp_path)

    def run(*names: str) -> asyncio.Task[tuple[int, str]]:
        command = (snakemake, *OPTIONS, *(f"{name}.done" for name in names))
        return asyncio.create_task(children.run(*command, limit=500, cwd=tmp_path, env=environment))

    (tmp_path / "Snakefile").write_text(RULES)
    for name in ("prepare", "train", "broken"):
        write(tmp_path, name, namespace)
    write(tmp_path, "lost", namespace, className="nobodys")
    runs = run("train", "broken", "lost")
    await play(api, "broken", namespace, "Failed")
    refused = (await job_with(api, "lost", namespace, conditions.STALLED, "True"))["metadata"]["uid"]
    assert await api.find(kinds.NESTED_APP_JOB, "train", namespace) is None, "it comes after the other one"
    for name in ("prepare", "train"):
        await play(api, name, namespace, "Succeeded")
    code, output = await runs
    print(f"Snakemake {(await children.run(snakemake, '--version', limit=60))[1]}{output}")
    assert (code, output.count("Error in rule job")) == (1, 2)
    assert sorted(name for name in os.listdir(tmp_path) if name.endswith(".done")) == ["prepare.done", "train.done"]
    jobs = {job["metadata"]["name"]: job["status"]["terminalState"] for job in await api.list(kinds.NESTED_APP_JOB, namespace)}
    assert jobs == {"prepare": "Completed", "train": "Completed", "broken": "Failed", "lost": "Failed"}
    # What was wrong is mended, and the workflow goes on where it was.
    write(tmp_path, "lost", namespace)
    runs = run("train", "lost")
    await exists(api, kinds.NESTED_APP_JOB, "lost", namespace, lambda found: found["metadata"]["uid"] != refused)
    await play(api, "lost", namespace, "Succeeded")
    code, output = await runs
    assert (code, output.count("rule job:")) == (0, 1), output

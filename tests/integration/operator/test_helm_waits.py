"""Helm 4 waits for jobs in a chart by kstatus, as Flux and kpt do: until one is ready or done, and no longer than it can be."""

import asyncio
from pathlib import Path

import pytest
import yaml

from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import POLICY, come_to
from tests.integration.operator.world import STEP, Object, be_ready_server, build_job, host_namespace, run_of
from tests.waiting import exists


async def install(plane: apiserver.ControlPlane, folder: Path, job: Object) -> tuple[int, str]:
    """Exit code and complaints of `helm install --wait` of a chart with this job."""
    (folder / "templates").mkdir()
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: release\nversion: 1.0.0\n")
    (folder / "templates/job.yaml").write_text(yaml.safe_dump(job))
    command = [str(apiserver.binary("helm")), "install", "release", str(folder), "--wait", "--timeout", "10m"]
    command += ["--kubeconfig", str(plane.kubeconfig), "--namespace", job["metadata"]["namespace"]]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


@pytest.mark.parametrize(
    ("state", "outcome", "said"),
    [
        ("Succeeded", "", ""),
        ("Succeeded", "Succeeded", ""),
        ("Succeeded", "Failed", "status: Failed, message: Job 'pi' is over"),
        ("Failed", "", "status: Failed, message: step 'hello' failed"),
    ],
)
async def test_it_waits_for_what_becomes_of_a_job(
    operator: Operator, plane: apiserver.ControlPlane, api: Api, namespace: str, tmp_path: Path,
    state: str, outcome: str, said: str,
) -> None:  # fmt: skip
    spec = {"successPolicy": POLICY} if outcome else {}
    waits = asyncio.create_task(install(plane, tmp_path, build_job("batch", namespace, nested={"templates": [STEP]}, **spec)))
    job = await exists(api, kinds.NESTED_APP_JOB, "batch", namespace, lambda found: found["status"].get("conditions"))
    where = await host_namespace(api, job)
    assert not waits.done()
    run = await run_of(api, "batch", where, state, state=state)
    if outcome:
        await come_to(api, "batch", where, outcome, "Job 'pi' is over")
    await be_ready_server(api, "batch", where, run=run)
    code, output = await waits
    assert code == (1 if said else 0), output
    assert said in output


async def test_it_does_not_wait_for_a_job_that_is_refused(
    operator: Operator, plane: apiserver.ControlPlane, namespace: str, tmp_path: Path
) -> None:
    code, output = await install(plane, tmp_path, build_job("lost", namespace, className="nobodys"))
    assert code == 1
    assert "status: Failed, message: " in output
    assert "nobodys" in output

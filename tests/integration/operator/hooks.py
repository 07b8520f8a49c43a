"""Helm in a control plane, and the pods of its hooks: kubelet's part is played here."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator

from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests import children
from tests.integration import apiserver
from tests.integration.operator.conftest import ROOT
from tests.waiting import wait_for_any

SYSTEM = "nestor-system"


async def helm(plane: apiserver.ControlPlane, *arguments: str, program: str = "helm") -> tuple[int, str]:
    """Exit code and output."""
    command = (str(apiserver.binary(program)), *arguments, "--namespace", SYSTEM, "--kubeconfig", str(plane.kubeconfig))
    streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    environment = os.environ | {"HOME": str(plane.folder)}
    async with children.running(*command, env=environment, **streams) as process:
        output, _ = await process.communicate()
        return process.returncode or 0, output.decode()


@contextlib.asynccontextmanager
async def hooks_running(plane: apiserver.ControlPlane, admin: Api) -> AsyncIterator[list[str]]:
    """Run the pods of hooks, as kubelet would. Gives their output."""
    outputs: list[str] = []

    async def run() -> None:
        known: set[str] = set()
        while True:
            pod = await wait_for_any(
                admin,
                kinds.POD,
                SYSTEM,
                lambda found: found["metadata"]["uid"] not in known,
                labels="batch.kubernetes.io/job-name",
            )
            known.add(pod["metadata"]["uid"])
            code, output = await _run_pod(plane, pod)
            outputs.append(output)
            status = {"phase": "Succeeded" if code == 0 else "Failed"}
            await admin.patch(kinds.POD, pod["metadata"]["name"], SYSTEM, {"status": status}, subresource="status")

    task = asyncio.create_task(run())
    try:
        yield outputs
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, AssertionError):
            await task


async def _run_pod(plane: apiserver.ControlPlane, pod: Object) -> tuple[int, str]:
    """What its container runs, by the rights of its account."""
    (container,) = pod["spec"]["containers"]
    account = f"system:serviceaccount:{SYSTEM}:{pod['spec']['serviceAccountName']}"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "KUBECONFIG": str(plane.kubeconfig_of(account))}
    program = container["command"][1:] if "command" in container else ["-m", "nestor", *container["args"]]
    streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    async with children.running(sys.executable, *program, env=environment, **streams) as process:
        output, _ = await process.communicate()
        return process.returncode or 0, output.decode()

"""The operator as a process: how it starts, what it reports about itself, and that it never stays half alive."""

import asyncio
import copy
import itertools
import json
import os
import socket
import sys

from nestor.kube import Api, kinds
from nestor.operator.world.definitions import Definitions
from tests import children
from tests.integration import apiserver
from tests.integration.operator.conftest import ACCOUNT, ROOT, Operator
from tests.waiting import eventually


async def run(plane: apiserver.ControlPlane, *arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code and output of an operator that ends by itself."""
    command = (sys.executable, "-m", "nestor", "operator", *arguments)
    own = {"PYTHONPATH": str(ROOT / "src"), "KUBECONFIG": str(plane.kubeconfig_of(ACCOUNT))}
    streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    async with children.running(*command, env=os.environ | own | environment, **streams) as process:
        output, _ = await process.communicate()
        return process.returncode or 0, output.decode()


async def test_it_says_that_it_lives_and_is_ready(operator: Operator) -> None:
    assert await operator.health("healthz") == 200
    assert await operator.health("readyz") == 200


async def test_it_needs_its_image(plane: apiserver.ControlPlane) -> None:
    code, output = await run(plane, NESTOR_IMAGE="")
    assert code == 2
    assert "`NESTOR_IMAGE` or `--image` must be set" in output


async def test_one_dead_part_ends_all_of_it(plane: apiserver.ControlPlane) -> None:
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        code, output = await run(plane, "--port", str(taken.getsockname()[1]), "--log-format", "json", NESTOR_IMAGE="x")
    assert code == 1
    last = json.loads(output.strip().splitlines()[-1])
    assert last["message"] == "nestor operator stopped by an error"
    assert "Address already in use" in last["exception"]


async def test_a_host_that_does_not_tell_its_service_range_is_explained(plane: apiserver.ControlPlane) -> None:
    nobody = str(plane.kubeconfig_of("system:anonymous-operator"))
    code, output = await run(plane, NESTOR_IMAGE="x", KUBECONFIG=nobody)
    assert code == 1
    assert "set NESTOR_SERVICE_CIDR (helm: operator.serviceCIDR)" in output


async def test_definitions_of_an_earlier_version_hold_it_back_until_they_are_updated(
    second_plane: apiserver.ControlPlane, lonely: Api
) -> None:
    """By the rights of the chart."""
    name = "nestedclusters.nestor.dev"
    current = (await lonely.get(kinds.CRD, name))["spec"]["versions"]
    older = copy.deepcopy(current)
    status = older[0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    del status["policy"]["properties"]["alwaysPullImages"]
    async with await Api.connect(str(second_plane.kubeconfig_of(ACCOUNT))) as api:
        definitions = Definitions(api)
        await definitions.wait([0])
        assert definitions.problem is None
        await lonely.patch(kinds.CRD, name, None, {"spec": {"versions": older}})
        try:
            waiting = asyncio.create_task(definitions.wait(itertools.repeat(0.1)))
            await eventually(lambda: _lacks(definitions, "that of NestedCluster lacks `status.policy.alwaysPullImages`"))
        finally:
            await lonely.patch(kinds.CRD, name, None, {"spec": {"versions": current}})
        await waiting
        assert definitions.problem is None


async def _lacks(definitions: Definitions, part: str) -> bool:
    return part in (definitions.problem or "")

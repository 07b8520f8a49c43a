"""Objects that are small on the wire and large in memory: the operator keeps its size, and comes back after a restart."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.test_hostile import peak_memory, post
from tests.integration.operator.world import Object, build_job
from tests.waiting import eventually, gone, job_with

pytestmark = pytest.mark.slow

MANY = 13
CLUSTERS = 2
WIDE = "[" + ",".join(["[]"] * 480_000) + "]"
GROWTH = 100
"""MiB. As Python objects, the thirteen need 450."""
MOST = 384
"""MiB. The chart gives the operator 512."""


def memory(operator: Operator) -> int:
    """The MiB that the operator has now."""
    lines = Path(f"/proc/{operator.process.pid}/smaps_rollup").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("Pss:")]
    return int(line.split()[1]) // 1024


async def is_flat(operator: Operator, base: int) -> bool:
    """Whether the operator is as large as before, once it has read what it was sent last."""
    await asyncio.sleep(0.5)
    return memory(operator) - base < GROWTH


def write_wide(name: str, namespace: str, *, is_app_def: bool) -> str:
    """A job of 1.4 MB."""
    body = build_job(name, namespace)
    if is_app_def:
        body["spec"]["app"]["appDef"]["x"] = "WIDE"
    else:
        body["spec"]["parameters"] = {"a": "WIDE"}
    return json.dumps(body).replace('"WIDE"', WIDE)


async def make_wide(api: Api, name: str, namespace: str, *, is_app_def: bool) -> None:
    """Create such a job, however long a busy API server takes for it."""
    body = write_wide(name, namespace, is_app_def=is_app_def)

    async def is_made() -> bool:
        status = await post(api, namespace, body)
        assert status in (201, 409, 504)
        return status != 504

    await eventually(is_made)


async def find_refusal(api: Api, name: str, namespace: str) -> str | None:
    """Why a job is refused, once it is. A watch would send each of these objects again and again."""
    await asyncio.sleep(0.5)
    status = (await api.get(kinds.NESTED_APP_JOB, name, namespace)).get("status") or {}
    found = conditions.find(status.get("conditions"), conditions.ADMITTED)
    return str(found["message"]) if found and found["status"] == "False" else None


async def make_large_others(api: Api, namespace: str) -> None:
    """What else a tenant can have the operator look at: clusters, Ingresses, and anything with Nestor's label."""
    words = {f"w{number}": "" for number in range(10_000)}
    for number in range(CLUSTERS):
        own = {"name": f"c{number}", "namespace": namespace, "labels": words}
        body = {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedCluster", "metadata": own, "spec": {"className": "missing"}}
        await api.create(kinds.NESTED_CLUSTER, body)
    large = {f"note-{number}": "x" * 60_000 for number in range(4)}
    for number in range(MANY):
        meta: Object = {"namespace": namespace, "annotations": large, "labels": {labels.MANAGED_BY: "nestor"}}
        rules = [{"host": f"h{host}.{number}.{namespace}.test"} for host in range(5000)]
        backend = {"service": {"name": "x", "port": {"number": 80}}}
        spec = {"defaultBackend": backend, "rules": rules}
        await api.create(kinds.INGRESS, {"metadata": meta | {"name": f"i{number}"}, "spec": spec})
        await api.create(kinds.SERVICE, {"metadata": meta | {"name": f"s{number}"}, "spec": {"ports": [{"port": 80}]}})


async def test_thirteen_wide_jobs_leave_the_operators_memory_flat_also_after_a_restart(
    second_plane: apiserver.ControlPlane, lonely: Api
) -> None:
    namespace = "team-wide"
    await lonely.create(kinds.NAMESPACE, {"metadata": {"name": namespace}})
    try:
        await _make_wide_and_restart(second_plane, lonely, namespace)
    finally:
        # Whatever is left would be read by each operator that is started here later.
        await lonely.delete(kinds.NAMESPACE, namespace)


async def _make_wide_and_restart(second_plane: apiserver.ControlPlane, lonely: Api, namespace: str) -> None:
    wide = [f"wide-{number}" for number in range(MANY)]
    async with operator_running(second_plane) as operator:
        await lonely.create(kinds.NESTED_APP_JOB, build_job("before", namespace))
        await job_with(lonely, "before", namespace, conditions.ADMITTED, "True")
        base = memory(operator)
        await make_large_others(lonely, namespace)
        # Parameters that look like an object.
        inner = {"metadata": {"uid": "a", "resourceVersion": "1", "name": "b"}, "spec": {"parameters": {}}}
        await lonely.create(kinds.NESTED_APP_JOB, build_job("like-an-object", namespace, parameters={"x": inner, "y": [inner]}))
        refusal = await eventually(partial(find_refusal, lonely, "like-an-object", namespace))
        assert refusal == "`spec.parameters` may not be set: the command has no parameters"
        for index, name in enumerate(wide):
            await make_wide(lonely, name, namespace, is_app_def=index % 2 == 0)
        said = await eventually(partial(find_refusal, lonely, wide[-1], namespace))
        assert "bytes as JSON; at most 262144 are accepted" in said
        await eventually(partial(is_flat, operator, base))
        assert peak_memory(operator) < MOST
    async with operator_running(second_plane) as operator:
        await lonely.create(kinds.NESTED_APP_JOB, build_job("after", namespace))
        await job_with(lonely, "after", namespace, conditions.ADMITTED, "True")
        await eventually(partial(is_flat, operator, base))
        assert peak_memory(operator) < MOST
        assert await find_refusal(lonely, "like-an-object", namespace) == refusal
        for number in range(CLUSTERS):
            await lonely.delete(kinds.NESTED_CLUSTER, f"c{number}", namespace)
        for name in ("like-an-object", *wide, "before", "after"):
            await lonely.delete(kinds.NESTED_APP_JOB, name, namespace)
        await gone(lonely, kinds.NESTED_APP_JOB, "after", namespace)

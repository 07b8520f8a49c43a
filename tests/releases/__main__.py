"""Records the checkout as a release."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator

import yaml

from nestor import __version__
from nestor.api import conditions
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.chart import CHART
from tests.integration.operator import world
from tests.integration.operator.conftest import operator_running, plane_running
from tests.releases import FOLDER, JOB, KINDS, SPACE, Object
from tests.waiting import job_with, wait_for


async def record() -> None:
    """Chart and job, into a folder of this version."""
    folder = FOLDER / __version__
    shutil.copytree(CHART, folder / "chart", dirs_exist_ok=True)
    async with plane_running() as plane, await Api.connect(str(plane.kubeconfig), manager="test") as api:
        async with operator_running(plane):
            home = await _run_job(api)
        found = [item async for item in _list(api, home)]
    (folder / "job.yaml").write_text(yaml.safe_dump_all(found, width=120))


async def _run_job(api: Api) -> str:
    await api.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    job = await api.create(kinds.NESTED_APP_JOB, world.build_job(JOB, SPACE))
    home = await world.host_namespace(api, job)
    await wait_for(api, kinds.STATEFUL_SET, f"{JOB}-k3s", home, bool)
    await world.be_ready_server(api, JOB, home)
    await world.be_syncer(api, JOB, home, run=await world.run_of(api, JOB, home, "Succeeded"))
    await world.set_pod_status(api, f"{JOB}-run", home, world.ended("runner", 0, "Completed"))
    await world.be_target(api, home, job)
    await job_with(api, JOB, SPACE, conditions.READY, "True")
    return home


async def _list(api: Api, home: str) -> AsyncIterator[Object]:
    for kind in (kinds.NESTED_APP_JOB, kinds.SECRET):
        for item in await api.list(kind, SPACE):
            yield _clean(item)
    for kind in KINDS.values():
        found = await api.list(kind, home) if kind.namespaced else await api.list(kind, fields=f"metadata.name={home}")
        for item in found:
            if item["metadata"]["name"] not in ("default", "kube-root-ca.crt"):
                yield _clean(item)


def _clean(item: Object) -> Object:
    item["metadata"].pop("managedFields", None)
    return item


if __name__ == "__main__":
    apiserver.binary()
    asyncio.run(record())

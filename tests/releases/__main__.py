"""Records the checkout as a release."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import yaml

from nestor import __version__
from nestor.api import conditions, labels
from nestor.api.objects import annotations_of, labels_of
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator import world
from tests.integration.operator.conftest import operator_running, plane_running
from tests.releases import FOLDER, JOB, KINDS, SPACE, WITH_STATUS, Object, is_of_stateful_set
from tests.waiting import job_with, wait_for

_MADE_BY_HOST = "endpointslice.kubernetes.io/managed-by"
_LINE = 280
_KEPT = ("name", "namespace", "uid", "labels", "annotations", "ownerReferences", "finalizers")


async def record() -> None:
    """The job, into a file of this version."""
    async with plane_running() as plane, await Api.connect(str(plane.kubeconfig), manager="test") as api:
        async with operator_running(plane):
            home = await _run_job(api)
        found = [item async for item in _list(api, home)]
    text = yaml.dump_all(found, Dumper=_Compact, width=_LINE, sort_keys=False)
    (FOLDER / f"{__version__}.yaml").write_text(text)


class _Compact(yaml.SafeDumper):
    """What fits into a line is written in one."""


def _write_mapping(dumper: _Compact, item: Object) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", item, len(str(item)) < _LINE)


def _write_sequence(dumper: _Compact, items: list[Any]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, len(str(items)) < _LINE)


_Compact.add_representer(dict, _write_mapping)
_Compact.add_representer(list, _write_sequence)


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
            own = labels_of(item)
            if item["metadata"]["name"] not in ("default", "kube-root-ca.crt") and _MADE_BY_HOST not in own:
                yield _clean(item)


def _clean(item: Object) -> Object:
    """What is written again. Keys that are renewed anyway have ended by then."""
    parts = {key: value for key, value in item.items() if key != "status" or item["kind"] in WITH_STATUS}
    parts["metadata"] = {key: value for key, value in item["metadata"].items() if key in _KEPT}
    if labels.RENEW_AFTER in annotations_of(item):
        parts["data"] = {key: "" for key in item["data"]}
    if is_of_stateful_set(item):
        del parts["spec"]
    return parts


if __name__ == "__main__":
    apiserver.binary()
    asyncio.run(record())

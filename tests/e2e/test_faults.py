"""Processes die; jobs do not."""

from pathlib import Path

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.e2e.conftest import Web, apply, example, kubectl, nested_kubeconfig
from tests.waiting import job_with


@pytest.mark.long
async def test_a_lost_control_plane_is_rebuilt_from_the_templates(api: Api, namespace: str, web: Web, tmp_path: Path) -> None:
    await apply(api, example("01-hello-world", "hello", namespace))
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    where = job["status"]["namespace"]
    (server,) = await api.list(kinds.POD, where, labels=labels.selector(component="server"))
    await api.delete(kinds.POD, server["metadata"]["name"], where, grace_seconds=0)
    await job_with(api, "hello", namespace, conditions.READY, "False")
    await job_with(api, "hello", namespace, conditions.READY, "True")
    nested = await kubectl(await nested_kubeconfig(api, job, tmp_path), "get", "pods", "-A")
    assert "web-" in nested
    assert "Hello" in await web.page(job["status"]["url"])

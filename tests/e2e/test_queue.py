"""A full class, with real jobs: who starts next, and when a place is free. For the rules: tests/unit/operator/guests/queue."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions
from nestor.kube import Api, kinds
from nestor.objects import is_terminating
from nestor.operator.world.pod_status import is_finished
from tests.e2e.conftest import NOTHING, apply, inline_job, kubectl, open_cluster
from tests.waiting import job_with, queued_job, wait_for_any

STAYS = """
apiVersion: v1
kind: Pod
metadata: {name: stays}
spec:
  terminationGracePeriodSeconds: 8
  containers:
  - {name: main, image: 'docker.io/library/busybox:1.35', command: [sleep, '3600']}
"""
"""Its process ignores SIGTERM, as the first of a container does which has no handler: the pod takes all of its time to end."""


@pytest.fixture
async def full(api: Api) -> AsyncIterator[str]:
    """A class in which one job runs at a time."""
    name = f"queue-{uuid.uuid4().hex[:6]}"
    default = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
    await api.apply(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": default | {"queue": {"maxJobs": 1}}})
    yield name
    await api.delete(kinds.NESTED_CLASS, name)


async def start(api: Api, name: str, namespace: str, class_name: str, **spec: Any) -> None:
    """Create a job that does nothing."""
    documents = inline_job(name, namespace, {"nothing.yaml": NOTHING})
    documents[-1]["spec"] |= {"className": class_name, **spec}
    await apply(api, documents)


async def test_a_full_class_lets_the_next_job_in_once_the_pods_of_another_one_are_gone(
    api: Api, namespace: str, full: str, tmp_path: Path
) -> None:
    first, inside = await open_cluster(api, "first", namespace, tmp_path, className=full)
    home = first["status"]["namespace"]
    await kubectl(inside, "apply", "-f", "-", stdin=STAYS)
    await kubectl(inside, "wait", "--for=condition=Ready", "pod/stays", "--timeout=60s", limit=90)
    await start(api, "second", namespace, full)
    await queued_job(api, "second", namespace, 1, "1 job runs, and 1 may")
    await start(api, "third", namespace, full)
    await queued_job(api, "third", namespace, 2)

    await api.patch(kinds.NESTED_APP_JOB, "first", namespace, {"spec": {"suspend": True}})
    host = await wait_for_any(
        api, kinds.POD, home, lambda pod: pod["metadata"]["name"].startswith("stays-") and is_terminating(pod)
    )
    await queued_job(api, "second", namespace, 1, "1 is ending")
    await job_with(api, "second", namespace, conditions.ADMITTED, "True")
    # A kubelet says that a pod has finished before it removes it.
    left = await api.find(kinds.POD, host["metadata"]["name"], home)
    assert left is None or is_finished(left)
    await job_with(api, "second", namespace, conditions.CLUSTER_READY, "True")

    await api.patch(kinds.NESTED_APP_JOB, "first", namespace, {"spec": {"suspend": False}})
    await queued_job(api, "first", namespace, 2)
    await api.delete(kinds.NESTED_APP_JOB, "second", namespace)
    await job_with(api, "third", namespace, conditions.ADMITTED, "True")
    await queued_job(api, "first", namespace, 1)

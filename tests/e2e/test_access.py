"""Access to a nested cluster: who has it, and how it is taken away."""

from pathlib import Path

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.e2e.conftest import Web, apply, example, kubectl, nested_kubeconfig, try_kubectl
from tests.waiting import eventually, job_with, wait_for_any


def count_restarts(pod: Object) -> dict[str, int]:
    """How often each container of a pod was restarted."""
    return {item["name"]: item["restartCount"] for item in pod["status"]["containerStatuses"]}


@pytest.mark.long
async def test_a_rotation_makes_copied_kubeconfigs_useless_and_ends_nothing(
    api: Api, namespace: str, web: Web, tmp_path: Path
) -> None:
    await apply(api, example("01-hello-world", "hello", namespace))
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    copied = await nested_kubeconfig(api, job, tmp_path)
    groups = await kubectl(copied, "auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}")
    assert "nestor:admins" in groups
    assert "system:masters" not in groups
    pods = await kubectl(copied, "get", "pods", "-o", "name")
    (server,) = await api.list(kinds.POD, job["status"]["namespace"], labels=labels.selector(component="server"))
    mark = {"metadata": {"annotations": {labels.ROTATE: "it leaked"}}}
    await api.patch(kinds.NESTED_APP_JOB, "hello", namespace, mark)
    (tmp_path / "new").mkdir()

    async def is_rotated() -> bool:
        # Otherwise kubelet would take up to a minute and a half to look after the pod's Secrets.
        await api.patch(kinds.POD, server["metadata"]["name"], server["metadata"]["namespace"], mark)
        code, output = await try_kubectl(copied, "get", "pods")
        return code != 0 and ("Unauthorized" in output or "provide credentials" in output or "must be logged in" in output)

    await eventually(is_rotated)
    # The server may take the new authority before the operator has written the new kubeconfig, and says when it has.
    await wait_for_any(api, kinds.EVENT, namespace, lambda item: item["reason"] == "KeysRotated")
    new = await nested_kubeconfig(api, job, tmp_path / "new")
    assert await kubectl(new, "get", "pods", "-o", "name") == pods

    async def has_syncer_followed() -> bool:
        found = await api.get(kinds.POD, server["metadata"]["name"], server["metadata"]["namespace"])
        return count_restarts(found) == count_restarts(server) | {"syncer": 1}

    await eventually(has_syncer_followed)
    job = await job_with(api, "hello", namespace, conditions.READY, "True")
    assert "Hello" in await web.page(job["status"]["url"])
    # Created now, it needs a syncer with rights in both clusters.
    await kubectl(new, "run", "late", "--image=docker.io/library/busybox:1.35", "--", "sleep", "60")
    await kubectl(new, "wait", "--for=condition=Ready", "pod/late")

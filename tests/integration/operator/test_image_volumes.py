"""A host cluster without image volumes, as Kubernetes 1.33 and 1.34 are by default: the user is told what is missing."""

from collections.abc import AsyncIterator
from unittest import mock

import pytest

from nestor.api.class_parts import ImagesPolicy
from nestor.api.times import now
from nestor.kube import Api, kinds
from nestor.operator.admission import reader_pod as appreader
from nestor.operator.admission.app_source import AppSource
from nestor.operator.job.runner_pod import build_pod, find_dropped
from nestor.operator.settings import Settings
from tests.integration import apiserver
from tests.unit.operator import builders

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
async def older_plane() -> AsyncIterator[Api]:
    """Such a cluster, and the namespace that the runner's pod is made for."""
    spawn = apiserver.ControlPlane._spawn

    def spawn_without(self: apiserver.ControlPlane, component: str, arguments: list[str]) -> None:
        more = ["--emulated-version=1.34", "--disable-admission-plugins=ServiceAccount"]
        known = [item for item in arguments if not item.startswith(("--feature-gates", "--runtime-config"))]
        spawn(self, component, known + more * (component == "kube-apiserver"))

    with mock.patch.object(apiserver.ControlPlane, "_spawn", spawn_without):
        async with apiserver.running(with_controllers=False) as plane, await Api.connect(str(plane.kubeconfig)) as api:
            await api.create(kinds.NAMESPACE, {"metadata": {"name": builders.build_shape().namespace}})
            yield api


@pytest.fixture
async def older(older_plane: Api) -> AsyncIterator[Api]:
    """Without the pods of an earlier test."""
    yield older_plane
    await older_plane.request("DELETE", kinds.POD.path(builders.build_shape().namespace))


async def test_a_dropped_image_volume_is_told_in_words(older: Api) -> None:
    resolved = builders.build_resolved()
    plan = resolved.build_plan("image:x", 0)
    pod = build_pod(resolved, Settings(image="nestor:1"), plan, "10.43.0.9", 1)
    assert find_dropped(resolved, pod, plan.hash) is None
    made = await older.create(kinds.POD, pod)
    assert "this cluster has no image volumes" in (find_dropped(resolved, made, plan.hash) or "")
    # So the runner sees no /app, and says so instead of failing a step.
    assert not [item for item in made["spec"]["containers"][0]["volumeMounts"] if item["mountPath"] == "/app"]


async def test_so_is_a_reader_without_the_image(older: Api) -> None:
    pod = appreader.build_pod(
        AppSource(image="registry.test/hello:1"), builders.build_shape(), Settings(image="nestor:1"), ImagesPolicy(), 1
    )
    made = await older.create(kinds.POD, pod)
    assert appreader.decide_reader(made, "registry.test/hello:1", now()).message.startswith("this cluster has no image volumes")


async def test_templates_of_a_config_map_need_none(older: Api) -> None:
    job = builders.build_job()
    job["spec"]["app"] = {"templatesFrom": {"configMapRef": {"name": "x"}}, "appDef": job["spec"]["app"]["appDef"]}
    resolved = builders.build_resolved(job)
    pod = build_pod(resolved, Settings(image="nestor:1"), resolved.build_plan("map:x", 0), "10.43.0.9", 1)
    assert (await older.create(kinds.POD, pod))["metadata"]["name"] == "hello-run"

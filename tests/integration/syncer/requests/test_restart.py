"""The syncer ends and begins anew: what is unchanged costs no request, what has changed meanwhile is put right."""

from __future__ import annotations

import pytest

from nestor.kube import kinds
from tests.integration.syncer.pods import build_pod
from tests.integration.syncer.requests.conftest import Stage
from tests.integration.syncer.test_config import config_map, secret
from tests.integration.syncer.test_services import build_service

pytestmark = pytest.mark.slow

SPACE = "restart"


async def test_requests(stage: Stage) -> None:
    world = stage.world
    await stage.set_up(
        (kinds.CONFIG_MAP, config_map(SPACE, "settings", color="red")),
        (kinds.SECRET, secret(SPACE, "typed", x="y")),
        (kinds.SERVICE, build_service(SPACE, clusterIP="10.43.0.111")),
        (kinds.SERVICE, build_service(SPACE, "other", clusterIP="10.43.0.112")),
    )
    sources = [{"name": "settings", "configMap": {"name": "settings"}}, {"name": "typed", "secret": {"secretName": "typed"}}]
    kept = await stage.start(build_pod(SPACE, "kept", volumes=sources))
    gone = await stage.start(build_pod(SPACE, "gone"))
    lost = await stage.start(build_pod(SPACE, "lost"))
    stage.recorder.is_noted = lambda _: True
    async with stage.step("the syncer begins anew"):
        await world.stop()
        await world.start()
    await world.stop()
    await world.nested.patch(kinds.CONFIG_MAP, "settings", SPACE, {"data": {"color": "blue"}})
    await world.nested.delete(kinds.SECRET, "typed", SPACE)
    await world.nested.create(kinds.SECRET, secret(SPACE, "typed", "kubernetes.io/basic-auth", username="me"))
    await world.nested.patch(kinds.POD, "kept", SPACE, {"metadata": {"labels": {"color": "blue"}}})
    await world.nested.delete(kinds.SERVICE, "other", SPACE)
    await world.nested.delete(kinds.POD, "gone", SPACE, grace_seconds=0)
    await world.finish(lost[1])
    async with stage.step("the syncer begins anew after changes: ConfigMap, Secret's type, label; Service, pod, host pod gone"):
        await world.start()
        await world.nested_pod(lost[0], lambda pod: pod["status"]["phase"] == "Failed")
        await stage.ending(gone[1])
    await world.finish(gone[1])
    await world.nested.delete(kinds.POD, "lost", SPACE)
    await stage.recorder.settle()
    await stage.remove(kept)
    await world.nested.delete(kinds.SERVICE, "web", SPACE)
    await stage.recorder.settle()
    stage.check()

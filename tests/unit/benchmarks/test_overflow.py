"""The light backend of the benchmarks is one that the provider can talk to; a run that misses a goal fails."""

from benchmarks.overflow.backend import LightBackend
from nestor.api.backend_kinds import Interlink
from nestor.api.objects import Object
from nestor.overflow.interlink.provider import InterlinkProvider
from nestor.overflow.interlink.settings import Settings
from nestor.pods.providers.base import Inputs


def build_pod(uid: str) -> Object:
    spec = {"restartPolicy": "Never", "containers": [{"name": "app", "image": "x"}]}
    return {"metadata": {"name": uid, "namespace": "shop", "uid": uid}, "spec": spec}


async def test_pods_run_and_end() -> None:
    backend, pods = LightBackend(), [build_pod(f"u-{index}") for index in range(3)]
    async with backend.serve() as url:
        provider = InterlinkProvider(Settings(Interlink(url=url)))
        await provider.check()
        for pod in pods:
            await provider.create(pod, Inputs(is_new=True))
        assert {item["phase"] for item in (await provider.statuses(pods)).values()} == {"Running"}
        backend.end_all()
        assert [item["phase"] for item in (await provider.statuses(pods)).values()] == ["Succeeded"] * 3
        await provider.delete(pods[0])
        assert (await provider.statuses(pods)).keys() == {"u-1", "u-2"}
        await provider.close()
    assert [count for _, count in backend.questions] == [3, 3, 3]
    assert backend.ended.keys() == {"u-0", "u-1", "u-2"}
    assert set(backend.creations.values()) == {1}

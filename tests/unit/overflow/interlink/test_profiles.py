"""What becomes of pods with each of interLink's plugins, as `docs/evidence/interlink-plugins.md` says."""

from collections.abc import AsyncIterator

import pytest

from nestor.api.objects import Object
from nestor.overflow.interlink import questions
from nestor.pods.providers.base import Inputs, Shape
from nestor.pods.providers.errors import NotFound, NotYet, Rejected, Unreachable
from tests.fakes.interlink import PROFILES, FakeInterlink
from tests.unit.overflow.interlink.conftest import Backend, Clock

NEW = Inputs(is_new=True)


def build_pod(uid: str = "u-1", **spec: object) -> Object:
    containers = [{"name": "app", "image": "x"}]
    meta = {"name": f"web-{uid}", "namespace": "shop", "uid": uid}
    return {"metadata": meta, "spec": {"restartPolicy": "Never", "containers": containers, **spec}}


class Plugin(Backend):
    name: str
    time: Clock

    async def ask(self, pods: list[Object]) -> dict[str, str]:
        """The phases after a few questions, each later than a plugin's memory lasts."""
        found: dict[str, str] = {}
        for _ in range(4):
            self.time.now += 11
            found |= {uid: status["phase"] for uid, status in (await self.made[0].statuses(pods)).items()}
        return found


@pytest.fixture(params=[(name, hop) for name in PROFILES for hop in ("Server", "Plugin")], ids="-".join)
async def plugin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Plugin]:
    name, hop = request.param
    fake = FakeInterlink(hop, PROFILES[name])
    async with fake.serve() as url:
        made = Plugin(fake, url)
        made.name, made.time, fake.ping_status = name, Clock(), 200
        fake.clock = made.time.monotonic
        monkeypatch.setattr(questions, "time", made.time)
        yield made
        for provider in made.made:
            await provider.close()


async def test_pods_run_to_their_end_and_their_init_containers_with_them(plugin: Plugin) -> None:
    """All of them, also where a plugin tells of the first pod of a question only."""
    provider = plugin.connect()
    pods = [build_pod("u-1", initContainers=[{"name": "init", "image": "x"}]), build_pod("u-2"), build_pod("u-3")]
    for pod in pods:
        assert (await provider.create(pod, NEW))["metadata"]["annotations"]["JobID"].startswith("job-")
    assert await plugin.ask(pods) == {"u-1": "Pending", "u-2": "Pending", "u-3": "Pending"}
    plugin.fake.end("u-1")
    plugin.fake.run("u-2")
    plugin.fake.end("u-3", 3)
    assert await plugin.ask(pods) == {"u-1": "Succeeded", "u-2": "Running", "u-3": "Failed"}


async def test_a_refusal_is_told_in_the_plugins_words(plugin: Plugin) -> None:
    plugin.fake.refuses = True
    with pytest.raises(Rejected) as caught:
        await plugin.connect(settle_seconds=3600).create(build_pod(), NEW)
    assert caught.value.message == PROFILES[plugin.name].refusal[1]


async def test_a_pod_that_was_lost_is_missed_unless_a_servers_memory_hides_it(plugin: Plugin) -> None:
    provider, pods = plugin.connect(silent_seconds=600), [build_pod("u-1"), build_pod("u-2")]
    for pod in pods:
        await provider.create(pod, NEW)
    await plugin.ask(pods)
    del plugin.fake.pods["u-1"]
    await plugin.ask(pods)
    if (plugin.name, plugin.fake.hop) == ("HTCondor", "Server"):
        assert (await plugin.ask(pods)).keys() == {"u-1", "u-2"}
        return
    assert (await plugin.ask(pods)).keys() == {"u-2"}
    if plugin.name == "HTCondor":
        with pytest.raises(NotYet, match="says nothing"):
            await provider.get(pods[0])
    plugin.time.now += 601
    with pytest.raises(NotFound):
        await provider.get(pods[0])


@pytest.mark.parametrize("state", ["unknown", "running", "ended"])
async def test_a_deleted_pod_is_gone_and_no_memory_keeps_it(plugin: Plugin, state: str) -> None:
    provider, pod = plugin.connect(), build_pod()
    if state != "unknown":
        await provider.create(pod, NEW)
        (plugin.fake.run if state == "running" else plugin.fake.end)("u-1")
    await provider.delete(pod)
    plugin.time.now += 11
    if (plugin.name, state) != ("HTCondor", "ended"):  # it goes on telling of a job that has ended
        with pytest.raises(NotFound):
            await provider.get(pod)
        assert not plugin.fake.memory


async def test_an_answer_from_memory_loses_no_other_clients_pod(plugin: Plugin) -> None:
    first, second = plugin.connect(), plugin.connect()
    await first.create(build_pod("u-1"), NEW)
    await second.create(build_pod("u-2"), NEW)
    await first.statuses([build_pod("u-1")])
    if plugin.name == "Slurm":
        with pytest.raises(NotYet, match="another client's question" if plugin.fake.hop == "Plugin" else "says nothing"):
            await second.get(build_pod("u-2"))
        plugin.time.now += 11
    assert (await second.get(build_pod("u-2")))["status"]["phase"] == "Pending"


async def test_a_ping_says_what_there_is_or_that_nobody_is_there(plugin: Plugin) -> None:
    plugin.fake.ping_status = PROFILES[plugin.name].ping_status
    if plugin.name == "SDK":
        with pytest.raises(Unreachable, match=r"fails: Internal Server Error$"):
            await plugin.connect().check()
    else:
        shapes = [Shape("default", {"cpu": "2", "memory": "9338Mi"})] if plugin.name == "Slurm" else None
        assert await plugin.connect().discover() == shapes


async def test_a_pod_of_which_only_names_are_left_can_be_ended(plugin: Plugin) -> None:
    """As after a restart. Plugins of the SDK want an image, whatever it is."""
    await plugin.connect().delete(build_pod(containers=[{"name": "app"}]))
    assert plugin.fake.bodies[0]["spec"]["containers"] == [{"name": "app", "image": "unknown"}]

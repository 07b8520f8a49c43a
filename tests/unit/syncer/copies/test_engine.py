"""What holds for every kind: ConfigMaps stand for all."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import ApiError, Forbidden, Invalid, Unreachable, kinds
from nestor.syncer.copies import engine
from nestor.syncer.copies.rows import config
from nestor.syncer.copies.rows.config import ConfigMapRow, SecretRow
from tests.unit.syncer.at_work import breathe
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, remembered, running

RELEASE = {"metadata": {"name": "release", "namespace": SPACE}, "type": "helm.sh/release.v1", "data": {}}
RELEASE_VOLUME = [{"name": "release", "secret": {"secretName": "release"}}]
VOLUME = [{"name": "settings", "configMap": {"name": "settings"}}]
FOREIGN = "host ConfigMap 'settings' already exists and belongs to someone else; left untouched"


def settings(**data: str) -> Object:
    return {"metadata": {"name": "settings", "namespace": SPACE}, "data": data}


def build(*, pod: bool = True) -> Clusters:
    """A ConfigMap, and a pod that names it."""
    clusters = Clusters.build()
    clusters.nested.put(kinds.CONFIG_MAP, settings(color="red"))
    if pod:
        clusters.add_pod(volumes=VOLUME)
    return clusters


def data(clusters: Clusters, name: str = "settings") -> Any:
    """What the copy says; None where there is none."""
    return (clusters.copy(kinds.CONFIG_MAP, name) or {}).get("data")


def written(clusters: Clusters) -> list[str]:
    """The verbs that the host was asked for."""
    return [item.split(" ")[0] for item in clusters.host.asked]


async def test_a_copy_comes_follows_and_goes() -> None:
    clusters = build(pod=False)
    async with running(clusters, ConfigMapRow) as made:
        assert data(clusters) is None
        clusters.add_pod(volumes=VOLUME)
        await made.settle()
        assert data(clusters) == {"color": "red"}
        await made.put_nested(kinds.CONFIG_MAP, settings(size="1"))
        assert data(clusters) == {"size": "1"}
        await made.drop_nested(kinds.POD, "web", SPACE)
        assert data(clusters) is None
        assert written(clusters) == ["POST", "PATCH", "DELETE"]
        assert clusters.nested.asked == []


async def test_pods_that_need_it_at_the_same_time_have_it_written_once() -> None:
    clusters = build(pod=False)
    async with running(clusters, ConfigMapRow) as made:
        clusters.host.hold(kinds.CONFIG_MAP)
        pods = [clusters.add_pod(f"web-{number}", volumes=VOLUME) for number in range(5)]
        await asyncio.gather(*(made.engine.ensure_needs(pod) for pod in pods))
        await made.settle()
        clusters.host.release(kinds.CONFIG_MAP)
        await made.settle()
        assert written(clusters) == ["POST"]


async def test_what_is_ensured_ahead_of_the_cache_is_not_taken_for_gone() -> None:
    clusters = Clusters.build()
    async with running(clusters, ConfigMapRow) as made:
        clusters.nested.hold(kinds.CONFIG_MAP)
        clusters.nested.put(kinds.CONFIG_MAP, settings(color="red"))
        pod = clusters.add_pod(volumes=VOLUME)
        await made.engine.ensure_needs(pod)
        await made.settle()
        assert data(clusters) == {"color": "red"}
        clusters.nested.release(kinds.CONFIG_MAP)
        await made.settle()
        assert data(clusters) == {"color": "red"}
        assert written(clusters) == ["POST"]
        await made.drop_nested(kinds.CONFIG_MAP, "settings", SPACE)
        assert data(clusters) is None


async def test_a_copy_that_the_cache_does_not_know_yet_is_changed_not_refused() -> None:
    clusters = build()
    async with running(clusters, ConfigMapRow):
        copy = clusters.copy(kinds.CONFIG_MAP, "settings")
    clusters.nested.drop(kinds.POD, "web", SPACE)
    async with running(clusters, ConfigMapRow) as made:
        clusters.host.hold(kinds.CONFIG_MAP)
        clusters.host.put(kinds.CONFIG_MAP, copy | {"data": {"color": "blue"}})
        clusters.add_pod(volumes=VOLUME)
        await made.settle()
        assert data(clusters) == {"color": "red"}
        assert written(clusters) == ["POST", "GET", "PATCH"]
        assert clusters.events == []


async def test_a_foreign_object_is_refused_once_and_never_changed() -> None:
    clusters = build()
    foreign = clusters.add_foreign(kinds.CONFIG_MAP, "settings", data={"color": "green"})
    async with running(clusters, ConfigMapRow) as made:
        await made.until(lambda: written(clusters).count("POST") >= 2)
        assert clusters.events == [("NotCopied", FOREIGN)]
        assert data(clusters) == {"color": "green"}
        with pytest.raises(Forbidden, match="belongs to someone else"):
            await made.engine.ensure((SPACE, "settings"))
        clusters.host.drop(kinds.CONFIG_MAP, foreign["metadata"]["name"], HOST)
        await made.until(lambda: data(clusters) == {"color": "red"})
        await made.settle()
        assert clusters.events == [("NotCopied", FOREIGN)]


async def test_what_others_do_to_a_copy_is_put_right() -> None:
    clusters = build()
    async with running(clusters, ConfigMapRow) as made:
        copy = clusters.copy(kinds.CONFIG_MAP, "settings")
        copy["metadata"]["labels"]["backup"] = "yes"
        await made.put_host(kinds.CONFIG_MAP, copy | {"data": {"color": "black", "more": "x"}})
        assert data(clusters) == {"color": "red"}
        assert (clusters.copy(kinds.CONFIG_MAP, "settings") or {})["metadata"]["labels"]["backup"] == "yes"
        await made.drop_host(kinds.CONFIG_MAP, copy["metadata"]["name"], HOST)
        assert data(clusters) == {"color": "red"}


async def test_the_next_process_goes_on() -> None:
    clusters = build()
    for name in ("orphan", "gone", "forgotten"):
        clusters.nested.put(kinds.CONFIG_MAP, {"metadata": {"name": name, "namespace": SPACE}, "data": {"x": "y"}})
        clusters.add_pod(name, volumes=[{"name": "v", "configMap": {"name": name}}])
    async with running(clusters, ConfigMapRow):
        assert data(clusters, "orphan") == {"x": "y"}
    clusters.nested.put(kinds.CONFIG_MAP, settings(color="blue"))
    for kind, name in (
        (kinds.CONFIG_MAP, "gone"),
        (kinds.POD, "orphan"),
        (kinds.CONFIG_MAP, "forgotten"),
        (kinds.POD, "forgotten"),
    ):
        clusters.nested.drop(kind, name, SPACE)
    async with running(clusters, ConfigMapRow):
        assert data(clusters) == {"color": "blue"}
        assert [clusters.copy(kinds.CONFIG_MAP, name) for name in ("gone", "orphan", "forgotten")] == [None] * 3


@pytest.mark.parametrize(
    ("error", "is_tried_again"),
    [(Forbidden(403, "Forbidden", "exceeded quota"), True), (Invalid(422, "Invalid", "no such field"), False)],
)
async def test_a_refusal_is_told_once(error: ApiError, is_tried_again: bool) -> None:
    clusters = build(pod=False)
    async with running(clusters, ConfigMapRow) as made:
        clusters.host.refusal = lambda *_: error
        clusters.add_pod(volumes=VOLUME)
        await made.until(lambda: len(clusters.host.asked) >= (2 if is_tried_again else 1))
        clusters.nested.put(kinds.CONFIG_MAP, settings(color="blue"))
        await made.until(lambda: len(clusters.host.asked) >= (3 if is_tried_again else 2))
        if not is_tried_again:
            await made.settle()
        assert clusters.events == [("NotCopied", error.message)]


@pytest.mark.parametrize("end", ["it is written", "nobody names it", "another one has its name"])
async def test_a_refusal_is_told_again_when_it_comes_again(end: str) -> None:
    clusters = build()
    async with running(clusters, ConfigMapRow) as made:
        clusters.host.refusal = lambda *_: Invalid(422, "Invalid", "no such field")
        await made.put_nested(kinds.CONFIG_MAP, settings(color="blue"))
        if end == "it is written":
            clusters.host.refusal = lambda *_: None
            await made.put_nested(kinds.CONFIG_MAP, settings(color="white"))
            clusters.host.refusal = lambda *_: Invalid(422, "Invalid", "no such field")
        elif end == "nobody names it":
            await made.drop_nested(kinds.POD, "web", SPACE)
            clusters.add_pod(volumes=VOLUME)
            await made.settle()
        else:  # A list brings both news as one.
            source = made.caches.nested(kinds.CONFIG_MAP).get("settings", SPACE)
            assert source is not None
            meta = source["metadata"] | {"uid": "next", "resourceVersion": "next"}
            made.caches.nested(kinds.CONFIG_MAP)._set((SPACE, "settings"), source | {"metadata": meta})
            await made.settle()
        if end != "another one has its name":
            await made.put_nested(kinds.CONFIG_MAP, settings(color="green"))
        assert clusters.events == [("NotCopied", "no such field")] * 2


async def test_a_copy_that_is_needed_while_it_is_removed_is_made_again() -> None:
    """The cache has it still: it must not be relied on."""
    clusters = build()
    async with running(clusters, ConfigMapRow) as made:
        clusters.host.hold(kinds.CONFIG_MAP)
        await made.drop_nested(kinds.POD, "web", SPACE)
        assert data(clusters) is None
        await made.engine.ensure_needs(clusters.add_pod("next", volumes=VOLUME))
        assert data(clusters) == {"color": "red"}
        clusters.host.release(kinds.CONFIG_MAP)
        await made.settle()
        assert data(clusters) == {"color": "red"}


async def test_what_is_needed_again_before_its_removal_begins_stays() -> None:
    clusters = build()
    async with running(clusters, ConfigMapRow) as made:
        async with made.engine.copier._lock((SPACE, "settings")):  # somebody writes it
            clusters.nested.drop(kinds.POD, "web", SPACE)
            await breathe()
            clusters.add_pod("next", volumes=VOLUME)
            await breathe()
        await made.settle()
        assert written(clusters) == []


async def test_a_removal_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters = build()
    async with running(clusters, ConfigMapRow) as made:
        errors, delete = [Unreachable("connection reset")], clusters.host.delete

        async def fail_once(*given: Any, **named: Any) -> bool:
            if errors:
                raise errors.pop()
            return await delete(*given, **named)

        monkeypatch.setattr(clusters.host, "delete", fail_once)
        clusters.nested.drop(kinds.POD, "web", SPACE)
        await made.until(lambda: data(clusters) is None)


class LingeringRow(ConfigMapRow):
    linger_seconds = 100  # by the test's clock


async def test_a_copy_lingers_for_the_whole_time_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clusters, now = build(), [0.0]
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: now[0]))
    async with running(clusters, LingeringRow) as made:

        async def wait(seconds: float) -> bool:
            now[0] += seconds
            made.engine.queue.add((SPACE, "settings"))
            await made.settle()
            return data(clusters) is not None

        for _ in range(2):
            clusters.nested.drop(kinds.POD, "web", SPACE)
            assert await wait(0)
            assert await wait(60)
            clusters.add_pod(volumes=VOLUME)
            await made.settle()
        clusters.nested.drop(kinds.POD, "web", SPACE)
        assert await wait(0)
        assert await wait(99)
        assert not await wait(1)
        assert remembered(made.engine) == 0


async def test_few_copies_linger_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    clusters = Clusters.build()
    async with running(clusters, ConfigMapRow) as made:
        found = [f"settings-{number}" for number in range(30)]
        for name in found:
            clusters.nested.put(kinds.CONFIG_MAP, {"metadata": {"name": name, "namespace": SPACE}, "data": {}})
            pod = clusters.add_pod(name, volumes=[{"name": "v", "configMap": {"name": name}}])
            await made.engine.ensure_needs(pod)
        for name in found:
            clusters.nested.drop(kinds.POD, name, SPACE)
        await made.settle()
        assert sum(clusters.copy(kinds.CONFIG_MAP, name) is not None for name in found) == config.PodsRow.lingering_most


async def test_a_lingering_copy_that_others_delete_is_forgotten() -> None:
    clusters = build()
    async with running(clusters, LingeringRow) as made:
        await made.drop_nested(kinds.POD, "web", SPACE)
        copy = clusters.copy(kinds.CONFIG_MAP, "settings")
        await made.drop_host(kinds.CONFIG_MAP, copy["metadata"]["name"], HOST)
        assert remembered(made.engine) == 0


async def test_a_refused_object_that_goes_is_forgotten() -> None:
    clusters = build()
    clusters.add_foreign(kinds.CONFIG_MAP, "settings", data={})
    async with running(clusters, ConfigMapRow) as made:
        await made.until(lambda: clusters.events)
        clusters.nested.drop(kinds.CONFIG_MAP, "settings", SPACE)
        await made.drop_nested(kinds.POD, "web", SPACE)
        assert remembered(made.engine) == 0


async def test_a_secret_of_another_type_takes_the_place_of_the_earlier_one_once() -> None:
    clusters = Clusters.build()
    secret = {"metadata": {"name": "key", "namespace": SPACE}, "type": "Opaque", "data": {}}
    clusters.nested.put(kinds.SECRET, secret)
    clusters.add_pod(volumes=[{"name": "key", "secret": {"secretName": "key"}}])
    async with running(clusters, SecretRow) as made:
        clusters.host.hold(kinds.SECRET)
        await made.put_nested(kinds.SECRET, secret | {"type": "kubernetes.io/tls"})
        made.engine.queue.add((SPACE, "key"))
        await made.settle()
        assert (clusters.copy(kinds.SECRET, "key") or {})["type"] == "kubernetes.io/tls"
        assert written(clusters) == ["DELETE", "POST"]


async def test_a_secret_that_the_cache_leaves_out_is_forgotten_with_its_last_pod() -> None:
    clusters = Clusters.build()
    async with running(clusters, SecretRow) as made:
        assert remembered(made.engine) == 0
        clusters.nested.put(kinds.SECRET, RELEASE)
        for name in ("one", "two"):
            await made.engine.ensure_needs(clusters.add_pod(name, volumes=RELEASE_VOLUME))
            await made.settle()
        for name in ("one", "two"):
            assert clusters.copy(kinds.SECRET, "release") is not None
            await made.drop_nested(kinds.POD, name, SPACE)
        assert clusters.copy(kinds.SECRET, "release") is None
        await made.drop_nested(kinds.SECRET, "release", SPACE)
        assert remembered(made.engine) == 0


async def test_the_next_process_keeps_the_copy_of_one_that_its_cache_leaves_out() -> None:
    clusters = Clusters.build()
    clusters.nested.put(kinds.SECRET, RELEASE)
    pod = clusters.add_pod(volumes=RELEASE_VOLUME)
    async with running(clusters, SecretRow) as made:
        await made.engine.ensure_needs(pod)
        await made.settle()
    before = clusters.copy(kinds.SECRET, "release")
    async with running(clusters, SecretRow) as made:
        assert clusters.copy(kinds.SECRET, "release") == before
        await made.drop_nested(kinds.POD, "web", SPACE)
        assert clusters.copy(kinds.SECRET, "release") is None
        assert remembered(made.engine) == 0

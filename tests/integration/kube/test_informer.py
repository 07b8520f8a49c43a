"""The informer against a real API server: first list, changes, selectors, lost connections, deletions missed meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nestor.api.objects import Object
from nestor.kube import Api, Change, Informer, Kind, kinds
from tests.integration import apiserver
from tests.integration.kube import faults
from tests.integration.kube.test_client import config_map


class Recorder:
    """What an informer told, and a way to await it."""

    def __init__(self, informer: Informer) -> None:
        self.seen: list[tuple[str, str]] = []
        self._changed = asyncio.Event()
        informer.on_change(self._take)

    def _take(self, change: Change) -> None:
        what = "added" if change.old is None else "deleted" if change.new is None else "modified"
        self.seen.append((what, change.key[1]))
        self._changed.set()

    async def until(self, *expected: tuple[str, str]) -> None:
        """Await that exactly these changes were told, in this order."""
        while self.seen != list(expected):
            self._changed.clear()
            await self._changed.wait()


@asynccontextmanager
async def running(informer: Informer) -> AsyncIterator[None]:
    """The informer's task for the length of a `with` block."""
    task = asyncio.create_task(informer.run())
    try:
        await informer.synced.wait()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def selected(api: Api, namespace: str, watch_seconds: int = 240) -> Informer:
    """An informer of the ConfigMaps with the label `watch=yes`."""
    return Informer(api, kinds.CONFIG_MAP, namespace, labels="watch=yes", watch_seconds=watch_seconds)


async def create(api: Api, namespace: str, name: str, watch: str = "yes") -> None:
    """A ConfigMap with the label."""
    body = config_map(name, namespace)
    body["metadata"]["labels"] = {"watch": watch}
    await api.create(kinds.CONFIG_MAP, body)


async def test_it_tells_what_was_there_and_what_changes(host: Api, namespace: str) -> None:
    await create(host, namespace, "a")
    await create(host, namespace, "other", watch="no")
    informer = selected(host, namespace)
    recorder = Recorder(informer)
    async with running(informer):
        await recorder.until(("added", "a"))
        await host.patch(kinds.CONFIG_MAP, "a", namespace, {"data": {"x": "1"}})
        await recorder.until(("added", "a"), ("modified", "a"))
        cached = informer.get("a", namespace)
        assert cached is not None
        assert cached["kind"] == "ConfigMap"
        assert cached["data"] == {"x": "1"}
        # An object that stops matching the selector is gone for this informer.
        await host.patch(kinds.CONFIG_MAP, "a", namespace, {"metadata": {"labels": {"watch": "no"}}})
        await recorder.until(("added", "a"), ("modified", "a"), ("deleted", "a"))
        assert list(informer) == []


async def test_it_survives_the_servers_end_of_a_watch(host: Api, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    watches: asyncio.Queue[None] = asyncio.Queue()
    watch = host.watch

    def counted(kind: Kind, where: str | None, query: dict[str, str]) -> AsyncIterator[Object]:
        watches.put_nowait(None)
        return watch(kind, where, query)

    monkeypatch.setattr(host, "watch", counted)
    informer = selected(host, namespace, watch_seconds=1)
    recorder = Recorder(informer)
    async with running(informer):
        for number in range(3):
            await watches.get()
            await create(host, namespace, f"a{number}")
            await recorder.until(*[("added", f"a{index}") for index in range(number + 1)])


async def test_what_it_missed_while_it_was_away_arrives_as_changes(host: Api, namespace: str) -> None:
    await create(host, namespace, "stays")
    await create(host, namespace, "goes")
    informer = selected(host, namespace)
    recorder = Recorder(informer)
    async with running(informer):
        await recorder.until(("added", "goes"), ("added", "stays"))
    recorder.seen.clear()
    await host.delete(kinds.CONFIG_MAP, "goes", namespace)
    await create(host, namespace, "comes")
    informer._version = "1"  # as after a long outage: too old, the server answers 410
    async with running(informer):
        await recorder.until(("deleted", "goes"), ("added", "comes"))


async def test_what_happens_while_connections_are_cut_arrives_once_and_in_order(
    host: Api, control_plane: apiserver.ControlPlane, namespace: str
) -> None:
    content = json.loads(control_plane.kubeconfig.read_text())
    async with faults.proxy_to(host.host) as proxy:
        content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
        async with await Api.from_kubeconfig(content) as api:
            informer = selected(api, namespace)
            recorder = Recorder(informer)
            expected: list[tuple[str, str]] = []
            async with running(informer):
                for number in range(20):
                    proxy.cut()
                    proxy.delay = 0.01 * (number % 3)
                    proxy.is_down = number % 5 == 1
                    await create(host, namespace, f"a{number}")
                    proxy.is_down = False
                    expected.append(("added", f"a{number}"))
                    await recorder.until(*expected)
                    if number % 2:
                        await host.delete(kinds.CONFIG_MAP, f"a{number}", namespace)
                        expected.append(("deleted", f"a{number}"))
                assert len(informer.store) >= 10

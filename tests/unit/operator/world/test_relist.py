"""Nothing is decided before everything is known, in whatever order the watches start."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nestor.api.crd import RESOURCES, build_crd
from nestor.cluster.shape import Host
from nestor.kube import Api, Kind, WorkQueue, kinds, pages
from nestor.kube.errors import NotFound
from nestor.operator.settings import Settings
from nestor.operator.wiring import APP, BACKEND, CLASS, JOB, Key, Operator
from nestor.operator.world.cache import Cache, Store
from nestor.operator.world.context import Context
from nestor.operator.world.kept import PACKED, find_fault, read_spec
from nestor.operator.world.kopf_events import Feeds, build_response
from nestor.operator.world.relist import Lists
from nestor.operator.world.trim import trim_job

Object = dict[str, Any]


def obj(name: str, version: str = "1", uid: str = "") -> Object:
    """An object."""
    return {"metadata": {"name": name, "namespace": "n", "uid": uid or name, "resourceVersion": version}, "spec": {}}


class FakeApi:
    """Lists what it has; fails first, as often as told, except for definitions."""

    def __init__(self, content: dict[Kind, list[Object]], failures: int = 0) -> None:
        self.content = content
        self.failures = failures
        self.on_failure: Callable[[], None] = lambda: None

    async def list(self, kind: Kind, **_: str) -> list[Object]:
        """All of a kind."""
        await asyncio.sleep(0)
        if self.failures and kind != kinds.CRD:
            self.failures -= 1
            self.on_failure()
            raise NotFound(404, "NotFound", "the server could not find the requested resource")
        return [{"kind": kind.name, **item} for item in self.content.get(kind, ())]


async def test_no_work_is_done_before_jobs_clusters_classes_and_apps_are_listed() -> None:
    content = {
        kinds.NESTED_APP_JOB: [obj("job")],
        kinds.NESTED_CLUSTER: [obj("mine")],
        kinds.NESTED_CLASS: [obj("default")],
        kinds.NESTED_APP: [{"metadata": {"name": "app", "resourceVersion": "1"}}],
        kinds.OVERFLOW_BACKEND: [{"metadata": {"name": "link", "resourceVersion": "1"}}],
        kinds.CRD: [build_crd(resource) for resource in RESOURCES],
    }
    api = FakeApi(content, failures=2)
    context = Context.create(cast(Api, api), Settings(image="x"), Cache(cast(Api, api)), Host(()))
    operator = Operator(context)
    worked: dict[Key, tuple[int, ...]] = {}
    is_done = asyncio.Event()

    async def work(key: Key) -> None:
        worked[key] = tuple(len(list(store)) for store, _ in operator.feeds().values())
        if len(worked) == 5:
            is_done.set()

    operator.queue = WorkQueue(work, name="test")
    operator.queue.add(Key(JOB, "n", "early"))
    for informer in operator.cache.informers.values():
        informer.synced.set()
    before: list[int] = []
    api.on_failure = lambda: before.append(len(worked))
    task = asyncio.create_task(operator._work())
    await asyncio.wait_for(is_done.wait(), 60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert before == [0, 0]
    jobs = {Key(JOB, "n", "early"), Key(JOB, "n", "job")}
    others = {Key(APP, "", "app"), Key(BACKEND, "", "link"), Key(CLASS, "", "default")}
    assert set(worked) == jobs | others
    assert set(worked.values()) == {(1, 1, 1, 1, 1)}


async def test_what_went_unseen_is_dropped_and_told_and_what_is_new_too() -> None:
    store, told = Store(), list[str]()
    for item in (obj("stays"), obj("goes"), obj("changes")):
        store.put(item)
    content = {kinds.NESTED_APP_JOB: [obj("stays"), obj("changes", "2"), obj("comes")]}
    feeds: Feeds = {kinds.NESTED_APP_JOB: (store, lambda item: told.append(item["metadata"]["name"]))}
    await Lists(cast(Api, FakeApi(content)), feeds).keep(delays=[0])
    assert sorted(told) == ["changes", "comes", "goes"]
    assert sorted(item["metadata"]["name"] for item in store) == ["changes", "comes", "stays"]


META: Object = {"uid": "a", "resourceVersion": "1", "name": "b"}


@pytest.mark.parametrize(
    "inner", [{"spec": {"parameters": {}}}, {"spec": "boom"}, {"spec": {}, "metadata": META | {"labels": "x"}}], ids=str
)
async def test_no_object_of_a_user_ends_the_lists(inner: Object) -> None:
    evil = obj("evil") | {"spec": {"app": {"appDef": {"commands": {}, "extra": {"metadata": META} | inner}}}}
    broken = obj("broken") | {"spec": "no dictionary"}
    text = json.dumps({"metadata": {"resourceVersion": "9"}, "items": [evil, broken, obj("good")]})

    class TextApi:
        async def request(
            self, method: str, path: str, query: dict[str, str] | None = None, *, parse: pages.Parse = json.loads, **_: Any
        ) -> Any:
            assert (method, query) == ("GET", {"limit": str(pages.SMALL_SIZE)})
            return parse(text.encode())

        async def list(self, kind: Kind) -> list[Object]:
            return (await pages.read(self.request, kind, None, {}, trim_job)).items

    store = Store(trim_job)
    lists = Lists(cast(Api, TextApi()), {kinds.NESTED_APP_JOB: (store, lambda item: None)})
    await asyncio.wait_for(lists.fill(), 60)
    assert lists.is_filled.is_set()
    found = {item["metadata"]["name"]: find_fault(item) for item in store}
    assert found["evil"] is found["good"] is None
    assert str(found["broken"]).startswith("it cannot be read: ")


async def test_kopfs_lists_are_trimmed_item_by_item_too() -> None:
    job = obj("one") | {"spec": {"parameters": {"a": {"metadata": META, "spec": "boom"}}}}
    feeds: Feeds = {kinds.NESTED_APP_JOB: (Store(trim_job), lambda item: None), kinds.NESTED_CLASS: (Store(), lambda item: None)}

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"kind": "List", "items": [job], "path": request.path})

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server, aiohttp.ClientSession(response_class=build_response(feeds)) as session:

        async def read(path: str) -> Object:
            async with session.get(server.make_url(path)) as response:
                found: Object = await response.json()
            assert found["path"] == path
            return found

        (trimmed,) = (await read(kinds.NESTED_APP_JOB.path()))["items"]
        assert PACKED in trimmed
        assert read_spec(trimmed) == job["spec"]
        for path in (kinds.NESTED_CLASS.path(), kinds.NESTED_APP.path(), kinds.NESTED_APP_JOB.path("n", "one")):
            assert (await read(path))["items"] == [job]


async def test_a_list_that_is_older_than_the_watch_changes_nothing() -> None:
    class SlowApi(FakeApi):
        async def list(self, kind: Kind, **_: str) -> list[Object]:
            found = await super().list(kind)
            # Delivered by the watch while the list was on its way.
            store.put(obj("new"))
            store.put(obj("again", "7", uid="second"))
            return found

    store = Store()
    store.put(obj("old", "5"))
    store.put(obj("again", "5", uid="first"))
    content = {kinds.NESTED_APP_JOB: [obj("old", "4"), obj("again", "6", uid="first")]}
    await Lists(cast(Api, SlowApi(content)), {kinds.NESTED_APP_JOB: (store, lambda item: None)}).keep(delays=[0])
    versions = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in store}
    assert versions == {"new": "1", "old": "5", "again": "7"}


async def test_a_failing_list_later_on_ends_nothing() -> None:
    store = Store()
    store.put(obj("kept"))
    await Lists(cast(Api, FakeApi({}, failures=1)), {kinds.NESTED_APP_JOB: (store, lambda item: None)}).keep(delays=[0])
    assert store.get("kept", "n")

"""The definitions of VolumeSnapshots that nested clusters get."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, cast

from nestor.kube import Api, kinds
from nestor.kube.events import EventRecorder
from nestor.syncer.copies.rows.snapshots import KINDS, Definitions, build_definition
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.context import Context
from tests.fakes.api import MemoryApi
from tests.unit.pods.translate.builders import TARGET
from tests.waiting import eventually

Object = dict[str, Any]


def define(plural: str) -> Object:
    """A definition of the host's, with an older version and what leads from one to the other."""
    versions: list[Object] = [
        {"name": name, "served": True, "storage": name == "v1beta1", "schema": {}} for name in ("v1beta1", "v1")
    ]
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "x", "namespace": "of-the-host"}}}}
    notes = {"api-approved.kubernetes.io": "https://example.org", "of-the-host": "x"}
    return {
        "metadata": {"name": f"{plural}.snapshot.storage.k8s.io", "annotations": notes},
        "spec": {
            "group": "snapshot.storage.k8s.io",
            "names": {"plural": plural, "kind": "X"},
            "scope": "Namespaced",
            "versions": versions,
            "conversion": conversion,
        },
    }


def test_a_definition_has_one_version_and_nothing_that_calls_the_host() -> None:
    built = build_definition(define("volumesnapshots"))
    assert "conversion" not in built["spec"]
    assert built["spec"]["versions"] == [{"name": "v1", "served": True, "storage": True, "schema": {}}]
    assert built["metadata"]["annotations"] == {"api-approved.kubernetes.io": "https://example.org"}


async def test_what_is_missing_is_created_once_the_class_asks_for_it_and_nothing_is_changed() -> None:
    host, nested = MemoryApi(), MemoryApi()
    body = {"metadata": {"name": TARGET.cluster, "namespace": TARGET.namespace}, "spec": {}}
    host.put(kinds.NESTED_CLUSTER, body)
    for kind in KINDS:
        host.put(kinds.CRD, define(kind.plural))
    own = define("volumesnapshots") | {"own": True}
    nested.put(kinds.CRD, own)
    caches = Caches(cast(Api, host), cast(Api, nested), TARGET)
    context = Context(cast(Api, host), cast(Api, nested), TARGET, caches, EventRecorder(cast(Api, nested), "test"))
    made = Definitions(context)
    tasks = [asyncio.create_task(part) for part in (made.run(), caches.host_cluster.run())]
    try:
        await caches.host_cluster.synced.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(nested.objects) == 1
        host.put(kinds.NESTED_CLUSTER, body | {"status": {"policy": {"storage": {"snapshotClasses": ["hourly"]}}}})

        async def look() -> bool:
            return len(nested.objects) == len(KINDS)

        await eventually(look)
        assert (nested.look(kinds.CRD, own["metadata"]["name"]) or {})["own"] is True
    finally:
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

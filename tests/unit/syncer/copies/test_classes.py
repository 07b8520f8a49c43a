"""PriorityClasses and RuntimeClasses come up if the class names them."""

from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.kube import Kind, kinds
from nestor.pods.translate.placement import build_mark
from nestor.syncer.copies.rows.classes import PriorityClassRow, RuntimeClassRow, build_priority_class, build_runtime_class
from tests.unit.syncer.copies.pair import Clusters, Running, running

PRIORITY, RUNTIME = kinds.PRIORITY_CLASS, kinds.RUNTIME_CLASS
OURS = {"app.kubernetes.io/managed-by": "nestor"}


def allow(clusters: Clusters, **placement: Any) -> None:
    clusters.allow(placement={key: {"allowed": value} for key, value in placement.items()})


def put(clusters: Clusters, kind: Kind, name: str, **content: Any) -> None:
    clusters.host.put(kind, {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, **content})


def values(clusters: Clusters) -> dict[str, int]:
    """The nested PriorityClasses that are Nestor's."""
    found = clusters.nested.every(PRIORITY.plural)
    return {item["metadata"]["name"]: item["value"] for item in found if item["metadata"].get("labels") == OURS}


async def test_what_the_class_lists_is_there_while_the_host_has_it() -> None:
    clusters = Clusters.build(PRIORITY)
    put(clusters, PRIORITY, "batch", value=7, globalDefault=True)
    put(clusters, PRIORITY, "hidden", value=9)
    allow(clusters, priorityClasses=["batch", "absent"])
    async with running(clusters, PriorityClassRow) as made:
        await made.until(lambda: values(clusters) == {"batch": 7})
        clusters.host.drop(PRIORITY, "batch")
        put(clusters, PRIORITY, "batch", value=8)
        put(clusters, PRIORITY, "absent", value=1)
        await made.until(lambda: values(clusters) == {"batch": 8, "absent": 1})
        allow(clusters, priorityClasses=["hidden"])
        await made.until(lambda: values(clusters) == {"hidden": 9})
        clusters.host.drop(PRIORITY, "hidden")
        await made.until(lambda: values(clusters) == {})


async def test_what_was_left_by_an_earlier_syncer_goes() -> None:
    clusters = Clusters.build(PRIORITY)
    clusters.nested.put(PRIORITY, {"metadata": {"name": "old", "labels": OURS}, "value": 3})
    async with running(clusters, PriorityClassRow) as made:
        await made.until(lambda: clusters.nested.look(PRIORITY, "old") is None)


def runtimes(made: Running) -> dict[str, str | None]:
    """What these names stand for on the host; absent if pods may not use them."""
    found = made.caches.policy.places.runtime_classes
    return {name: found.find(name) for name in ("mine", "other", "gvisor") if found.allows(name)}


async def test_a_tenant_s_own_runtime_class_stands_for_an_allowed_one_with_its_handler() -> None:
    clusters = Clusters.build(RUNTIME)
    put(clusters, RUNTIME, "gvisor", handler="runsc")
    put(clusters, RUNTIME, "kata", handler="kata")
    told: list[str] = []
    async with running(clusters, RuntimeClassRow) as made:
        made.caches.on_policy(lambda: told.append("news"))
        for name, handler in (("mine", "runsc"), ("other", "kata")):
            clusters.nested.put(RUNTIME, {"metadata": {"name": name}, "handler": handler})
        await made.settle()
        assert runtimes(made) == {}
        allow(clusters, runtimeClasses=["gvisor"])
        await made.until(lambda: runtimes(made) == {"mine": "gvisor", "gvisor": "gvisor"})
        before = made.caches.policy.places
        clusters.nested.drop(RUNTIME, "mine")
        await made.until(lambda: runtimes(made) == {"gvisor": "gvisor"})
        await made.settle()
        assert clusters.nested.look(RUNTIME, "mine") is None
        assert clusters.nested.look(RUNTIME, "other") is not None
        # Pods that wait stay as they are: the rules under which they were made are the same.
        assert build_mark(before) == build_mark(made.caches.policy.places)
        clusters.host.drop(RUNTIME, "gvisor")
        clusters.nested.put(RUNTIME, {"metadata": {"name": "mine"}, "handler": "runsc"})
        await made.until(lambda: runtimes(made) == {"gvisor": "gvisor"} and clusters.nested.look(RUNTIME, "gvisor") is None)
    assert told


@pytest.mark.parametrize(("value", "expected"), [(5, 5), (-5, -5), (2_000_000_000, 1_000_000_000)])
def test_a_priority_is_one_that_the_nested_api_server_takes(value: int, expected: int) -> None:
    host = {"apiVersion": "a", "kind": "b", "metadata": {"name": "high"}, "value": value, "preemptionPolicy": "Never"}
    built = build_priority_class(host)
    assert built["value"] == expected
    assert built["preemptionPolicy"] == "Never"
    assert built["metadata"] == {"name": "high", "labels": OURS}


@pytest.mark.parametrize("overhead", [{}, {"overhead": {"podFixed": {"cpu": "250m"}}}])
def test_a_runtime_class_comes_up_without_its_nodes(overhead: Object) -> None:
    host = {"apiVersion": "a", "kind": "b", "metadata": {"name": "x"}, "handler": "runsc", **overhead}
    built = build_runtime_class(host | {"scheduling": {"nodeSelector": {"runtime": "gvisor"}}})
    assert built == host | {"metadata": {"name": "x", "labels": OURS}}

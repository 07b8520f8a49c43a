"""Which objects live pods name, and when that changes."""

import pytest

from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.kube import kinds
from nestor.syncer.copies.references import may_run
from nestor.syncer.copies.rows.config import ConfigMapRow
from tests.unit.pods.translate.builders import build_pod
from tests.unit.syncer.copies.pair import SPACE, running
from tests.unit.syncer.copies.test_engine import VOLUME, build, data

PRIVILEGED = {"securityContext": {"privileged": True}}
DEBUG = [{"name": "debug", "image": "x", **PRIVILEGED}]


@pytest.mark.parametrize(
    ("pod", "has_host", "expected"),
    [
        (build_pod(), False, True),
        (build_pod() | {"status": {"phase": "Failed"}}, True, False),
        (build_pod(schedulingGates=[{"name": "x"}]), False, False),
        # What its class refuses does not run, unless it did so before.
        (build_pod(container=PRIVILEGED), False, False),
        (build_pod(container=PRIVILEGED), True, True),
        # A debug container that is refused keeps nothing else from running.
        (build_pod(ephemeralContainers=DEBUG), False, True),
    ],
)
def test_which_pods_may_run(pod: Object, has_host: bool, expected: bool) -> None:
    assert may_run(pod, Policy(), has_host=has_host) is expected


async def test_a_pod_that_was_replaced_names_nothing_any_more() -> None:
    clusters = build()
    async with running(clusters, ConfigMapRow) as made:
        other = build_pod()
        other["metadata"] |= {"uid": "next", "resourceVersion": "next"}
        made.caches.nested(kinds.POD)._set((SPACE, "web"), other)  # a list brings both news as one
        await made.settle()
        assert data(clusters) is None


async def test_what_the_class_comes_to_allow_is_named_at_once() -> None:
    clusters = build(pod=False)
    clusters.add_pod(volumes=VOLUME, container=PRIVILEGED)
    async with running(clusters, ConfigMapRow) as made:
        assert data(clusters) is None
        await made.allow(podSecurity="Privileged")
        assert data(clusters) == {"color": "red"}
        await made.allow(podSecurity="Baseline")
        assert data(clusters) is None


@pytest.mark.parametrize("is_bound", [False, True])
async def test_what_runs_keeps_what_it_names_when_its_class_comes_to_allow_less(is_bound: bool) -> None:
    clusters = build(pod=False)
    clusters.allow(podSecurity="Privileged")
    pod = clusters.add_pod(volumes=VOLUME, container=PRIVILEGED, **({"nodeName": "n"} if is_bound else {}))
    if is_bound:
        clusters.nested.put(kinds.POD, pod | {"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}})
    else:
        clusters.add_host_pod(pod["metadata"]["uid"])
    async with running(clusters, ConfigMapRow) as made:
        await made.allow(podSecurity="Baseline")
        assert data(clusters) == {"color": "red"}

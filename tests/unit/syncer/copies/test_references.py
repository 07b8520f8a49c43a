"""Which objects live pods name, and when that changes."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.kube import Api, kinds
from nestor.kube.informer import key_of
from nestor.syncer.copies.references import References, may_run
from nestor.syncer.view.caches import Caches
from tests.unit.pods.translate.builders import TARGET, build_host_pod, build_pod

API = cast(Api, None)
KEY = ("shop", "settings")
VOLUMES = [{"name": "v", "configMap": {"name": "settings"}}]
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


class Watched:
    """The caches, and what is told of the ConfigMap."""

    def __init__(self) -> None:
        self.caches = Caches(API, API, TARGET)
        self.references = References(self.caches)
        self.told: list[Any] = []
        self.references.on_change("configmaps", self.told.append)
        self._version = 0

    def put(self, pod: Object, uid: str = "u") -> None:
        """A nested pod is there, or another one of its name."""
        self._version += 1
        meta = pod["metadata"] | {"uid": uid, "resourceVersion": str(self._version)}
        self.caches.nested(kinds.POD)._set(key_of(pod), pod | {"metadata": meta})

    def drop(self, pod: Object) -> None:
        self.caches.nested(kinds.POD)._set(key_of(pod), None)

    def allow(self, level: str) -> None:
        self._version += 1
        meta = {"name": TARGET.cluster, "namespace": TARGET.namespace, "resourceVersion": str(self._version)}
        status = {"policy": {"podSecurity": level}}
        self.caches.host_cluster._set(key_of({"metadata": meta}), {"metadata": meta, "status": status})

    @property
    def is_named(self) -> bool:
        return self.references.is_named("configmaps", KEY)


def test_a_pod_that_was_replaced_names_nothing_any_more() -> None:
    made = Watched()
    pod = build_pod(volumes=VOLUMES)
    made.put(pod, "before")
    made.put(build_pod(), "after")
    assert not made.is_named
    made.put(pod, "last")
    made.drop(pod)
    assert not made.is_named


def test_what_the_class_comes_to_allow_is_named_at_once() -> None:
    made = Watched()
    made.put(build_pod(volumes=VOLUMES, container=PRIVILEGED))
    assert not made.is_named
    made.allow("Privileged")
    assert made.is_named
    assert made.told == [KEY]
    made.allow("Baseline")
    assert not made.is_named


@pytest.mark.parametrize("is_bound", [False, True])
def test_what_runs_keeps_what_it_names_when_its_class_comes_to_allow_less(is_bound: bool) -> None:
    made = Watched()
    made.allow("Privileged")
    pod = build_pod(volumes=VOLUMES, container=PRIVILEGED)
    if is_bound:
        pod["spec"]["nodeName"] = "n"
        pod["status"] = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
    made.put(pod, "pod-uid")
    if not is_bound:
        host = build_host_pod()
        host["metadata"]["labels"]["nestor.dev/nested-uid"] = "pod-uid"
        made.caches.host(kinds.POD)._set(key_of(host), host)
    made.allow("Baseline")
    assert made.is_named

"""What the caches say of the NestedCluster: its policy, as of now."""

from typing import cast

import pytest

from nestor.kube import Api, kinds
from nestor.kube.informer import Key
from nestor.syncer.view.caches import Caches
from tests.unit.pods.translate.builders import TARGET

API = cast(Api, None)
KEY: Key = (TARGET.namespace, TARGET.cluster)


@pytest.fixture
def caches() -> Caches:
    return Caches(API, API, TARGET)


def test_a_cluster_that_is_deleted_or_gone_is_ending_and_keeps_what_it_was_allowed(caches: Caches) -> None:
    meta = {"namespace": TARGET.namespace, "name": TARGET.cluster, "resourceVersion": "1"}
    cluster = {"metadata": meta, "status": {"policy": {"podSecurity": "Privileged"}}}
    caches.host_cluster._set(KEY, cluster)
    assert not caches.is_ending
    caches.host_cluster._set(KEY, cluster | {"metadata": meta | {"resourceVersion": "2", "deletionTimestamp": "t"}})
    assert caches.is_ending
    caches.host_cluster._set(KEY, None)
    assert caches.is_ending
    assert caches.policy.pod_security == "Privileged"


def test_the_bytes_of_a_cluster_are_its_pods_and_the_data_that_they_use(caches: Caches) -> None:
    total, pods = caches.copied_bytes, caches.host(kinds.POD)
    secret = {"kind": "Secret", "metadata": {"name": "s", "resourceVersion": "1"}, "data": {"key": "x" * 7}}
    caches.host(kinds.SECRET)._set((TARGET.namespace, "s"), secret)
    assert total.value == 10
    pod = {"kind": "Pod", "metadata": {"name": "p", "resourceVersion": "1", "labels": {"note": "x" * 1000}}}
    pods._set((TARGET.namespace, "p"), pod | {"status": {"phase": "Succeeded"}})
    assert 1000 < total.value < 1200
    pods._set((TARGET.namespace, "p"), None)
    assert total.value == 10


def test_copies_count_once_and_slices_that_the_host_makes_for_services_do_not(caches: Caches) -> None:
    total, slices = caches.copied_bytes, caches.host(kinds.ENDPOINT_SLICE)
    for _ in range(2):
        total.follow(slices)
    for name, manager in (("own", "nestor.dev"), ("hosts", "endpointslice-controller.k8s.io")):
        labels = {"endpointslice.kubernetes.io/managed-by": manager}
        meta = {"name": name, "resourceVersion": "1", "labels": labels, "annotations": {"note": "x" * 1000}}
        slices._set((TARGET.namespace, name), {"kind": "EndpointSlice", "metadata": meta})
    assert 1000 < total.value < 1300

"""Nested objects and the target of their translation, for unit tests."""

from typing import Any

from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.pods.translate.node_rules import REQUIRED
from nestor.pods.translate.target import Target

BASELINE = Policy(always_pull_images=False)
PRIVILEGED = Policy(pod_security="Privileged", always_pull_images=False)
PULLED = Policy(always_pull_images=True)

TARGET = Target(
    namespace="nestor-team-a-hello-1234abcd",
    cluster="hello",
    labels={"nestor.dev/job": "hello"},
    owner={
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedCluster",
        "name": "hello",
        "uid": "cluster-uid",
        "controller": True,
    },
    api_ip="10.43.0.20",
    dns_ip="10.43.0.21",
)


def build_pod(*, labels: dict[str, str] | None = None, container: Object | None = None, **spec: Any) -> Object:
    """A nested pod `web` in `shop` with one container `app`."""
    containers = [{"name": "app", "image": "example/web:1", **(container or {})}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "uid": "pod-uid", "labels": labels or {}},
        "spec": {"containers": containers, **spec},
    }


def one_of(key: str, *values: str, operator: str = "In") -> Object:
    """A requirement of a node's labels."""
    return {"key": key, "operator": operator, "values": [*values]}


def requires(*terms: Object) -> Object:
    """The affinity of a pod that runs on nodes which meet one of the terms."""
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [*terms]}}}


def build_host_pod(*, status: Object | None = None, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-x-shop-x-host",
            "namespace": TARGET.namespace,
            "uid": "host-uid",
            "labels": {"nestor.dev/nested-uid": "pod-uid"},
            "annotations": annotations or {},
        },
        "spec": {"containers": [{"name": "app", "image": "example/web:1"}], **spec},
        "status": status or {},
    }


def build_service(name: str = "web", namespace: str = "shop", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "uid": "service-uid"},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.43.7.7",
            "selector": {"app": "web"},
            "ports": [{"port": 80, "protocol": "TCP"}],
            **spec,
        },
    }

"""ConfigMaps, Secrets, nodes, events and messages."""

from typing import Any

import pytest

from nestor.api import names
from nestor.api.objects import Object
from nestor.pods.translate import config
from nestor.pods.translate.target import nested_key, nested_uid
from nestor.syncer.copies import fields
from nestor.syncer.copies.rows.nodes import NodeRow
from nestor.syncer.translate import node
from tests.unit.pods.translate.builders import TARGET


def nested_config(kind: str = "Secret", **fields: Any) -> Object:
    return {"kind": kind, "metadata": {"name": "settings", "namespace": "shop", "uid": "config-uid"}, **fields}


def test_a_copy_says_whose_it_is() -> None:
    copy = config.build_config(nested_config(data={"a": "Yg=="}, immutable=True), TARGET)
    assert copy["metadata"] == {
        "name": names.host_name("settings", "shop"),
        "namespace": TARGET.namespace,
        "labels": {
            "app.kubernetes.io/managed-by": "nestor",
            "nestor.dev/job": "hello",
            "nestor.dev/cluster": "hello",
            "nestor.dev/component": "app",
            "nestor.dev/nested-namespace": "shop",
            "nestor.dev/nested-uid": "config-uid",
        },
        "annotations": {
            "nestor.dev/nested-name": "settings",
            "nestor.dev/nested-namespace": "shop",
            "nestor.dev/nested-uid": "config-uid",
        },
        "ownerReferences": [dict(TARGET.owner)],
    }
    assert copy["data"] == {"a": "Yg=="}
    assert "immutable" not in copy
    assert nested_key(copy) == ("shop", "settings")
    assert nested_uid(copy) == "config-uid"


@pytest.mark.parametrize(
    ("nested", "host"),
    [
        (None, "Opaque"),
        ("Opaque", "Opaque"),
        ("kubernetes.io/tls", "kubernetes.io/tls"),
        ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockerconfigjson"),
        ("example.org/own", "example.org/own"),
        ("kubernetes.io/service-account-token", "Opaque"),
        ("bootstrap.kubernetes.io/token", "Opaque"),
    ],
)
def test_types_that_the_host_would_act_upon_are_not_carried(nested: str | None, host: str) -> None:
    assert config.build_config(nested_config(type=nested), TARGET)["type"] == host


HOST_NODE: Object = {
    "metadata": {
        "name": "n",
        "labels": {"zone": "a", "nestor.dev/x": "y", "sub.nestor.dev/x": "y"},
        "annotations": {"secret": "x"},
    },
    "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}], "podCIDR": "10.42.0.0/24", "providerID": "cloud://x"},
    "status": {
        "capacity": {"cpu": "8"},
        "allocatable": {"cpu": "7"},
        "nodeInfo": {"kubeletVersion": "v1.36.3"},
        "images": [{"names": ["other/tenant:1"]}],
        "volumesInUse": ["x"],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
        "addresses": [
            {"type": "InternalIP", "address": "10.40.0.2"},
            {"type": "Hostname", "address": "n"},
            {"type": "InternalDNS", "address": "n.internal"},
            {"type": "ExternalIP", "address": "1.2.3.4"},
        ],
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "t1", "observedGeneration": 1}],
    },
}


def test_a_node_tells_where_its_kubelet_is_and_nothing_about_others() -> None:
    assert node.build_node(HOST_NODE, 10250) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"zone": "a", "app.kubernetes.io/managed-by": "nestor"}},
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}], "unschedulable": False},
        "status": {
            "capacity": {"cpu": "8"},
            "allocatable": {"cpu": "7"},
            "nodeInfo": {"kubeletVersion": "v1.36.3"},
            "addresses": [
                {"type": "InternalIP", "address": "10.40.0.2"},
                {"type": "Hostname", "address": "n"},
                {"type": "InternalDNS", "address": "localhost"},
            ],
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "t1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        },
    }


@pytest.mark.parametrize(
    ("change", "current"),
    [
        ({}, True),
        ({"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "t2"}]}, True),
        ({"conditions": [{"type": "Ready", "status": "Unknown", "lastHeartbeatTime": "t2"}]}, False),
        ({"allocatable": {"cpu": "6"}}, False),
    ],
)
def test_heartbeats_alone_are_no_change(change: Object, current: bool) -> None:
    before = node.build_node(HOST_NODE, 10250)
    after = node.build_node(HOST_NODE | {"status": HOST_NODE["status"] | change}, 10250)
    assert fields.is_current(before, after, NodeRow.fields) is current


def test_a_host_s_taint_ends_no_nested_pods() -> None:
    """The host itself ends pods for it. Of one key and effect there may be one taint only."""
    taints = [
        {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "t"},
        {"key": "gpu", "value": "x", "effect": "NoExecute", "timeAdded": "t"},
        {"key": "soft", "effect": "PreferNoSchedule"},
    ]
    assert node.build_node(HOST_NODE | {"spec": {"taints": taints}}, 10250)["spec"]["taints"] == [
        {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"},
        {"key": "gpu", "value": "x", "effect": "NoSchedule"},
        {"key": "soft", "effect": "PreferNoSchedule"},
    ]

"""Services: which ones get a host Service, what it says, how it changes."""

from typing import Any

import pytest

from nestor.api.allowances import AllowedServices
from nestor.api.objects import Object
from nestor.syncer.cluster import bootstrap
from nestor.syncer.copies import fields
from nestor.syncer.copies.rows.services import ServiceRow
from nestor.syncer.translate import service
from tests.unit.pods.translate.builders import TARGET, build_service


def host(**spec: Any) -> Object:
    """A host Service as its server returns it."""
    built = service.build_service(build_service(**spec), TARGET, "10.43.7.7")
    defaults = {"clusterIPs": ["10.43.7.7"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
    return built | {"metadata": built["metadata"] | {"uid": "host-uid"}, "spec": built["spec"] | defaults}


@pytest.mark.parametrize(
    ("nested", "is_synced"),
    [
        (build_service(), True),
        (build_service(type="NodePort"), True),
        (build_service(type="LoadBalancer"), True),
        (build_service(clusterIP="None"), False),
        (build_service(type="ExternalName", clusterIP=""), False),
        (build_service("kubernetes", "default", selector=None), False),
        (build_service("kubernetes", "shop"), True),
        (build_service("kube-dns", "kube-system", selector=None), False),
        (build_service(selector=None), True),
        (build_service(selector={}), True),
    ],
)
def test_what_has_a_host_service(nested: Object, is_synced: bool) -> None:
    assert service.is_synced(nested) is is_synced


def test_the_service_for_dns_is_the_one_that_is_left_out() -> None:
    built = bootstrap.build_dns_service(TARGET)
    assert not service.is_synced(build_service(built["metadata"]["name"], built["metadata"]["namespace"]))


INSIDE = "the Service is reached inside the nested cluster only, at its cluster IP"
DENIED = "which its class does not allow (`services.loadBalancerClasses`)"
NODE_PORTS = AllowedServices(node_ports=True)
BALANCERS = AllowedServices(load_balancers=True, load_balancer_classes=["example.com/internal"])


@pytest.mark.parametrize(
    ("spec", "allowed", "found"),
    [
        ({}, service.NOTHING, []),
        ({"clusterIPs": ["10.43.7.7", "fd00::7"]}, service.NOTHING, []),
        ({"type": "NodePort"}, service.NOTHING,
         [f"`spec.type` is 'NodePort', but {INSIDE}: its class does not allow more (`services.nodePorts`)"]),
        ({"type": "NodePort"}, NODE_PORTS, []),
        ({"type": "NodePort", "selector": None}, NODE_PORTS,
         ["`spec.type` is 'NodePort', but without `spec.selector`, its pods cannot be reached from outside"]),
        (
            {"type": "LoadBalancer", "externalIPs": ["1.2.3.4", "1.2.3.5"], "loadBalancerIP": "1.2.3.6"},
            service.NOTHING,
            [
                f"`spec.type` is 'LoadBalancer', but {INSIDE}: its class does not allow more (`services.loadBalancers`)",
                "`spec.externalIPs` has 1.2.3.4, 1.2.3.5, but external addresses are not supported",
                "`spec.loadBalancerIP` is 1.2.3.6, but load balancers choose their address themselves",
            ],
        ),
        (
            {"type": "LoadBalancer"},
            NODE_PORTS,
            [
                "`spec.type` is 'LoadBalancer', but the Service is reached at its node ports: its class does not allow more "
                "(`services.loadBalancers`)"
            ],
        ),
        ({"type": "LoadBalancer"}, BALANCERS, []),
        ({"type": "LoadBalancer", "loadBalancerClass": "example.com/internal"}, BALANCERS, []),
        ({"type": "LoadBalancer", "loadBalancerClass": "example.com/public"}, BALANCERS,
         [f"`spec.loadBalancerClass` is 'example.com/public', {DENIED}: {INSIDE}"]),
        ({"externalIPs": ["1.2.3.4"]}, BALANCERS, ["`spec.externalIPs` has 1.2.3.4, but external addresses are not supported"]),
    ],
)  # fmt: skip
def test_what_has_no_effect_is_named(spec: Object, allowed: AllowedServices, found: list[str]) -> None:
    assert service.find_ignored(build_service(**spec), allowed) == found


OUTWARD: Object = {
    "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30007}],
    "externalTrafficPolicy": "Local",
    "loadBalancerSourceRanges": ["1.0.0.0/8"],
    "healthCheckNodePort": 30009,
    "allocateLoadBalancerNodePorts": True,
    "externalIPs": ["1.2.3.4"],
    "loadBalancerIP": "1.2.3.6",
}


@pytest.mark.parametrize(
    ("kind", "allowed", "carried", "fields"),
    [
        ("NodePort", service.NOTHING, "ClusterIP", set()),
        ("NodePort", BALANCERS, "ClusterIP", set()),
        ("NodePort", NODE_PORTS, "NodePort", {"externalTrafficPolicy"}),
        ("LoadBalancer", service.NOTHING, "ClusterIP", set()),
        ("LoadBalancer", NODE_PORTS, "NodePort", {"externalTrafficPolicy"}),
        ("LoadBalancer", BALANCERS, "LoadBalancer",
         {"externalTrafficPolicy", "loadBalancerSourceRanges", "healthCheckNodePort", "allocateLoadBalancerNodePorts"}),
    ],
)  # fmt: skip
def test_what_reaches_outside_is_carried_as_the_class_allows(
    kind: str, allowed: AllowedServices, carried: str, fields: set[str]
) -> None:
    built = service.build_service(build_service(type=kind, **OUTWARD), TARGET, "10.43.7.7", allowed)["spec"]
    assert built["type"] == carried
    assert built.keys() == {"type", "selector", "ports", "clusterIP"} | fields
    assert built["ports"][0].get("nodePort") == (None if carried == "ClusterIP" else 30007)
    free = service.build_service(build_service(type=kind, **OUTWARD), TARGET, "10.43.7.7", allowed, own_ports=False)["spec"]
    assert "nodePort" not in free["ports"][0]
    assert "healthCheckNodePort" not in free


def test_a_load_balancer_that_wants_no_node_ports_gets_none_instead() -> None:
    spec: Object = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    assert service.find_type(build_service(**spec), NODE_PORTS) == "ClusterIP"


def test_a_tenant_cannot_select_other_pods() -> None:
    selector = {"nestor.dev/nested-namespace": "other", "nestor.dev/cluster": "x"}
    built = service.build_service(build_service(selector=selector), TARGET, None)
    assert built["spec"]["selector"]["nestor.dev/nested-namespace"] == "shop"
    assert built["spec"]["selector"]["nestor.dev/cluster"] == "hello"
    assert "clusterIP" not in built["spec"]


@pytest.mark.parametrize(
    ("change", "current"),
    [
        ({}, True),
        ({"type": "NodePort"}, True),
        ({"selector": {"app": "other"}}, False),
        ({"ports": [{"port": 81, "protocol": "TCP"}]}, False),
        ({"ports": [{"port": 80, "protocol": "TCP"}, {"port": 81, "protocol": "TCP", "name": "b"}]}, False),
        ({"publishNotReadyAddresses": True}, False),
        ({"sessionAffinity": "ClientIP"}, False),
    ],
)
def test_is_current(change: Object, current: bool) -> None:
    desired = service.build_service(build_service(**change), TARGET, "10.43.7.7")
    assert fields.is_current(host(), desired, ServiceRow.fields) is current

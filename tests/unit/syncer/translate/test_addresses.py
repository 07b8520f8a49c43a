"""Which new Services get their address from the host, and what the API server is told."""

import base64
import json
from typing import Any

import pytest

from nestor.syncer.cluster import addresses

Object = dict[str, Any]

NEW = {"metadata": {"name": "web"}, "spec": {"type": "ClusterIP", "ports": [{"port": 80}]}}
NAMED = {"metadata": {"name": "web"}, "spec": {"type": "ExternalName", "externalName": "example.org"}}


def build_request(**changes: Any) -> Object:
    """An AdmissionReview's request."""
    resource = {"group": "", "version": "v1", "resource": "services"}
    return {"uid": "u", "operation": "CREATE", "namespace": "shop", "resource": resource, "object": NEW, **changes}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, True),
        ({"object": {"metadata": {"generateName": "web-"}, "spec": {}}}, True),
        ({"object": {"metadata": {"name": "web"}, "spec": {"clusterIP": "10.43.0.9"}}}, True),
        ({"object": {"metadata": {"name": "web"}, "spec": {"clusterIP": "None"}}}, False),
        ({"object": NAMED}, False),
        ({"dryRun": True}, False),
        ({"operation": "UPDATE", "oldObject": NEW}, False),
        ({"operation": "UPDATE", "oldObject": NAMED}, True),
        ({"operation": "UPDATE"}, False),
        ({"operation": "DELETE"}, False),
        ({"resource": {"group": "", "resource": "pods"}}, False),
        ({"resource": {"group": "", "resource": "services"}, "subResource": "status"}, False),
        ({"resource": "services"}, False),
        ({"object": "x"}, False),
        ({"object": {"metadata": {}, "spec": {}}}, False),
        ({"object": {"metadata": {"name": 7}, "spec": {}}}, False),
        ({"object": {"metadata": {"name": "web"}, "spec": []}}, False),
        ({"namespace": None}, False),
    ],
)
def test_what_gets_an_address(changes: Object, found: bool) -> None:
    candidate = addresses.find_candidate(build_request(**changes))
    assert (candidate is not None) is found
    assert candidate is None or candidate["metadata"]["namespace"] == "shop"


def test_nothing_at_all_gets_no_address() -> None:
    assert addresses.find_candidate({}) is None


COPY = {"spec": {"clusterIP": "10.43.0.9", "clusterIPs": ["10.43.0.9", "fd00::9"], "ports": [{"port": 80, "nodePort": 30001}]}}


@pytest.mark.parametrize(
    ("kind", "copy_kind", "number", "ports"),
    [
        ("ClusterIP", "ClusterIP", None, None),
        ("NodePort", "ClusterIP", 30001, None),
        ("NodePort", "NodePort", 30001, 30001),
        ("LoadBalancer", "LoadBalancer", 32767, 32767),
        ("NodePort", "NodePort", 20001, None),
    ],
)
def test_the_new_service_gets_what_the_host_has_given(kind: str, copy_kind: str, number: int | None, ports: int | None) -> None:
    new = {"metadata": {"name": "web"}, "spec": {"type": kind, "ports": [{"port": 80}]}}
    copy = {"spec": COPY["spec"] | {"type": copy_kind, "ports": [{"port": 80, **({"nodePort": number} if number else {})}]}}
    patch = addresses.build_patch(new, copy, "web")
    expected = [("/spec/clusterIP", "10.43.0.9"), ("/spec/clusterIPs", ["10.43.0.9", "fd00::9"])]
    assert [(item["path"], item["value"]) for item in patch] == expected + ([("/spec/ports/0/nodePort", ports)] if ports else [])
    assert {item["op"] for item in patch} == {"add"}


def test_a_node_port_that_another_nested_service_has_is_not_set() -> None:
    new = {"metadata": {"name": "web"}, "spec": {"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}}
    there = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}, {"port": 81, "nodePort": 30002}]}
    patch = addresses.build_patch(new, {"spec": there}, "web", taken={30001})
    assert [item["path"] for item in patch] == ["/spec/ports/1/nodePort"]


def test_only_what_differs_is_set_and_a_generated_name_is_chosen_here() -> None:
    spec = {"clusterIP": "10.43.0.9", "clusterIPs": ["10.43.0.9", "fd00::9"]}
    assert addresses.build_patch({"metadata": {"name": "web"}, "spec": spec}, COPY, "web") == []
    (item,) = addresses.build_patch({"metadata": {"generateName": "web-"}, "spec": spec}, COPY, "web-7")
    assert item == {"op": "add", "path": "/metadata/name", "value": "web-7"}


def test_the_port_of_health_checks_is_the_host_s() -> None:
    new = {"metadata": {"name": "web"}, "spec": {"type": "LoadBalancer"}}
    copy = {"spec": {"type": "LoadBalancer", "clusterIP": "10.43.0.9", "healthCheckNodePort": 30009}}
    assert addresses.build_patch(new, copy, "web")[-1] == {"op": "add", "path": "/spec/healthCheckNodePort", "value": 30009}


def test_the_answer_is_always_yes() -> None:
    assert addresses.build_review("u", [])["response"] == {"uid": "u", "allowed": True}
    patch = [{"op": "add", "path": "/spec/clusterIP", "value": "10.43.0.9"}]
    response = addresses.build_review("u", patch, "taken")["response"]
    assert response["allowed"] is True
    assert response["warnings"] == ["taken"]
    assert json.loads(base64.b64decode(response["patch"])) == patch

"""What a class allows the pods of its clusters."""

from dataclasses import replace

import pytest

from nestor.api.allowances import AllowedServices, Storage
from nestor.api.data import read
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.cluster.shape import Host
from nestor.operator.clusters.policy import resolve_policy
from tests.unit.operator.builders import Object, build_job, build_policy

BASELINE = Policy(always_pull_images=False, ephemeral_storage_limit="10Gi")
PRIVILEGED = replace(BASELINE, pod_security="Privileged")
API = Host(("10.43.0.0/16",), ("203.0.113.7",))


@pytest.mark.parametrize(
    ("namespace", "policy"),
    [
        ({}, BASELINE),
        ({"podSecurity": "Baseline"}, BASELINE),
        ({"podSecurity": "Privileged"}, PRIVILEGED),
        (
            {"defaultResources": {"limits": {"cpu": "1", "ephemeral-storage": "2Gi"}}},
            replace(BASELINE, ephemeral_storage_limit="2Gi"),
        ),
        ({"allowedLabels": ["team", "example.com/*"]}, replace(BASELINE, allowed_labels=["team", "example.com/*"])),
    ],
)
def test_a_cluster_has_what_its_class_says(namespace: Object, policy: Policy) -> None:
    assert resolve_policy(build_policy(namespace=namespace)) == policy


def test_without_its_class_the_strictest_holds() -> None:
    strictest = Policy(pod_security="Baseline", always_pull_images=True)
    assert resolve_policy(None) == strictest


def test_without_its_class_a_cluster_keeps_the_list_of_images_that_it_had() -> None:
    before = Policy(allowed_images=["ghcr.io"], pod_security="Privileged")
    assert resolve_policy(None, before=before) == Policy(allowed_images=["ghcr.io"])
    assert resolve_policy(build_policy(), before=before) == BASELINE


OVERFLOW: Object = {"nodeSelector": {"pool": "batch"}, "overflow": {"backends": [{"name": "hpc"}]}}
SERVICES: Object = {"nodePorts": True, "loadBalancers": True, "loadBalancerClasses": ["example.com/lb"]}
VOLUMES: Object = {"storage": {"classes": ["fast"], "retention": "Retain"}}


@pytest.mark.parametrize(
    ("spec", "field", "value", "default"),
    [
        ({"images": {"allowed": ["ghcr.io/a"]}}, "allowed_images", ["ghcr.io/a"], None),
        ({"images": {"allowed": []}}, "allowed_images", [], None),
        ({"images": {"alwaysPull": True}}, "always_pull_images", True, False),
        ({"images": {"pullSecretNames": ["house"]}}, "image_pull_secrets", ["house"], None),
        ({"placement": OVERFLOW}, "placement", read(Placement, OVERFLOW), None),
        ({"cluster": {"nodes": "All"}}, "nodes", "All", None),
        ({"services": SERVICES}, "services", read(AllowedServices, SERVICES), None),
        (VOLUMES, "storage", Storage(classes=["fast"]), None),
    ],
)
def test_what_else_a_class_says_is_in_the_policy(spec: Object, field: str, value: object, default: object) -> None:
    assert getattr(resolve_policy(build_policy(**spec), host=API), field) == value
    assert getattr(resolve_policy(build_policy(), host=API), field) == default


def test_a_jobs_machine_and_wishes_are_in_its_policy() -> None:
    machine = {"name": "m", "nodeSelector": {"pool": "m"}}
    job = NestedAppJobSpec.model_validate(build_job(machine="m", placement={"nodeSelector": {"zone": "1"}})["spec"])
    found = resolve_policy(build_policy(placement={"machines": [machine]}), job=job)
    assert found.places.node_selector == {"pool": "m", "zone": "1"}


HOST = Host(service_cidrs=("10.43.0.0/16",), api_addresses=("203.0.113.9",))


def test_endpoints_are_never_what_the_policies_close() -> None:
    rules = {"endpointRanges": ["203.0.113.0/24"]}
    found = resolve_policy(
        build_policy(services=rules, network={"privateRanges": ["198.51.100.0/24"]}), host=HOST
    ).allowed_services
    assert found.endpoint_ranges == ["203.0.113.0/24"]
    closed = ("198.51.100.0/24", "10.43.0.0/16", "203.0.113.9/32", "169.254.0.0/16", "100.100.100.200/32", "fc00::/7")
    assert set(closed) <= {*found.closed_ranges}
    unknown = resolve_policy(build_policy(services=rules)).allowed_services
    assert unknown == AllowedServices()


def test_nested_policies_may_open_what_the_class_opens_of_the_world() -> None:
    found = resolve_policy(build_policy(network={"privateRanges": ["198.18.0.0/15"]}), host=API).internet
    closed = {cidr for block in found for cidr in block.except_ or []}
    assert [block.cidr for block in found] == ["0.0.0.0/0", "::/0"]
    assert {"198.18.0.0/15", "203.0.113.7/32", "10.43.0.0/16", "169.254.0.0/16"} <= closed
    assert resolve_policy(build_policy(network={"internet": "None"}), host=API).internet == []
    assert resolve_policy(build_policy()).internet == []

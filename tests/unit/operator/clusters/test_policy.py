"""What a class allows the pods of its clusters."""

from __future__ import annotations

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


def test_images_are_those_of_the_class() -> None:
    policy = build_policy(images={"allowed": ["ghcr.io/a"]})
    assert resolve_policy(policy).allowed_images == ["ghcr.io/a"]
    assert resolve_policy(build_policy(images={"allowed": []})).allowed_images == []
    assert resolve_policy(build_policy()).allowed_images is None


def test_images_are_pulled_as_the_class_says() -> None:
    assert resolve_policy(build_policy(images={"alwaysPull": True})).always_pull_images
    assert not resolve_policy(build_policy()).always_pull_images


def test_secrets_for_images_are_the_classs() -> None:
    policy = build_policy(images={"pullSecretNames": ["house"]})
    assert resolve_policy(policy).image_pull_secrets == ["house"]
    assert resolve_policy(build_policy()).image_pull_secrets is None


def test_where_pods_run_is_for_the_class_to_say() -> None:
    rules = {"nodeSelector": {"pool": "batch"}, "overflow": {"backends": [{"name": "hpc"}]}}
    assert resolve_policy(build_policy(placement=rules)).placement == read(Placement, rules)
    assert resolve_policy(build_policy()).placement is None


def test_a_jobs_machine_and_wishes_are_in_its_policy() -> None:
    machine = {"name": "m", "nodeSelector": {"pool": "m"}}
    job = NestedAppJobSpec.model_validate(build_job(machine="m", placement={"nodeSelector": {"zone": "1"}})["spec"])
    found = resolve_policy(build_policy(placement={"machines": [machine]}), job=job)
    assert found.places.node_selector == {"pool": "m", "zone": "1"}


def test_which_nodes_are_shown_is_for_the_class_to_say() -> None:
    assert resolve_policy(build_policy(cluster={"nodes": "All"})).nodes == "All"
    assert resolve_policy(build_policy()).nodes is None


HOST = Host(service_cidrs=("10.43.0.0/16",), api_addresses=("203.0.113.9",))


def test_services_may_do_what_the_class_says() -> None:
    rules = {"nodePorts": True, "loadBalancers": True, "loadBalancerClasses": ["example.com/lb"]}
    assert resolve_policy(build_policy(services=rules), host=HOST).services == read(AllowedServices, rules)
    assert resolve_policy(build_policy(), host=HOST).services is None


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


def test_volumes_are_as_the_class_says() -> None:
    found = resolve_policy(build_policy(storage={"classes": ["fast"], "retention": "Retain"}))
    assert found.storage == Storage(classes=["fast"])
    assert not resolve_policy(build_policy()).volumes.classes


def test_nested_policies_may_open_what_the_class_opens_of_the_world() -> None:
    found = resolve_policy(build_policy(network={"privateRanges": ["198.18.0.0/15"]}), host=API).internet
    closed = {cidr for block in found for cidr in block.except_ or []}
    assert [block.cidr for block in found] == ["0.0.0.0/0", "::/0"]
    assert {"198.18.0.0/15", "203.0.113.7/32", "10.43.0.0/16", "169.254.0.0/16"} <= closed
    assert resolve_policy(build_policy(network={"internet": "None"}), host=API).internet == []
    assert resolve_policy(build_policy()).internet == []

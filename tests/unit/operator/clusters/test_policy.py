"""What a class allows the pods of its clusters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nestor.api.data import read
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.api.services import AllowedServices
from nestor.api.storage import Storage
from nestor.cluster.shape import Host
from nestor.operator.clusters.policy import resolve_policy
from tests.unit.operator.builders import Object, build_job, build_policy

USERS = Policy(always_pull_images=False)
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
def test_a_jobs_cluster_has_what_its_class_says_and_a_users_own_the_strictest(namespace: Object, policy: Policy) -> None:
    assert resolve_policy(build_policy(namespace=namespace), is_job=True) == policy
    assert resolve_policy(build_policy(namespace=namespace), is_job=False) == USERS


def test_without_its_class_the_strictest_holds() -> None:
    strictest = Policy(pod_security="Baseline", always_pull_images=True)
    assert resolve_policy(None, is_job=True) == resolve_policy(None, is_job=False) == strictest


def test_without_its_class_a_cluster_keeps_the_list_of_images_that_it_had() -> None:
    before = Policy(allowed_images=["ghcr.io"], pod_security="Privileged")
    assert resolve_policy(None, is_job=True, before=before) == Policy(allowed_images=["ghcr.io"])
    assert resolve_policy(build_policy(), is_job=True, before=before) == BASELINE


@pytest.mark.parametrize("is_job", [True, False])
def test_images_are_those_of_the_class_in_users_own_clusters_too(is_job: bool) -> None:
    policy = build_policy(images={"allowed": ["ghcr.io/a"]})
    assert resolve_policy(policy, is_job=is_job).allowed_images == ["ghcr.io/a"]
    assert resolve_policy(build_policy(images={"allowed": []}), is_job=is_job).allowed_images == []
    assert resolve_policy(build_policy(), is_job=is_job).allowed_images is None


@pytest.mark.parametrize("is_job", [True, False])
def test_images_are_pulled_as_the_class_says_in_users_own_clusters_too(is_job: bool) -> None:
    assert resolve_policy(build_policy(images={"alwaysPull": True}), is_job=is_job).always_pull_images
    assert not resolve_policy(build_policy(), is_job=is_job).always_pull_images


def test_secrets_for_images_are_for_jobs_alone() -> None:
    policy = build_policy(images={"pullSecretNames": ["house"]})
    assert resolve_policy(policy, is_job=True).image_pull_secrets == ["house"]
    assert resolve_policy(policy, is_job=False).image_pull_secrets is None
    assert resolve_policy(build_policy(), is_job=True).image_pull_secrets is None


def test_where_pods_run_is_for_jobs_alone() -> None:
    rules = {"nodeSelector": {"pool": "batch"}, "overflow": {"backends": [{"name": "hpc"}]}}
    assert resolve_policy(build_policy(placement=rules), is_job=True).placement == read(Placement, rules)
    assert resolve_policy(build_policy(placement=rules), is_job=False) == USERS
    assert resolve_policy(build_policy(), is_job=True).placement is None


def test_a_jobs_machine_and_wishes_are_in_its_policy() -> None:
    machine = {"name": "m", "nodeSelector": {"pool": "m"}, "defaultResources": {"limits": {"ephemeral-storage": "1Gi"}}}
    job = NestedAppJobSpec.model_validate(build_job(machine="m", placement={"nodeSelector": {"zone": "1"}})["spec"])
    found = resolve_policy(build_policy(placement={"machines": [machine]}), is_job=True, job=job)
    assert found.ephemeral_storage_limit == "1Gi"
    assert found.places.node_selector == {"pool": "m", "zone": "1"}


def test_which_nodes_a_class_shows_is_for_jobs_alone() -> None:
    cluster = {"nodes": "Selected", "nodeSelector": {"matchLabels": {"pool": "batch"}}}
    job = resolve_policy(build_policy(cluster=cluster), is_job=True)
    assert (job.nodes, job.node_selector and job.node_selector.match_labels) == ("Selected", {"pool": "batch"})
    assert resolve_policy(build_policy(cluster=cluster), is_job=False) == USERS
    assert resolve_policy(build_policy(), is_job=True).nodes is None


HOST = Host(service_cidrs=("10.43.0.0/16",), api_addresses=("203.0.113.9",))


def test_services_of_jobs_may_do_what_the_class_says_and_those_of_users_own_clusters_nothing() -> None:
    rules = {"nodePorts": True, "loadBalancers": True, "loadBalancerClasses": ["example.com/lb"]}
    assert resolve_policy(build_policy(services=rules), is_job=True, host=HOST).services == read(AllowedServices, rules)
    users = resolve_policy(build_policy(services=rules), is_job=False, host=HOST)
    assert replace(users, internet=[]) == USERS
    assert resolve_policy(build_policy(), is_job=True, host=HOST).services is None


def test_endpoints_are_never_what_the_policies_close() -> None:
    rules = {"endpointRanges": ["203.0.113.0/24"]}
    found = resolve_policy(
        build_policy(services=rules, network={"privateRanges": ["198.51.100.0/24"]}), is_job=True, host=HOST
    ).allowed_services
    assert found.endpoint_ranges == ["203.0.113.0/24"]
    closed = ("198.51.100.0/24", "10.43.0.0/16", "203.0.113.9/32", "169.254.0.0/16", "100.100.100.200/32", "fc00::/7")
    assert set(closed) <= {*found.closed_ranges}
    unknown = resolve_policy(build_policy(services=rules), is_job=True).allowed_services
    assert unknown == AllowedServices()


@pytest.mark.parametrize("is_job", [True, False])
def test_volumes_are_as_the_class_says_in_users_own_clusters_too(is_job: bool) -> None:
    found = resolve_policy(build_policy(storage={"classes": ["fast"], "retention": "Retain"}), is_job=is_job)
    assert found.storage == Storage(classes=["fast"])
    assert not resolve_policy(build_policy(), is_job=is_job).volumes.classes


@pytest.mark.parametrize("is_job", [True, False])
def test_nested_policies_may_open_what_the_class_opens_of_the_world(is_job: bool) -> None:
    found = resolve_policy(build_policy(network={"privateRanges": ["198.18.0.0/15"]}), is_job=is_job, host=API).internet
    closed = {cidr for block in found for cidr in block.except_ or []}
    assert [block.cidr for block in found] == ["0.0.0.0/0", "::/0"]
    assert {"198.18.0.0/15", "203.0.113.7/32", "10.43.0.0/16", "169.254.0.0/16"} <= closed
    assert resolve_policy(build_policy(network={"internet": "None"}), is_job=is_job, host=API).internet == []
    assert resolve_policy(build_policy(), is_job=is_job).internet == []

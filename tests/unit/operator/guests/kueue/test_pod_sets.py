"""What Kueue counts is what a job may use."""

import pytest

from nestor.api.nestedclass import ClassQueue
from nestor.operator.admission.turn import Turn, assign_nodes, cap_quota, find_reserved, read_assigned, write_assigned
from nestor.operator.guests.kueue.pod_sets import build_pod_sets, find_granted, list_uncounted
from nestor.operator.guests.queue.entry import find_needs
from tests.unit.operator.builders import Object, build_job, build_policy, build_spec

K3S: Object = {
    "name": "k3s", "image": "", "args": ["x"],
    "resources": {"requests": {"cpu": "200m", "ephemeral-storage": "0"}, "limits": {"cpu": "2"}},
}  # fmt: skip
RUNNER = {"requests": {"cpu": "50m"}, "limits": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("quota", "requests", "uncounted"),
    [
        ({}, None, ["cpu", "memory"]),
        ({"requests.cpu": "4"}, {"cpu": "4"}, ["memory"]),
        ({"cpu": 4, "limits.cpu": 8, "limits.memory": "8Gi"}, {"cpu": "4", "memory": "8Gi"}, []),
        ({"requests.nvidia.com/gpu": 2, "limits.cpu": "2", "memory": 1}, {"nvidia.com/gpu": "2", "cpu": "2", "memory": "1"}, []),
        ({"requests.cpu": 1, "requests.memory": "0", "requests.nvidia.com/gpu": 0}, {"cpu": "1"}, []),
        ({"requests.storage": "1Gi", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi"}, None, ["cpu", "memory"]),
    ],
)
def test_the_application_is_what_its_quota_allows(quota: Object, requests: Object | None, uncounted: list[str]) -> None:
    """Kueue would want quota for what is asked for, even if that is nothing."""
    policy = build_policy(namespace={"quota": quota})
    server, runner, app = build_pod_sets(policy, build_spec(), [K3S], RUNNER)
    assert [item["name"] for item in (server, runner, app)] == ["control-plane", "runner", "app"]
    assert server["template"]["spec"]["containers"] == [
        {"name": "k3s", "image": "k3s", "resources": {"requests": {"cpu": "200m"}}}
    ]
    assert runner["template"]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "50m"}}
    (container,) = app["template"]["spec"]["containers"]
    assert container["resources"].get("requests") == requests
    assert list_uncounted(policy, build_spec()) == uncounted


def test_a_machine_brings_its_quota_and_its_nodes() -> None:
    machine = {"name": "big", "quota": {"requests.cpu": 8}, "nodeSelector": {"pool": "big"}}
    placement = {"machines": [machine], "tolerations": ["own"]}
    policy = build_policy(namespace={"quota": {"requests.cpu": 2}}, placement=placement)
    (*_, app) = build_pod_sets(policy, build_spec(machine="big"), [K3S], RUNNER)
    found = app["template"]["spec"]
    assert found["containers"][0]["resources"]["requests"] == {"cpu": "8"}
    assert (found["nodeSelector"], found["tolerations"]) == ({"pool": "big"}, [{"key": "own", "operator": "Exists"}])


def test_assigned_nodes_are_the_classs_own_from_then_on() -> None:
    assigned = {"workload": "w", "nodeSelector": {"pool": "a"}, "tolerations": ["t"]}
    job = build_job() | {"status": {"assigned": assigned}}
    policy = assign_nodes(build_policy(placement={"nodeSelector": {"pool": "b", "x": "y"}}), read_assigned(job))
    assert policy.placement is not None
    assert policy.placement.node_selector == {"pool": "a", "x": "y"}
    assert policy.placement.tolerations == ["t"]
    assert write_assigned(Turn(app=read_assigned(job))) == assigned
    plain = build_policy()
    assert assign_nodes(plain, None) is plain
    assert assign_nodes(plain, Turn().server) is plain
    assert read_assigned(build_job()) is None


@pytest.mark.parametrize(
    ("quota", "reserved", "kept", "capped"),
    [
        ({"requests.cpu": 8}, {}, {"requests.cpu": "8"}, {"requests.cpu": 8}),
        ({"requests.cpu": 8}, {"requests.cpu": "2"}, {"requests.cpu": "2"}, {"requests.cpu": "2"}),
        ({"requests.cpu": 1}, {"requests.cpu": "2"}, {"requests.cpu": "2"}, {"requests.cpu": 1}),
        ({}, {"requests.cpu": "2"}, {"requests.cpu": "2"}, {"requests.cpu": "2"}),
        ({}, {}, None, None),
    ],
)
def test_a_quota_is_never_above_what_was_reserved(
    quota: Object, reserved: Object, kept: Object | None, capped: Object | None
) -> None:
    policy = build_policy(namespace={"quota": quota})
    policy = policy.model_copy(update={"queue": ClassQueue.model_validate({"quota": {"requests.cpu": 100}})})
    found = find_reserved(policy, None, reserved)
    assert found == kept
    assert (cap_quota(policy, found).namespace.quota or None) == capped


def test_a_slip_in_a_classs_quota_can_be_undone() -> None:
    reserved: Object | None = None
    found = []
    for amount in ("4", "0", "4"):
        policy = build_policy(namespace={"quota": {"requests.cpu": amount}}, queue={"quota": {"requests.cpu": 8}})
        reserved = find_reserved(policy, None, reserved)
        found.append(cap_quota(policy, reserved).namespace.quota)
        assert find_needs(policy, None, reserved)["requests.cpu"] == 4
    assert found == [{"requests.cpu": "4"}, {"requests.cpu": "0"}, {"requests.cpu": "4"}]


@pytest.mark.parametrize(
    ("quota", "granted"),
    [
        ({"requests.cpu": 8, "requests.nvidia.com/gpu": 1}, {"requests.cpu": "2", "requests.nvidia.com/gpu": "0"}),
        ({"limits.cpu": 8}, {"limits.cpu": "2"}),
        ({"requests.memory": "1Gi"}, {"requests.cpu": "2", "requests.memory": "0"}),
    ],
)
def test_what_kueue_was_not_asked_for_is_nothing(quota: Object, granted: Object) -> None:
    asked = build_pod_sets(build_policy(namespace={"quota": {"requests.cpu": 2}}), build_spec(), [K3S], RUNNER)
    policy = build_policy(namespace={"quota": quota})
    assert find_granted(policy, None, asked) == granted
    assert find_reserved(policy, None, None, granted) == granted


def test_of_extended_resources_a_limit_is_what_is_requested() -> None:
    """As the API server demands it of pods; of CPU and memory, pods may use more than they request."""
    policy = build_policy(namespace={"quota": {"requests.nvidia.com/gpu": 2, "requests.cpu": 4}})
    (*_, app) = build_pod_sets(policy, build_spec(), [K3S], RUNNER)
    (container,) = app["template"]["spec"]["containers"]
    assert container["resources"] == {"requests": {"nvidia.com/gpu": "2", "cpu": "4"}, "limits": {"nvidia.com/gpu": "2"}}

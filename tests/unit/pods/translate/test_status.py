"""Statuses on their way up: what is carried, what is not, and the patch that says so."""

from typing import Any

import pytest

from nestor.api.contracts.vnode import SENT
from nestor.api.objects import Object
from nestor.pods.translate import status
from tests.unit.pods.translate.builders import TARGET, build_host_pod, build_pod

TIME = "2026-01-01T00:00:00Z"


def condition(kind: str, value: str = "True", **more: Any) -> Object:
    return {"type": kind, "status": value, "lastTransitionTime": TIME, **more}


def build(host_status: Object, nested: Object | None = None) -> Object:
    return status.build_status(nested or build_pod(), build_host_pod(status=host_status), TARGET)


def test_messages_are_in_nested_words() -> None:
    host = build_host_pod()
    message = f"cannot start {host['metadata']['uid']} in {TARGET.namespace}"
    built = build(
        {
            "message": message,
            "conditions": [condition("Ready", "False", message=message)],
            "containerStatuses": [
                {
                    "name": "app",
                    "state": {"waiting": {"reason": "ImagePullBackOff", "message": message}},
                    "lastState": {"terminated": {"exitCode": 1}},
                }
            ],
        }
    )
    assert built["message"] == built["conditions"][0]["message"] == "cannot start pod-uid in shop"
    assert built["containerStatuses"][0]["state"] == {
        "waiting": {"reason": "ImagePullBackOff", "message": "cannot start pod-uid in shop"}
    }
    assert built["containerStatuses"][0]["lastState"] == {"terminated": {"exitCode": 1}}


def test_readiness_gates_go_down() -> None:
    nested = build_pod(readinessGates=[{"conditionType": "example.org/lb"}])
    nested["status"] = {"conditions": [condition("example.org/lb", observedGeneration=1), condition("Ready")]}
    assert status.build_gates(nested, build_host_pod()) == {
        "metadata": {"uid": "host-uid"},
        "status": {"conditions": [condition("example.org/lb")]},
    }
    there = build_host_pod(status={"conditions": [condition("example.org/lb")]})
    assert status.build_gates(nested, there) is None
    assert status.build_gates(build_pod(), build_host_pod()) is None


@pytest.mark.parametrize(
    "kind",
    [
        "PodScheduled",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodReadyToStartContainers",
        "DisruptionTarget",
        "PodResizePending",
        "PodResizeInProgress",
        # Ours: a virtual node notes in it that the pod was sent.
        SENT,
        "nestor.dev/other",
        "tenant.nestor.dev/other",
    ],
)
def test_the_kubelet_s_own_conditions_are_no_gates(kind: str) -> None:
    nested = build_pod(readinessGates=[{"conditionType": kind}])
    assert build({"conditions": [condition(kind, "False")]}, nested)["conditions"] == [condition(kind, "False")]
    nested["status"] = {"conditions": [condition(kind)]}
    assert status.build_gates(nested, build_host_pod()) is None


def patch(before: Object, after: Object, **options: Any) -> Object | None:
    nested = build_pod()
    nested["status"] = before
    found = status.build_patch(nested, {"conditions": []} | after, **options)
    assert found is None or found["metadata"] == {"uid": "pod-uid"}
    return found["status"] if found else None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"phase": "Pending"}, {"phase": "Running"}, {"phase": "Running"}),
        ({"phase": "Running", "qosClass": "Burstable"}, {"phase": "Running"}, None),
        ({"phase": "Failed", "reason": "Evicted"}, {"phase": "Failed"}, {"reason": None}),
        (
            {"podIPs": [{"ip": "1.1.1.1"}]},
            {"podIPs": [{"ip": "2.2.2.2"}]},
            {"podIPs": [{"ip": "2.2.2.2"}, {"$patch": "replace"}]},
        ),
        ({"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]}, {}, {"podIP": None, "podIPs": None}),
        ({"conditions": [condition("Ready")]}, {"conditions": [condition("Ready")]}, None),
        ({"conditions": [condition("Ready", observedGeneration=1)]}, {"conditions": [condition("Ready")]}, None),
        (
            {"conditions": [condition("Ready", observedGeneration=1)]},
            {"conditions": [condition("Ready", observedGeneration=2)]},
            {"conditions": [condition("Ready", observedGeneration=2)]},
        ),
        ({"observedGeneration": 1}, {"observedGeneration": 2}, {"observedGeneration": 2}),
        ({"observedGeneration": 1}, {}, None),
        # What the kubelet has taken away goes; what others may have set stays.
        (
            {"conditions": [condition("PodResizeInProgress"), condition("PodResizePending"), condition("Ready")]},
            {"conditions": [condition("Ready")]},
            {"conditions": [{"type": kind, "$patch": "delete"} for kind in ("PodResizeInProgress", "PodResizePending")]},
        ),
        ({"conditions": [condition(kind) for kind in ("PodScheduled", "DisruptionTarget", "example.org/lb")]}, {}, None),
        (
            {"conditions": [condition("Ready", "False", reason="X"), condition("Other")]},
            {"conditions": [condition("Ready")]},
            {"conditions": [condition("Ready", reason=None)]},
        ),
        (
            {"containerStatuses": [{"name": "a"}]},
            {"containerStatuses": [{"name": "a", "ready": True}]},
            {"containerStatuses": [{"name": "a", "ready": True}]},
        ),
    ],
)
def test_patch(before: Object, after: Object, expected: Object | None) -> None:
    assert patch(before, after) == expected


def test_a_lost_pod_has_failed() -> None:
    last = build_host_pod(
        status={
            "phase": "Running",
            "podIP": "10.42.0.7",
            "conditions": [condition("Ready"), condition("PodScheduled")],
            "containerStatuses": [
                {"name": "a", "ready": True, "started": True, "containerID": "c", "state": {"running": {"startedAt": TIME}}},
                {"name": "b", "ready": False, "state": {"terminated": {"exitCode": 3}}},
            ],
        }
    )
    built = status.build_lost(build_pod(), last, TARGET, "2026-02-02T00:00:00Z")
    assert (built["phase"], built["reason"]) == ("Failed", "HostPodDeleted")
    assert {item["type"]: item["status"] for item in built["conditions"]} == {
        "Ready": "False",
        "ContainersReady": "False",
        "PodScheduled": "True",
    }
    running, ended = built["containerStatuses"]
    assert running["state"]["terminated"] == {
        "exitCode": 137,
        "reason": "ContainerStatusUnknown",
        "message": "The pod was removed from the host cluster.",
        "startedAt": TIME,
        "finishedAt": "2026-02-02T00:00:00Z",
        "containerID": "c",
    }
    assert (running["ready"], running["started"]) == (False, False)
    assert ended["state"] == {"terminated": {"exitCode": 3}}


def test_a_lost_pod_that_had_ended_keeps_its_end() -> None:
    last = build_host_pod(status={"phase": "Succeeded", "conditions": []})
    assert status.build_lost(build_pod(), last, TARGET, TIME) == {"phase": "Succeeded", "conditions": []}


def test_a_refused_pod_waits_with_its_reason() -> None:
    built = status.build_waiting(build_pod(), "PodRefused", "`spec.hostPID` may not be true", TIME)
    assert built == {
        "phase": "Pending",
        "conditions": [condition("PodScheduled", "False", reason="PodRefused", message="`spec.hostPID` may not be true")],
    }


def observe(host_generation: int, mark: str | None, *, status_at: int, condition_at: int) -> Object:
    """The nested status while the host's kubelet has observed these generations of the host pod."""
    host = build_host_pod(
        status={"observedGeneration": status_at, "conditions": [condition("Ready", observedGeneration=condition_at)]},
        annotations={} if mark is None else {"nestor.dev/nested-generation": mark},
    )
    host["metadata"]["generation"] = host_generation
    return status.build_status(build_pod(), host, TARGET)


@pytest.mark.parametrize(
    ("host_generation", "mark", "status_at", "condition_at", "expected", "expected_condition"),
    [
        (1, "1", 1, 1, 1, 1),
        (4, "7", 4, 4, 7, 7),  # the host counts its own changes
        (4, "7", 4, 3, 7, None),
        (4, "7", 3, 3, None, None),  # the kubelet has yet to see the last change
        (4, None, 4, 4, None, None),
        (4, "x", 4, 4, None, None),
    ],
)
def test_a_generation_counts_as_observed_once_the_kubelet_has_seen_all_of_it(
    host_generation: int,
    mark: str | None,
    status_at: int,
    condition_at: int,
    expected: int | None,
    expected_condition: int | None,
) -> None:
    built = observe(host_generation, mark, status_at=status_at, condition_at=condition_at)
    assert built.get("observedGeneration") == expected
    assert built["conditions"][0].get("observedGeneration") == expected_condition


def test_what_an_old_nested_server_does_not_keep_is_found_and_left_out() -> None:
    resources = {"requests": {"cpu": "1"}}
    desired = {"observedGeneration": 2, "resources": resources, "conditions": [condition("Ready", observedGeneration=2)]}
    found = status.build_patch(build_pod(), desired)
    assert found is not None
    assert found["status"]["resources"] == resources | {"$patch": "replace"}
    assert status.find_dropped(found, {"status": desired}) == set()
    assert status.find_dropped(found, {"status": {}}) == {"observedGeneration", "resources"}
    left = status.without_fields(desired, {"observedGeneration", "resources"})
    assert left == {"conditions": [condition("Ready")]}
    assert status.without_fields(desired, ()) == desired


def with_resources(pod: Object, resources: Object | None) -> Object:
    first, *others = pod["spec"]["containers"]
    first = {key: value for key, value in first.items() if key != "resources"} | ({"resources": resources} if resources else {})
    return pod | {"spec": pod["spec"] | {"containers": [first, *others]}}


CPU, DISK = {"cpu": "100m"}, {"ephemeral-storage": "10Gi"}


@pytest.mark.parametrize(
    ("own", "host", "in_force", "expected"),
    [
        # Nobody has added anything.
        ({"limits": CPU}, {"limits": CPU}, {"limits": CPU}, {"limits": CPU}),
        # A limit for local storage was added to others, or alone.
        ({"limits": CPU}, {"limits": CPU | DISK}, {"limits": CPU | DISK}, {"limits": CPU}),
        (None, {"limits": DISK}, {"limits": DISK}, {}),
        # One that the owner has set stays.
        ({"limits": DISK}, {"limits": DISK}, {"limits": DISK}, {"limits": DISK}),
        # A limit that was taken away is in force until its resize is done: the host's container does not have it either.
        ({"requests": CPU}, {"requests": CPU}, {"requests": CPU, "limits": CPU}, {"requests": CPU, "limits": CPU}),
        # Requests and limits are told apart.
        ({"limits": CPU}, {"limits": CPU, "requests": CPU}, {"limits": CPU, "requests": CPU}, {"limits": CPU}),
    ],
)
def test_what_a_limit_range_adds_is_not_shown(own: Object | None, host: Object, in_force: Object, expected: Object) -> None:
    nested, there = with_resources(build_pod(), own), with_resources(build_host_pod(), host)
    name = nested["spec"]["containers"][0]["name"]
    said = {"name": name, "resources": in_force, "allocatedResources": in_force.get("requests", {})}
    built = status.build_status(nested, there | {"status": {"containerStatuses": [said]}}, TARGET)["containerStatuses"][0]
    assert (built["resources"], built["allocatedResources"]) == (expected, expected.get("requests", {}))

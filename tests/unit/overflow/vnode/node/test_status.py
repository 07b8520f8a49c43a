"""The status of a virtual Node tells the truth, and is written when it differs."""

import pytest

from nestor.api.objects import Object
from nestor.overflow.vnode.node import status
from nestor.overflow.vnode.node.status import NodeFacts, build_patch, build_status
from tests.fakes.patches import merge_strategic

NOW, LATER = "2030-01-01T00:00:00Z", "2030-01-01T00:01:00Z"
CAPACITY = {"cpu": "8", "memory": "16Gi", "pods": "100", "nvidia.com/gpu": "2"}
MACHINE = NodeFacts(CAPACITY, "10.0.0.7", 10250, "v1.35.2+k3s1")
FINE = None


def words(built: Object) -> dict[str, tuple[str, str]]:
    return {item["type"]: (item["status"], item["reason"]) for item in built["conditions"]}


def apply(node: Object, patch: Object | None) -> Object:
    result: Object = merge_strategic(node, patch or {})
    return result


def test_a_node_whose_backend_answers() -> None:
    built = build_status(MACHINE, FINE, None, NOW)
    assert (built["capacity"], built["allocatable"]) == (CAPACITY, CAPACITY)
    assert built["addresses"] == [{"type": "InternalIP", "address": "10.0.0.7"}]
    assert built["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    assert built["nodeInfo"]["kubeletVersion"].startswith("v1.35.2-nestor-")
    found = words(built)
    assert found["Ready"] == ("True", "BackendAnswers")
    names = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", status.FULL)
    assert {found[name][0] for name in names} == {"False"}


def test_nothing_is_written_twice() -> None:
    desired = build_status(MACHINE, FINE, None, NOW)
    node = apply({"metadata": {}}, build_patch({"metadata": {}}, desired))
    assert build_patch(node, build_status(MACHINE, FINE, None, LATER)) is None


def test_quantities_are_compared_as_such() -> None:
    machine = NodeFacts({"cpu": "1000m", "memory": "1024Mi", "pods": "1000"}, "10.0.0.7", 10250, "v1.35.2")
    node = apply({}, build_patch({}, build_status(machine, FINE, None, NOW)))
    for field in ("capacity", "allocatable"):
        node["status"][field] = {"cpu": "1", "memory": "1Gi", "pods": "1k"}
    assert build_patch(node, build_status(machine, FINE, None, LATER)) is None


def test_what_others_have_changed_is_written_again() -> None:
    """The node controller has set Ready to Unknown while the API server was away from us."""
    node = apply({}, build_patch({}, build_status(MACHINE, FINE, None, NOW)))
    ready = next(item for item in node["status"]["conditions"] if item["type"] == "Ready")
    ready |= {"status": "Unknown", "reason": "NodeStatusUnknown"}
    patch = build_patch(node, build_status(MACHINE, FINE, None, LATER))
    assert patch is not None
    (item,) = patch["status"]["conditions"]
    assert (item["type"], item["status"], item["lastTransitionTime"]) == ("Ready", "True", LATER)


def test_resources_that_are_gone_are_removed() -> None:
    node = apply({}, build_patch({}, build_status(MACHINE, FINE, None, NOW)))
    fewer = NodeFacts({"cpu": "4", "pods": "100"}, "10.0.0.7", 10250, "v1.35.2+k3s1")
    patch = build_patch(node, build_status(fewer, FINE, None, LATER))
    assert patch is not None
    assert patch["status"]["capacity"] == {"cpu": "4", "memory": None, "nvidia.com/gpu": None}
    assert apply(node, patch)["status"]["allocatable"] == {"cpu": "4", "pods": "100"}


@pytest.mark.parametrize("change", ["address", "port"])
def test_a_new_pod_of_the_process_has_another_address(change: str) -> None:
    node = apply({}, build_patch({}, build_status(MACHINE, FINE, None, NOW)))
    address, port = "10.0.0.8" if change == "address" else "10.0.0.7", 10251 if change == "port" else 10250
    other = NodeFacts(CAPACITY, address, port, "v1.35.2")
    after = apply(node, build_patch(node, build_status(other, FINE, None, LATER)))["status"]
    assert after["addresses"] == [{"type": "InternalIP", "address": other.address}]
    assert after["daemonEndpoints"] == {"kubeletEndpoint": {"Port": other.port}}

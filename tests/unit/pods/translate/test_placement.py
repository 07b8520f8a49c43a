"""Where a pod runs: tables of what class, job, GPU and nested Job say."""

from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.placement import Placement
from nestor.pods.translate.placement import Batch, build_mark, decide_place, find_gpus, is_outdated, list_extended_resources
from tests.unit.pods.translate.builders import build_host_pod, build_pod

TWO = [{"name": "hpc"}, {"name": "cloud"}]
GPU = build_pod(container={"resources": {"limits": {"nvidia.com/gpu": 1}}})


def place(**overflow: Any) -> Placement:
    return read(Placement, {"overflow": {"backends": TWO} | overflow})


def owned(kind: str, **owner: Any) -> Object:
    pod = build_pod()
    pod["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "u"} | owner]
    return pod


@pytest.mark.parametrize(("mode", "where"), [("Never", "Host"), ("WhenFull", "HostFirst"), ("Always", "Backend")])
def test_a_pod_runs_where_the_mode_says(mode: str, where: str) -> None:
    found = decide_place(build_pod(), place(mode=mode))
    assert (found.where, found.reason) == (where, "")
    assert [item.name for item in found.backends] == ([] if where == "Host" else ["hpc", "cloud"])


@pytest.mark.parametrize(
    ("mode", "gpu", "where"),
    [
        ("Never", "Any", "Host"),
        ("Never", "Host", "Host"),
        ("Never", "Backend", "Backend"),
        ("WhenFull", "Any", "HostFirst"),
        ("WhenFull", "Host", "Host"),
        ("WhenFull", "Backend", "Backend"),
        ("Always", "Any", "Backend"),
        ("Always", "Host", "Host"),
        ("Always", "Backend", "Backend"),
    ],
)
def test_a_pod_with_a_gpu_runs_where_the_rule_for_gpus_says(mode: str, gpu: str, where: str) -> None:
    found = decide_place(GPU, place(mode=mode, gpu=gpu))
    assert found.where == where
    assert found.reason == ("" if gpu == "Any" else "it requests 'nvidia.com/gpu'")


@pytest.mark.parametrize(
    ("mode", "gpu", "where"), [("Always", "Any", "Wait"), ("Never", "Backend", "Wait"), ("WhenFull", "Any", "Host")]
)
def test_without_a_backend_that_is_allowed_a_pod_that_has_to_go_out_waits(mode: str, gpu: str, where: str) -> None:
    assert decide_place(GPU, place(mode=mode, gpu=gpu, backends=[])).where == where


@pytest.mark.parametrize(
    ("pod", "where"),
    [
        (owned("DaemonSet", controller=True), "Host"),
        (owned("DaemonSet"), "Backend"),
        (owned("ReplicaSet", controller=True), "Backend"),
    ],
)
def test_pods_of_daemon_sets_stay(pod: Object, where: str) -> None:
    assert decide_place(pod, place(mode="Always")).where == where


@pytest.mark.parametrize(
    ("trigger", "completions", "mode", "where"),
    [
        (6, 5, "WhenFull", "HostFirst"),
        (6, 6, "WhenFull", "Backend"),
        (6, 13, "WhenFull", "Backend"),
        (0, 10_000, "WhenFull", "HostFirst"),
        (1, 1, "WhenFull", "Backend"),
        (6, 13, "Never", "Host"),
        (6, 1, "Always", "Backend"),
    ],
)
def test_pods_of_large_jobs_go_out(trigger: int, completions: int, mode: str, where: str) -> None:
    assert decide_place(build_pod(), place(mode=mode, completionsTrigger=trigger), Batch(completions)).where == where


def test_why_a_pod_of_a_large_job_goes_out_is_said() -> None:
    reason = decide_place(build_pod(), place(), Batch(13)).reason
    assert reason == "its Job has 13 completions, and those with 6 or more run at a backend"


@pytest.mark.parametrize(
    ("mode", "here", "away", "where"),
    [
        # Limits: two here, three at backends.
        ("WhenFull", 0, 0, "HostFirst"),
        ("WhenFull", 1, 2, "HostFirst"),
        ("WhenFull", 2, 2, "Backend"),
        ("WhenFull", 3, 2, "Backend"),
        ("WhenFull", 1, 3, "Host"),
        ("WhenFull", 2, 3, "Wait"),
        ("Always", 5, 2, "Backend"),
        ("Always", 0, 3, "Wait"),
        # Nothing overflows, so the limits mean nothing.
        ("Never", 9, 9, "Host"),
    ],
)
def test_one_job_has_so_many_pods_in_each_place(mode: str, here: int, away: int, where: str) -> None:
    rules = place(mode=mode, localParallelism=2, backendParallelism=3)
    assert decide_place(build_pod(), rules, Batch(4, here, away)).where == where


@pytest.mark.parametrize(
    ("gpu", "here", "away", "where"),
    [("Host", 1, 9, "Host"), ("Host", 2, 0, "Wait"), ("Backend", 9, 2, "Backend"), ("Backend", 0, 3, "Wait")],
)
def test_a_pod_that_has_to_be_in_one_place_waits_for_that(gpu: str, here: int, away: int, where: str) -> None:
    assert decide_place(GPU, place(gpu=gpu, localParallelism=2, backendParallelism=3), Batch(4, here, away)).where == where


@pytest.mark.parametrize("mode", ["WhenFull", "Always"])
def test_zero_is_no_limit(mode: str) -> None:
    rules = place(mode=mode, completionsTrigger=0, localParallelism=0, backendParallelism=0)
    assert decide_place(build_pod(), rules, Batch(9999, 5000, 4000)) == decide_place(build_pod(), rules)


def test_the_defaults_are_those_of_aksjobscheduler() -> None:
    assert decide_place(build_pod(), place(), Batch(5, here=1)).where == "HostFirst"
    assert decide_place(build_pod(), place(), Batch(5, here=2)).where == "Backend"
    assert decide_place(build_pod(), place(), Batch(6, away=49)).where == "Backend"
    assert decide_place(build_pod(), place(), Batch(6, away=50)).where == "Wait"


def test_why_a_pod_waits_is_said_in_numbers() -> None:
    rules = place(localParallelism=2, backendParallelism=3)
    assert decide_place(build_pod(), rules, Batch(4, 2, 3)).reason == (
        "2 pods of its Job are in the host cluster, and the limit is 2; 3 pods of its Job are at backends, and the limit is 3"
    )


@pytest.mark.parametrize(
    ("resources", "extended", "gpus"),
    [
        ({}, [], []),
        ({"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}}, [], []),
        ({"limits": {"nvidia.com/gpu": 1}}, ["nvidia.com/gpu"], ["nvidia.com/gpu"]),
        ({"requests": {"nvidia.com/gpu": "1"}}, ["nvidia.com/gpu"], ["nvidia.com/gpu"]),
        ({"limits": {"nvidia.com/gpu": "0"}}, [], []),
        ({"limits": {"amd.com/gpu": 1, "example.com/fpga": 2}}, ["amd.com/gpu", "example.com/fpga"], ["amd.com/gpu"]),
        ({"limits": {"gpu.intel.com/i915": 1}}, ["gpu.intel.com/i915"], ["gpu.intel.com/i915"]),
        ({"limits": {"nvidia.com/mig-1g.5gb": 1}}, ["nvidia.com/mig-1g.5gb"], ["nvidia.com/mig-1g.5gb"]),
        ({"limits": {"nvidia.com/rdma": 1}}, ["nvidia.com/rdma"], []),
        ({"limits": {"nunet.io/gpu-nvidia-v100-40gb": 1}}, ["nunet.io/gpu-nvidia-v100-40gb"], ["nunet.io/gpu-nvidia-v100-40gb"]),
    ],
)
@pytest.mark.parametrize("where", ["container", "initContainer", "pod"])
def test_what_counts_as_a_gpu(resources: Object, extended: list[str], gpus: list[str], where: str) -> None:
    pods = {
        "container": build_pod(container={"resources": resources}),
        "initContainer": build_pod(initContainers=[{"name": "i", "image": "i", "resources": resources}]),
        "pod": build_pod(resources=resources),
    }
    assert list_extended_resources(pods[where]) == extended
    assert find_gpus(pods[where]) == gpus


@pytest.mark.parametrize(
    ("mode", "seconds", "expected"), [("Always", 90, "90"), ("WhenFull", 90, "90"), ("Never", 90, None), ("Always", 0, None)]
)
def test_a_pod_that_may_run_at_a_backend_says_how_long_that_may_take_to_start_it(
    mode: str, seconds: int, expected: str | None
) -> None:
    rules = place(mode=mode, pendingSeconds=seconds)
    mark = build_mark(rules, decide_place(build_pod(), rules))
    assert mark.get("nestor.dev/pending-seconds") == expected


@pytest.mark.parametrize(
    ("made", "now", "node", "expected"),
    [
        (Placement(), Placement(), None, False),
        (Placement(), place(), None, True),
        (place(), place(), None, False),
        (place(), Placement(), None, True),
        (place(), place(mode="Always"), None, True),
        # What runs stays.
        (place(), place(mode="Always"), "node-1", False),
    ],
)
def test_a_host_pod_without_a_node_is_outdated_when_the_rules_change(
    made: Placement, now: Placement, node: str | None, expected: bool
) -> None:
    host = build_host_pod(annotations=build_mark(made), nodeName=node)
    assert is_outdated(host, now) is expected


@pytest.mark.parametrize(("mode", "where"), [("WhenFull", "Host"), ("Always", "Wait")])
@pytest.mark.parametrize("volume", [{"persistentVolumeClaim": {"claimName": "data"}}, {"ephemeral": {"volumeClaimTemplate": {}}}])
def test_pods_with_persistent_volumes_stay(volume: Object, mode: str, where: str) -> None:
    found = decide_place(build_pod(volumes=[{"name": "data", **volume}]), place(mode=mode))
    assert (found.where, found.backends) == (where, ())
    assert "backends have no persistent volumes" in found.reason

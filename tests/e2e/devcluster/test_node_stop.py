"""Losing a node, and doing without it; what becomes of its pods is in `test_nodes`. These tests own the cluster, as those of
`test_cluster` do.
"""

import json
import os
import signal
from collections.abc import Iterator

import pytest

from devcluster import cluster
from devcluster.cluster import launcher
from devcluster.progress import Console
from tests.e2e.devcluster.conftest import BUSYBOX, Kubectl, fresh_namespace
from tests.e2e.devcluster.lifecycle import await_healthy, command_line, supervisor, wait_until

pytestmark = pytest.mark.usefixtures("idle_machine")
FIRST, SECOND = "nestor-dev", "nestor-dev-2"


@pytest.fixture
def kubectl() -> Iterator[Kubectl]:
    """kubectl in a fresh namespace of a cluster of both nodes."""
    with fresh_namespace(cluster.up(Console())) as run:
        assert cluster.nodes() == [FIRST, SECOND]
        yield run


def deployment() -> str:
    """A Deployment of one pod, on the second node as long as it takes pods."""
    second = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [SECOND]}]}
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": second}]}
    container = {"name": "app", "image": BUSYBOX, "command": ["sh", "-c", "echo started; exec sleep 100000"]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "affinity": {"nodeAffinity": affinity}}
    labels = {"matchLabels": {"app": "app"}}
    template = {"metadata": {"labels": labels["matchLabels"]}, "spec": spec}
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app"}}
    return json.dumps({**about, "spec": {"selector": labels, "template": template}})


def await_open(kubectl: Kubectl) -> None:
    """Await that the second node takes pods: a controller takes its taints off a moment after it is ready, or uncordoned."""

    def is_open() -> bool:
        taints = json.loads(kubectl("get", "node", SECOND, "-o", "json"))["spec"].get("taints") or []
        return not any(taint["effect"] == "NoSchedule" for taint in taints)

    wait_until(is_open, "the node has no taints")


def run_on_second(kubectl: Kubectl) -> None:
    """Have a pod of the Deployment run on the second node."""
    await_open(kubectl)
    kubectl.apply(deployment())
    kubectl("rollout", "status", "deployment/app", "--timeout=120s")
    assert running(kubectl) == [SECOND]


def running(kubectl: Kubectl) -> list[str]:
    """The nodes of the pods that are ready and not being deleted."""
    items = json.loads(kubectl("get", "pods", "-o", "json"))["items"]
    return [item["spec"]["nodeName"] for item in items if not item["metadata"].get("deletionTimestamp") and is_ready(item)]


def is_ready(item: dict[str, dict[str, list[dict[str, str]]]]) -> bool:
    """Whether an object's condition Ready is true."""
    conditions = item["status"].get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def test_a_node_that_is_soon_back_runs_its_pods_again(kubectl: Kubectl) -> None:
    run_on_second(kubectl)
    (before,) = json.loads(kubectl("get", "pods", "-o", "json"))["items"]
    cluster.node("stop", SECOND, Console())
    cluster.node("start", SECOND, Console())

    def is_restarted() -> bool:
        (pod,) = json.loads(kubectl("get", "pods", "-o", "json"))["items"]
        assert pod["metadata"]["uid"] == before["metadata"]["uid"]
        return bool(is_ready(pod) and pod["status"]["containerStatuses"][0]["restartCount"] == 1)

    wait_until(is_restarted, "the pod's container was started again", 60)
    wait_until(lambda: kubectl("logs", "deployment/app") == "started\n", "it has written its line")


def test_up_starts_a_stopped_node_and_keeps_the_cluster(kubectl: Kubectl) -> None:
    before = supervisor()
    cluster.node("stop", SECOND, Console())
    assert not cluster.status().healthy
    assert SECOND in cluster.status().message
    cluster.up(Console())
    assert supervisor() == before
    await_healthy()


def test_the_node_of_the_control_plane_is_not_stopped(kubectl: Kubectl) -> None:
    with pytest.raises(RuntimeError, match="shares its network with the control plane"):
        cluster.node("stop", FIRST, Console())
    await_healthy()


@pytest.mark.parametrize("is_crash", [False, True])
def test_down_leaves_nothing_of_a_cluster_with_a_stopped_node(kubectl: Kubectl, is_crash: bool) -> None:
    run_on_second(kubectl)
    cluster.node("stop", SECOND, Console())
    if is_crash:
        os.kill(supervisor().outer.pid, signal.SIGKILL)
    assert cluster.down(Console()) == []


@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_a_node_that_ends_by_itself_ends_the_cluster_and_up_works_again(kubectl: Kubectl, name: str) -> None:
    arguments = ["-m", "devcluster.cluster.node", name, ""]
    nodes = [pid for pid in launcher.members(supervisor()) if command_line(pid)[1:] == arguments]
    os.kill(nodes[0], signal.SIGKILL)
    wait_until(lambda: not cluster.status().running, "the cluster has ended itself", 60)
    assert f"{name}/node ended by itself" in cluster.status().message
    cluster.up(Console())
    await_healthy()


def test_a_cluster_of_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.down(Console())
    monkeypatch.setenv("NODES", "1")
    with fresh_namespace(cluster.up(Console())) as kubectl:
        assert cluster.nodes() == [FIRST]
        await_healthy()
        assert json.loads(kubectl("get", "nodes", "-o", "json"))["items"][0]["metadata"]["name"] == FIRST
        assert kubectl.run("hello", "echo hello") == "hello\n"
    assert cluster.down(Console()) == []

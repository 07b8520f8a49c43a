"""Which clusters of a pool go, what is made, and which job's own would be the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nestor.api import labels, names, times
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.placement_rules import AssignedNodes
from nestor.kube import RetryLater, kinds
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.deletion.finalize import Finalizer
from nestor.operator.deletion.sweep import Sweeper
from nestor.operator.guests.pool.claim import finish_claim
from nestor.operator.guests.pool.decide import LIFE_SECONDS, START_SECONDS, Decision, Member, Pool, decide
from nestor.operator.guests.pool.keeper import Pools
from nestor.operator.guests.pool.member import build_home, choose_cluster, find_key
from nestor.operator.guests.pool.observe import look_at_pods
from nestor.operator.world.ownership import find_home
from nestor.operator.world.trim import trim_pod
from tests.unit.operator.builders import Object, build_job, build_policy, resolve
from tests.unit.operator.scene import Scene

POOLS = {"a": Pool(2, "k")}
YOUNG, OLD = Member("young", "1", "k", "a", 10, is_ready=True), Member("old", "2", "k", "a", 1000, is_ready=True)
NEW = Member("new", "3", "k", "a", 1)
BOTH = [OLD, YOUNG]


@pytest.mark.parametrize(
    ("members", "more", "dropped", "made"),
    [
        ([], {}, [], "a"),
        ([YOUNG], {}, [], "a"),
        (BOTH, {}, [], None),
        # One at a time, and only where there is time and room for it.
        ([NEW], {}, [], None),
        ([YOUNG], {"is_busy": True}, [], None),
        # One whose namespace hangs keeps nobody waiting.
        ([YOUNG, replace(OLD, is_ending=True)], {}, [], "a"),
        # Room is made one by one, of what is least ready first.
        (BOTH, {"is_short": True}, ["old"], None),
        ([YOUNG, NEW], {"is_short": True}, ["new"], None),
        ([YOUNG, replace(OLD, is_ending=True)], {"is_short": True}, [], None),
        (BOTH, {"is_busy": True}, [], None),
        # Too many; made in another way; too old; too slow; nobody's.
        ([*BOTH, NEW], {}, ["new"], None),
        ([YOUNG, replace(OLD, key="former")], {}, ["old"], None),
        ([YOUNG, replace(OLD, age=LIFE_SECONDS)], {}, ["old"], None),
        ([YOUNG, replace(NEW, age=START_SECONDS)], {}, ["new"], None),
        ([YOUNG, replace(OLD, class_name=None)], {}, ["old"], None),
        ([YOUNG, replace(OLD, class_name="gone")], {}, ["old"], None),
        # What a job gets is the job's, whatever becomes of the class.
        ([replace(YOUNG, is_given=True), OLD], {}, [], "a"),
        ([replace(YOUNG, is_given=True, class_name="gone"), OLD], {"is_short": True}, ["old"], None),
    ],
)
def test_what_becomes_of_a_pool(members: list[Member], more: Any, dropped: list[str], made: str | None) -> None:
    found = decide(POOLS, members, **more)
    assert ([item.namespace for item in found.drop], found.make) == (dropped, made)


def test_classes_take_turns() -> None:
    pools = POOLS | {"b": Pool(1, "k")}
    assert [decide(pools, [], last=last).make for last in ("", "a", "b")] == ["a", "b", "a"]


def test_without_a_pool_nothing_is_made() -> None:
    assert decide({"a": Pool(0, "k")}, []) == Decision()


MACHINES = {"machines": [{"name": "n4", "quota": {"requests.cpu": "4"}, "nodeSelector": {"pool": "n4"}}]}
OTHER: dict[str, Any] = {"resources": {"requests": {"cpu": "1"}}}


@pytest.mark.parametrize(
    ("spec", "is_same"),
    [
        ({}, True),
        ({"machine": "n4"}, True),  # of the application's pods
        ({"parameters": None, "successPolicy": {"targets": [{"kind": "Job", "name": "pi"}]}}, True),
        ({"kubernetesVersion": "v1.36"}, True),
        ({"kubernetesVersion": "v1.9"}, False),
    ],
)
def test_a_job_gets_what_its_own_cluster_would_be(spec: Any, *, is_same: bool) -> None:
    context, policy = Scene().context, build_policy(placement=MACHINES, cluster={"versions": ["v1.36", "v1.9"]})
    cluster = choose_cluster(context, "default", policy)
    assert cluster is not None
    resolved = resolve(build_job(**spec), {"default": policy})
    assert (find_key(context, resolved.cluster, resolved.policy) == find_key(context, cluster, policy)) is is_same


def key(cluster: NestedClusterSpec | None, policy: NestedClassSpec, **more: Any) -> str:
    assert cluster is not None
    return find_key(Scene().context, cluster, policy, **more)


def test_clusters_of_other_classes_resources_and_nodes_are_others() -> None:
    context, policy, larger = Scene().context, build_policy(), build_policy(cluster=OTHER)
    usual = choose_cluster(context, "default", policy)
    found = {
        key(usual, policy),
        key(choose_cluster(context, "other", policy), policy),
        key(usual, larger),
        key(usual, policy, nodes=AssignedNodes(node_selector={"pool": "x"})),
    }
    assert len(found) == 4


def test_there_is_no_pool_where_data_is_kept_or_nobody_knows_the_image() -> None:
    context = Scene().context
    assert choose_cluster(context, "default", build_policy(cluster={"persistence": {"size": "1Gi"}})) is None
    assert choose_cluster(context, "default", build_policy(cluster={"versions": ["v1.1"]})) is None


@pytest.mark.parametrize(("class_name", "suffix"), [("default", "0123abcd"), ("a.b", "0123abcd"), ("x" * 253, "0123abcd")])
def test_the_names_of_pools_are_nobody_elses(class_name: str, suffix: str) -> None:
    found = names.pool_namespace(class_name, suffix)
    assert names.is_of_pool(found)
    assert len(found) <= names.LABEL_LIMIT


@pytest.mark.parametrize("name", ["nestor--x", "nestor-x-0123abcd", "other--x-0123abcd", "nestor--x-0123abcd.evil"])
def test_other_names_are_none(name: str) -> None:
    job = build_job()
    own = find_home(job).namespace
    assert find_home(job | {"status": {"namespace": name, "namespaceUID": "1"}}).namespace == own
    assert not names.is_of_pool(own)


WHERE = names.pool_namespace("default", "0123abcd")
WAITS = build_home(WHERE).labels | {labels.POOL: "k"}


async def given(marks: Object, **meta: Any) -> Scene:
    """A job whose status has that namespace, and the namespace."""
    scene = Scene()
    scene.add_job()
    said = {"kept": "kept", "namespace": WHERE, "namespaceUID": "u"}
    await scene.context.apply_status(kinds.NESTED_APP_JOB, scene.job, said)
    scene.show(kinds.NAMESPACE, {"metadata": {"name": WHERE, "uid": "u", "labels": marks} | meta})
    return scene


async def test_a_claim_goes_on_with_its_second_write_and_ends_with_it() -> None:
    scene = await given(WAITS)
    await finish_claim(scene.context, scene.job)
    own = find_home(scene.job).labels
    assert scene.look(kinds.NAMESPACE, WHERE, "")["metadata"]["labels"] == own
    scene.api.asked.clear()
    await finish_claim(scene.context, scene.job)
    assert (scene.api.asked, scene.job["status"]["namespace"]) == ([], WHERE)


@pytest.mark.parametrize(
    ("marks", "meta"),
    [
        (labels.of_job("another", "team-b", "5678"), {}),
        (WAITS, {"uid": "another"}),
        (WAITS, {"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    ],
    ids=["another job's", "another namespace", "going"],
)
async def test_a_job_that_loses_its_cluster_starts_with_one_of_its_own(marks: Object, meta: Object) -> None:
    scene = await given(marks, **meta)
    await finish_claim(scene.context, scene.job)
    assert scene.job["status"] == {"kept": "kept"}
    assert scene.look(kinds.NAMESPACE, WHERE, "")["metadata"]["labels"] == marks


async def test_a_namespace_that_has_changed_is_looked_at_again() -> None:
    """Another job may have got it since it was read."""
    scene = await given(WAITS)
    scene.api.put(kinds.NAMESPACE, scene.look(kinds.NAMESPACE, WHERE, ""))
    with pytest.raises(RetryLater, match="has changed"):
        await finish_claim(scene.context, scene.job)


async def test_a_class_without_a_pool_records_none() -> None:
    """An operator may have died after the last cluster went."""
    scene = Scene()
    body = scene.context.cache.classes.get("default") or {}
    scene.show(kinds.NESTED_CLASS, body | {"status": {"pool": [{"namespace": WHERE, "uid": "u", "ready": True}]}})
    assert await Pools(scene.context)._look(None) is None
    assert not scene.look(kinds.NESTED_CLASS, "default", "")["status"].get("pool")


@pytest.mark.parametrize(
    ("where", "status", "is_swept"),
    [(WHERE, {"namespace": WHERE}, False), (WHERE, {}, True), ("nestor--foreign", {}, False)],
    ids=["given", "its status is lost", "only labeled"],
)
async def test_what_a_job_was_given_is_its_own_as_long_as_its_status_says_so(
    where: str, status: Object, *, is_swept: bool
) -> None:
    scene = Scene()
    own = find_home(scene.add_job()).labels
    scene.settle(status=status)
    scene.show(kinds.NAMESPACE, {"metadata": {"name": where, "uid": "u", "labels": own}})
    finalizer = Finalizer(scene.context, (), CopiedInputs(scene.context.applier, "nestor-system"))
    await Sweeper(scene.context, finalizer).sweep("team-a", "hello")
    assert (not scene.look(kinds.NAMESPACE, where, "")) is is_swept


def build_pod(
    where: str, component: str, message: str = "", node: str = "", *, is_ready: bool = False, phase: str = "Pending"
) -> Object:
    """As the cache has it."""
    scheduled = {"type": "PodScheduled", "status": "False" if message else "True", "message": message}
    ready = {"type": "Ready", "status": "True" if is_ready else "False"}
    status = {"phase": phase, "conditions": [scheduled, ready]}
    meta = {"name": "x", "namespace": where, "uid": where, "creationTimestamp": times.timestamp()}
    spec = {"containers": [], "nodeName": node} if node else {"containers": []}
    return trim_pod({"metadata": meta | {"labels": {labels.COMPONENT: component}}, "spec": spec, "status": status})


FULL = "0/2 nodes are available: 2 Insufficient cpu."
SERVER, APP, RUNNER = labels.COMPONENT_SERVER, labels.COMPONENT_APP, labels.COMPONENT_RUNNER


@pytest.mark.parametrize(
    ("pod", "found"),
    [
        (build_pod("job", SERVER), (False, False)),
        (build_pod("job", SERVER, node="n"), (True, False)),
        (build_pod("job", SERVER, node="n", is_ready=True), (False, False)),
        (build_pod("job", RUNNER, node="n", is_ready=True), (True, False)),
        (build_pod("job", RUNNER, node="n", phase="Succeeded"), (False, False)),
        (build_pod("job", APP, node="n"), (True, False)),
        (build_pod("job", APP, node="n", phase="Running"), (False, False)),
        (build_pod("job", SERVER, FULL), (False, True)),
        (build_pod("job", APP, FULL), (False, True)),
        (build_pod("job", APP, "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."), (False, False)),
        # Those of the pools want nobody's room.
        (build_pod(WHERE, SERVER, FULL), (False, False)),
        (build_pod(WHERE, SERVER, node="n"), (False, False)),
    ],
)
def test_what_pods_of_jobs_want(pod: Object, found: tuple[bool, bool]) -> None:
    scene = Scene()
    scene.show(kinds.POD, pod)
    assert look_at_pods(scene.context.cache, {WHERE}) == found

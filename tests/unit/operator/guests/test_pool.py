"""Which clusters of a pool go, what is made, and which job's own would be the same."""

from dataclasses import replace
from typing import Any

import pytest

from nestor.api import labels, names, times
from nestor.api.placement_rules import AssignedNodes
from nestor.kube import Forbidden, RetryLater, kinds
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.deletion.finalize import Finalizer
from nestor.operator.deletion.sweep import Sweeper
from nestor.operator.guests.pool.decide import LIFE_SECONDS, START_SECONDS, Member, Pool, decide
from nestor.operator.guests.pool.keeper import Pools
from nestor.operator.guests.pool.member import build_home, choose_cluster, find_key, finish_claim, list_members, look_at_pods
from nestor.operator.world.ownership import find_home
from nestor.operator.world.trim import TRIMS
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
    drop, make = decide(POOLS, members, **more)
    assert ([item.namespace for item in drop], make) == (dropped, made)


def test_classes_take_turns() -> None:
    pools = POOLS | {"b": Pool(1, "k")}
    assert [decide(pools, [], last=last)[1] for last in ("", "a", "b")] == ["a", "b", "a"]


TWO = {"versions": ["v1.36", "v1.9"]}
MACHINES = {"machines": [{"name": "n4", "quota": {"requests.cpu": "4"}, "nodeSelector": {"pool": "n4"}}]}


@pytest.mark.parametrize(
    ("spec", "changes", "nodes", "is_same"),
    [
        ({}, {}, {}, True),
        ({"machine": "n4"}, {}, {}, True),  # of the application's pods
        ({"successPolicy": {"targets": [{"kind": "Job", "name": "pi"}]}}, {}, {}, True),
        ({"kubernetesVersion": "v1.36"}, {}, {}, True),
        ({}, {"namespace": {"podSecurity": "Privileged"}, "network": {"privateRanges": []}}, {}, True),  # its first pass says so
        ({"kubernetesVersion": "v1.9"}, {}, {}, False),
        ({"className": "other"}, {}, {}, False),
        ({}, {"cluster": TWO | {"resources": {"requests": {"cpu": "1"}}}}, {}, False),
        ({}, {}, {"pool": "x"}, False),
    ],
)
def test_a_job_gets_what_its_own_cluster_would_be(spec: Any, changes: Any, nodes: Any, *, is_same: bool) -> None:
    context, policy = Scene().context, build_policy(placement=MACHINES, cluster=TWO)
    cluster = choose_cluster(context, "default", policy)
    assert cluster is not None
    own = build_policy(**{"placement": MACHINES, "cluster": TWO} | changes)
    job = resolve(build_job(**spec), {"default": own, "other": own})
    key = find_key(context, job.cluster, job.policy, AssignedNodes(node_selector=nodes))
    assert (key == find_key(context, cluster, policy)) is is_same


def test_there_is_no_pool_where_data_is_kept_or_nobody_knows_the_image() -> None:
    context = Scene().context
    assert choose_cluster(context, "default", build_policy(cluster={"persistence": {"size": "1Gi"}})) is None
    assert choose_cluster(context, "default", build_policy(cluster={"versions": ["v1.1"]})) is None


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (names.pool_namespace("default", "0123abcd"), True),
        (names.pool_namespace("a.b" * 84, "0123abcd"), True),
        *((name, False) for name in ("nestor--x", "nestor-x-0123abcd", "other--x-0123abcd", "nestor--x-0123abcd.evil")),
    ],
)
def test_a_job_is_where_its_status_says_if_that_is_of_a_pool(name: str, *, is_one: bool) -> None:
    job = build_job()
    own = find_home(job).namespace
    home = find_home(job | {"status": {"namespace": name, "namespaceUID": "1"}})
    assert (home.namespace, home.name) == ((name, names.POOLED) if is_one else (own, "hello"))
    assert (len(home.namespace) <= names.LABEL_LIMIT, names.is_of_pool(own)) == (True, False)


WHERE = names.pool_namespace("default", "0123abcd")
WAITS = build_home(WHERE).labels | {labels.POOL: "k"}


@pytest.mark.parametrize(
    ("marks", "meta", "is_kept"),
    [
        (WAITS, {}, True),
        (labels.of_job("another", "team-b", "5678"), {}, False),
        (WAITS, {"uid": "another"}, False),
        (WAITS, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, False),
    ],
)
async def test_a_claim_goes_on_with_its_second_write_or_the_job_has_a_cluster_of_its_own(
    marks: Object, meta: Object, *, is_kept: bool
) -> None:
    scene, said = Scene(), {"namespace": WHERE, "namespaceUID": "u"}
    scene.add_job()
    await scene.context.apply_status(kinds.NESTED_APP_JOB, scene.job, {"kept": "kept"} | said)
    space = {"metadata": {"name": WHERE, "uid": "u", "labels": marks} | meta}
    scene.show(kinds.NAMESPACE, space)
    scene.api.put(kinds.NAMESPACE, space)  # somebody changes it
    if is_kept:
        with pytest.raises(RetryLater, match="has changed"):
            await finish_claim(scene.context, scene.job)
        scene.show(kinds.NAMESPACE, space)
        refusal = Forbidden(403, "Forbidden", "no labels here")
        scene.api.refusal = lambda verb, _: refusal if verb == "PATCH" else None
        with pytest.raises(Forbidden):
            await finish_claim(scene.context, scene.job)
        (event,) = (item for (plural, *_), item in scene.api.objects.items() if plural == "events")
        assert (event["reason"], event["message"].partition(": ")[2]) == ("ReadyClusterRefused", "no labels here")
        scene.api.refusal = lambda *_: None
    for _ in range(2):
        await finish_claim(scene.context, scene.job)
    assert scene.job["status"] == {"kept": "kept"} | (said if is_kept else {})
    wanted = find_home(scene.job).labels if is_kept else marks
    assert scene.look(kinds.NAMESPACE, WHERE, "")["metadata"]["labels"] == wanted


@pytest.mark.parametrize(("uid", "class_name"), [("u", "default"), ("former", None)], ids=["recorded", "made by somebody else"])
def test_only_what_a_class_has_recorded_is_of_its_pool(uid: str, class_name: str | None) -> None:
    scene = Scene()
    body = scene.context.cache.classes.get("default") or {}
    scene.show(kinds.NESTED_CLASS, body | {"status": {"pool": [{"namespace": WHERE, "uid": uid, "ready": True}]}})
    scene.show(
        kinds.NAMESPACE, {"metadata": {"name": WHERE, "uid": "u", "labels": WAITS, "creationTimestamp": times.timestamp()}}
    )
    (found,) = list_members(scene.context.cache, ())
    assert found.class_name == class_name


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


FULL, NO_GPU = (f"0/2 nodes are available: 2 Insufficient {name}." for name in ("cpu", "nvidia.com/gpu"))
SERVER, APP, RUNNER = labels.COMPONENT_SERVER, labels.COMPONENT_APP, labels.COMPONENT_RUNNER


@pytest.mark.parametrize(
    ("component", "held", "phase", "is_ready", "found"),
    [
        (SERVER, "", "Pending", False, (True, False)),
        (SERVER, "", "Running", True, (False, False)),
        (RUNNER, "", "Running", True, (True, False)),
        (RUNNER, "", "Succeeded", False, (False, False)),
        (APP, "", "Pending", False, (True, False)),
        (APP, "", "Running", False, (False, False)),
        (SERVER, FULL, "Pending", False, (False, True)),
        (APP, FULL, "Pending", False, (False, True)),
        (APP, NO_GPU, "Pending", False, (False, False)),
    ],
)
def test_what_pods_of_jobs_want(component: str, held: str, phase: str, found: tuple[bool, bool], *, is_ready: bool) -> None:
    scene = Scene()
    scheduled = {"type": "PodScheduled", "status": "False" if held else "True", "message": held}
    status = {"phase": phase, "conditions": [scheduled, {"type": "Ready", "status": str(is_ready)}]}
    meta = {"name": "x", "namespace": "home", "creationTimestamp": times.timestamp(), "labels": {labels.COMPONENT: component}}
    spec: Object = {} if held else {"nodeName": "n"}
    scene.show(kinds.POD, TRIMS[kinds.POD]({"metadata": meta, "spec": spec, "status": status}))
    assert look_at_pods(scene.context.cache, ()) == found
    assert look_at_pods(scene.context.cache, {"home"}) == (False, False), "those of the pools want nobody's room"

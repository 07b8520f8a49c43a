"""Which gang a pod is in; how host pods are held for it, let go, and taken back; and the PodGroup of the host's own scheduler."""

from typing import Any

import pytest

from nestor.api.data import read, write
from nestor.api.objects import Object
from nestor.api.observed import GangStatus
from nestor.api.placement import GANG_LIMIT, Gang, NodeRequirement, Placement
from nestor.api.policy import Policy
from nestor.pods.translate import gang
from nestor.pods.translate.gang import Claim, Membership, find_claim, find_faults, join
from nestor.pods.translate.ignored import find_ignored
from nestor.pods.translate.node_rules import REQUIRED
from nestor.pods.translate.pod import build_pod as build_host
from nestor.pods.translate.refusals import find_refusals
from nestor.pods.translate.status import build_disrupted, explain_gate
from tests.unit.pods.translate.builders import TARGET, build_host_pod, build_pod, one_of, requires

MINE = Membership("k" * 16, "shop/Train", 3)
HPC = NodeRequirement(key="nestor.dev/backend", operator="In", values=["hpc"])
ZONE = one_of("zone", "a")
NAMED = {"matchFields": [one_of("metadata.name", "n")]}


def entry(state: str = "Released", **more: Any) -> GangStatus:
    return read(GangStatus, {"name": MINE.key, "state": state} | more)


def host(rules: Object | None = None, pod: Object | None = None, **section: Any) -> Object:
    placement = read(Placement, (rules or {}) | {"gang": section})
    return build_host(pod or build_pod(), TARGET, {}, Policy(placement=placement), membership=MINE)


def test_a_pod_is_held_by_a_gate_until_its_gang_is_let_go() -> None:
    made = host()
    assert made["spec"]["schedulingGates"] == [{"name": "nestor.dev/gang"}]
    assert made["metadata"]["labels"]["nestor.dev/gang"] == MINE.key
    notes = made["metadata"]["annotations"]
    assert (notes["nestor.dev/gang-name"], notes["nestor.dev/gang-size"]) == ("shop/Train", "3")
    assert gang.is_held(made)
    assert not gang.is_held(build_host_pod())
    assert not gang.is_held(build_host_pod(schedulingGates=[{"name": "other"}]))
    assert "schedulingGates" not in build_host(build_pod(), TARGET, {}, Policy(placement=Placement(gang=Gang())))["spec"]


def terms(made: Object) -> list[Object]:
    found: list[Object] = made["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return found


def test_it_is_let_go_to_its_gangs_place_alone() -> None:
    backends = {"overflow": {"backends": [{"name": "hpc"}, {"name": "cloud"}]}}
    made = host(backends)
    patch = gang.build_release(made, entry(round=2, nodes=[write(HPC)], message="backend 'hpc' has room"))
    assert patch["spec"]["schedulingGates"] == [{"$patch": "delete", "name": "nestor.dev/gang"}]
    assert patch["metadata"]["annotations"] == {"nestor.dev/gang-round": "2", "nestor.dev/place-reason": "backend 'hpc' has room"}
    wanted = one_of("nestor.dev/backend", "hpc")
    # An API server takes only what is added to a term of a pod that is held.
    assert len(terms(made)) == len(terms(patch)) == 3
    for before, after in zip(terms(made), terms(patch), strict=True):
        assert after == before | {"matchExpressions": [*before["matchExpressions"], wanted]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [{"matchExpressions": [write(HPC)]}]),
        ([NAMED], [NAMED | {"matchExpressions": [write(HPC)]}]),
        # One that no node meets may not be widened.
        ([{}, {"matchExpressions": [ZONE]}], [{}, {"matchExpressions": [ZONE, write(HPC)]}]),
    ],
)
def test_each_term_is_narrowed(before: list[Object], after: list[Object]) -> None:
    made = build_host_pod(affinity=requires(*before) if before else {"podAffinity": {}})
    assert terms(gang.build_release(made, entry(nodes=[write(HPC)]))) == after


def test_where_there_is_but_one_place_nothing_is_narrowed() -> None:
    assert "affinity" not in gang.build_release(build_host_pod(), entry())["spec"]


@pytest.mark.parametrize(
    ("state", "number", "own", "held", "expected"),
    [
        ("Waiting", 2, "1", False, True),
        ("Waiting", 2, "2", False, False),
        ("Waiting", 2, "1", True, False),
        ("Waiting", 2, None, False, False),
        ("Waiting", 2, "soon", False, False),
        ("Released", 2, "1", False, False),
        ("Started", 2, "1", False, False),
    ],
)
def test_pods_of_a_round_that_failed_are_taken_back(state: str, number: int, own: str | None, held: bool, expected: bool) -> None:
    made = build_host_pod(annotations={"nestor.dev/gang-round": own} if own else {}, schedulingGates=[gang.GATE] if held else [])
    assert gang.is_taken_back(made, entry(state, round=number)) is expected
    assert not gang.is_taken_back(made, None)


def test_a_pod_says_what_its_gang_waits_for() -> None:
    made = host()
    assert gang.explain_wait(made, None) == "waiting for a place with room for all 3 pods of gang 'shop/Train'"
    assert gang.explain_wait(made, entry("Waiting", message="no room")) == "no room"
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "blocked"}
    other = {"type": "Ready", "status": "False", "reason": "x"}
    said = explain_gate({"phase": "Pending", "conditions": [gated, other]}, gang.WAITING, "no room")
    assert said == {"phase": "Pending", "conditions": [gated | {"reason": "GangWaiting", "message": "no room"}, other]}
    going = explain_gate({"conditions": [gated | {"status": "True"}]}, gang.WAITING, "no room")
    assert going["conditions"] == [gated | {"status": "True"}]


def test_a_pod_that_is_taken_back_has_failed_for_no_fault_of_its_own() -> None:
    running = {"phase": "Running", "containerStatuses": [{"name": "app", "state": {"running": {}}, "containerID": "c"}]}
    found = build_disrupted(build_pod(), build_host_pod(status=running), TARGET, gang.TAKEN_BACK, "only 2 of 3")
    assert (found["phase"], found["reason"], found["message"]) == ("Failed", "GangTakenBack", "only 2 of 3")
    assert found["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
    by_type = {item["type"]: item for item in found["conditions"]}
    assert (by_type["DisruptionTarget"]["status"], by_type["DisruptionTarget"]["reason"]) == ("True", "GangTakenBack")
    assert by_type["Ready"]["status"] == "False"


def test_entries_that_cannot_be_read_are_decided_anew() -> None:
    good = {"name": "a", "state": "Released", "since": "2026-01-01T12:00:00Z"}
    bad = [{"name": "b", "state": "Dancing"}, good | {"name": "c", "since": "2026-99-01T12:00:00Z"}, {}]
    bad += [good | {"name": "d", "retryTime": text} for text in ("2026-01-01T12:00:00", "soon", "2026-01-01T25:00:00Z")]
    assert list(gang.read_entries({"status": {"gangs": [good, *bad]}})) == ["a"]
    assert gang.read_entries(None) == {}


BACKENDS = [{"name": "hpc", "weight": 10}, {"name": "cloud", "weight": 90}]


def test_the_host_s_scheduler_is_told_the_group() -> None:
    rules = Gang(scheduler="Kubernetes")
    plain, made = build_host(build_pod(), TARGET, {}, Policy(placement=Placement(gang=rules))), host(scheduler="Kubernetes")
    name = "shop-train-" + MINE.key
    assert made == plain | {"spec": plain["spec"] | {"schedulingGroup": {"podGroupName": name}}}
    assert (gang.find_group(made), gang.find_group(plain)) == (name, "")
    built = gang.build_group(MINE, TARGET)
    assert built["spec"] == {"schedulingPolicy": {"gang": {"minCount": 3}}}
    assert (built["metadata"]["name"], built["metadata"]["namespace"]) == (name, TARGET.namespace)
    assert built["metadata"]["ownerReferences"][0]["uid"] == "cluster-uid"
    assert built["metadata"]["labels"].items() >= {"nestor.dev/cluster": "hello", "nestor.dev/gang": MINE.key}.items()


@pytest.mark.parametrize(("mode", "backends"), [("WhenFull", []), ("Always", ["cloud"]), ("Never", [])])
def test_such_a_gang_has_one_place_as_its_scheduler_knows_none(mode: str, backends: list[str]) -> None:
    made = host({"overflow": {"mode": mode, "backends": BACKENDS}}, scheduler="Kubernetes")
    found = [item["values"][0] for term in terms(made) for item in term["matchExpressions"] if item["operator"] == "In"]
    assert found == backends
    assert len(terms(made)) == 1
    # Where Nestor itself holds the gang, all places stay open until it has decided.
    assert len(terms(host({"overflow": {"mode": mode, "backends": BACKENDS}}))) == {"WhenFull": 3, "Always": 2, "Never": 1}[mode]


ALL = Gang(groups=["Annotation", "PodGroup", "JobSet", "IndexedJob"])
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j", "controller": True}
JOBSET = {"jobset.sigs.k8s.io/jobset-name": "train", "jobset.sigs.k8s.io/replicatedjob-name": "workers"}
INDEX = {"batch.kubernetes.io/job-completion-index": "0"}


def pod(
    notes: dict[str, str] | None = None, own: dict[str, str] | None = None, owner: Object | None = None, **spec: Any
) -> Object:
    made = build_pod(labels=own, **spec)
    made["metadata"] |= {"annotations": notes or {}, "ownerReferences": [owner] if owner else []}
    return made


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pod(), None),
        (pod(owner=JOB), None),
        (pod({"nestor.dev/gang": "a", "nestor.dev/gang-size": "3"}), Claim("Annotation", "shop", "a", 3)),
        (pod(None, {"nestor.dev/gang": "a", "nestor.dev/gang-size": "3"}), Claim("Annotation", "shop", "a", 3)),
        (pod({"nestor.dev/gang": "a"}, owner=JOB), Claim("Annotation", "shop", "a", None, "train")),
        # What users write for Nestor comes before what is there for others.
        (pod({"nestor.dev/gang": "a", "nestor.dev/gang-size": "3"}, JOBSET), Claim("Annotation", "shop", "a", 3)),
        (pod(schedulingGroup={"podGroupName": "g"}), Claim("PodGroup", "shop", "g", None, "g")),
        # Those of other schedulers are none of ours.
        (pod({"scheduling.k8s.io/group-name": "g"}, {"scheduling.x-k8s.io/pod-group": "g"}), None),
        (pod(None, JOBSET), Claim("JobSet", "shop", "train-0", None, "train", "workers")),
        (
            pod(None, JOBSET | {"jobset.sigs.k8s.io/restart-attempt": "2"}),
            Claim("JobSet", "shop", "train-2", None, "train", "workers"),
        ),
        (pod(INDEX, owner=JOB), Claim("IndexedJob", "shop", "train", None, "train")),
        # JobSet makes the other pods when the first one has a node.
        (pod(INDEX | {"alpha.jobset.sigs.k8s.io/exclusive-topology": "zone"}, JOBSET, JOB), None),
        (pod(INDEX), None),
        (pod({"nestor.dev/gang": "a"}, owner=JOB | {"controller": False}), Claim("Annotation", "shop", "a")),
    ],
)
def test_a_pod_is_in_the_gang_that_it_names(found: Object, expected: Claim | None) -> None:
    assert find_claim(found, ALL) == expected


def job(status: Object | None = None, **spec: Any) -> Object:
    return {"spec": spec, "status": status or {}}


def jobset(*jobs: tuple[str, int, Object], **spec: Any) -> Object:
    parts = [{"name": name, "replicas": replicas, "template": {"spec": its}} for name, replicas, its in jobs]
    return {"spec": {"replicatedJobs": parts, **spec}}


OF_JOB = Claim("Annotation", "shop", "a", None, "train")
INDEXED = Claim("IndexedJob", "shop", "train", None, "train")
GROUP = Claim("PodGroup", "shop", "g", None, "g")
SET = Claim("JobSet", "shop", "train-0", None, "train", "workers")
TWO: tuple[tuple[str, int, Object], ...] = (("driver", 1, {}), ("workers", 2, {"parallelism": 4, "completions": 3}))


@pytest.mark.parametrize(
    ("claim", "said", "size"),
    [
        (Claim("Annotation", "shop", "a", 3), None, 3),
        (OF_JOB, job(), 1),
        (OF_JOB, job(parallelism=3), 3),
        (OF_JOB, job(parallelism=5, completions=3), 3),
        # What has succeeded does not come again.
        (OF_JOB, job({"succeeded": 2}, parallelism=3, completions=3), 1),
        (OF_JOB, job({"succeeded": 3}, parallelism=3, completions=3), 1),
        (OF_JOB, job(parallelism=GANG_LIMIT), GANG_LIMIT),
        (OF_JOB, job(parallelism=GANG_LIMIT + 1), None),
        (INDEXED, job(parallelism=3, completions=3), 3),
        (INDEXED, job(parallelism=4, completions=3), 3),
        (INDEXED, job(parallelism=2, completions=3), None),
        (INDEXED, job(parallelism=3), None),
        (GROUP, {"spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}}, 4),
        (GROUP, {"spec": {"schedulingPolicy": {"basic": {}}}}, None),
        (GROUP, {"spec": {"schedulingPolicy": {"gang": {"minCount": 0}}}}, None),
        (GROUP, {}, None),
        (SET, jobset(*TWO), 7),
        # Those that start one after another cannot wait for each other.
        (SET, jobset(*TWO, startupPolicy={"startupPolicyOrder": "InOrder"}), 6),
        (SET, jobset(), None),
    ],
)
def test_what_it_names_says_how_many_pods_the_gang_has(claim: Claim, said: Object | None, size: int | None) -> None:
    found = join(claim, said)
    assert (found.size if found else None) == size


def test_the_jobs_of_a_jobset_that_depend_on_each_other_are_gangs_of_their_own() -> None:
    whole = jobset(*TWO)
    whole["spec"]["replicatedJobs"][1]["dependsOn"] = [{"name": "driver", "status": "Ready"}]
    workers, driver = (join(SET, whole), join(Claim("JobSet", "shop", "train-0", None, "train", "driver"), whole))
    assert workers is not None
    assert driver is not None
    assert (workers.size, workers.title) == (6, "shop/train-0-workers")
    assert (driver.size, driver.title) == (1, "shop/train-0-driver")
    assert workers.key != driver.key


@pytest.mark.parametrize(
    ("notes", "owner", "fault"),
    [
        ({"nestor.dev/gang": "a", "nestor.dev/gang-size": "3"}, None, ""),
        ({"nestor.dev/gang": "a", "nestor.dev/gang-size": "many"}, None, "must be a whole number from 1 to 500, not 'many'"),
        ({"nestor.dev/gang": "a"}, None, "must be set: the pod is no Job's"),
        ({"nestor.dev/gang": "a"}, JOB, ""),
        ({"nestor.dev/gang-size": "many"}, None, ""),
        ({"nestor.dev/gang": "x" * 254, "nestor.dev/gang-size": "3"}, None, "must have at most 253 characters"),
    ],
)
def test_a_size_that_cannot_be_read_refuses_the_pod(notes: dict[str, str], owner: Object | None, fault: str) -> None:
    found = pod(notes, owner=owner)
    policy = Policy(placement=Placement(gang=Gang()))
    assert fault in "".join(find_refusals(found, policy))
    assert bool(find_refusals(found, policy)) is bool(fault)
    assert not find_faults(found, Gang(groups=["PodGroup"]))
    assert not find_refusals(found, Policy())


def test_without_rules_its_owner_is_told_that_it_is_in_no_gang() -> None:
    found = pod({"nestor.dev/gang": "a", "nestor.dev/gang-size": "3"})
    assert find_ignored(found, Policy(), TARGET) == ["annotation `nestor.dev/gang` is 'a', but the class has no `placement.gang`"]
    assert find_ignored(found, Policy(placement=Placement(gang=Gang())), TARGET) == []

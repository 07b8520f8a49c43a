"""Which gang a pod is in, and of what size: by what users write."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.placement import GANG_LIMIT, Gang, Placement
from nestor.api.policy import Policy
from nestor.pods.translate.gang import Claim, find_claim, find_faults, join
from nestor.pods.translate.ignored import find_ignored
from nestor.pods.translate.refusals import find_refusals
from tests.unit.pods.translate.builders import TARGET, build_pod

Object = dict[str, Any]

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


MINE = Claim("Annotation", "shop", "a", None, "train")
INDEXED = Claim("IndexedJob", "shop", "train", None, "train")
GROUP = Claim("PodGroup", "shop", "g", None, "g")
SET = Claim("JobSet", "shop", "train-0", None, "train", "workers")
TWO: tuple[tuple[str, int, Object], ...] = (("driver", 1, {}), ("workers", 2, {"parallelism": 4, "completions": 3}))


@pytest.mark.parametrize(
    ("claim", "said", "size"),
    [
        (Claim("Annotation", "shop", "a", 3), None, 3),
        (MINE, job(), 1),
        (MINE, job(parallelism=3), 3),
        (MINE, job(parallelism=5, completions=3), 3),
        # What has succeeded does not come again.
        (MINE, job({"succeeded": 2}, parallelism=3, completions=3), 1),
        (MINE, job({"succeeded": 3}, parallelism=3, completions=3), 1),
        (MINE, job(parallelism=GANG_LIMIT), GANG_LIMIT),
        (MINE, job(parallelism=GANG_LIMIT + 1), None),
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

"""Kueue's object for a job: what it is asked, what its answers mean, what it is told."""

from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.operator.guests.kueue import workload
from nestor.operator.guests.kueue.workload import find_owner_name, trim_workload
from tests.unit.operator.builders import Object, build_job

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def job(**own: str) -> Object:
    made = build_job()
    made["metadata"]["labels"] = {labels.KUEUE_QUEUE: "batch"} | own
    return made


def say(kind: str, status: str = "True", reason: str = "x", message: str = "") -> Object:
    """A condition that Kueue set."""
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": THEN}


def made(*said: Object, **status: Any) -> Object:
    """The job's Workload with these conditions."""
    body = workload.build_workload(job(), "kueue.x-k8s.io/v1beta2", [], None)
    body["metadata"] |= {"uid": "w", "resourceVersion": "7", "generation": 2}
    return body | {"status": {"conditions": list(said)} | status}


@pytest.mark.parametrize(
    ("version", "priority"),
    [
        ("v1beta1", {"priorityClassName": "high", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"}),
        ("v1beta2", {"priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}}),
    ],
)
def test_each_version_names_a_priority_in_its_own_way(version: str, priority: Object) -> None:
    high = {"metadata": {"name": "high"}, "value": 7}
    body = workload.build_workload(job(), f"kueue.x-k8s.io/{version}", [{"name": "app"}], high)
    assert body["spec"] == {"queueName": "batch", "podSets": [{"name": "app"}], "priority": 7} | priority
    assert body["metadata"]["labels"][labels.KUEUE_JOB_UID] == "1234"
    assert find_owner_name(body) == "hello"


def test_a_job_of_the_same_name_has_another_workload_and_one_made_beforehand_is_used() -> None:
    other = job()
    other["metadata"]["uid"] = "5678"
    assert workload.find_name(job()) != workload.find_name(other)
    assert workload.find_name(job(**{labels.KUEUE_WORKLOAD: "there"})) == "there"


def test_what_kueue_has_reserved_quota_for_stays() -> None:
    wanted = workload.build_workload(job(), "kueue.x-k8s.io/v1beta2", [{"name": "app"}], None)
    assert workload.differs(made(), wanted)
    assert not workload.differs(made(say("QuotaReserved")), wanted)
    assert not workload.differs(wanted, wanted)


@pytest.mark.parametrize(
    ("said", "may_run", "waits_for"),
    [
        ([], False, ""),
        ([say("QuotaReserved", "False", "Pending", "no quota")], False, ": no quota"),
        ([say("QuotaReserved")], False, ": admission checks provision are not ready"),
        ([say("QuotaReserved"), say("Admitted", "False", "x", "checks")], False, ": checks"),
        ([say("QuotaReserved"), say("Admitted")], True, None),
        ([say("QuotaReserved"), say("Admitted"), say("Evicted", message="preempted")], False, ": preempted"),
        ([say("QuotaReserved"), say("Admitted"), say("Evicted", "False")], True, None),
        ([say("QuotaReserved"), say("Admitted"), say("Finished")], False, None),
    ],
)
def test_what_kueue_says(said: list[Object], may_run: bool, waits_for: str | None) -> None:
    checks = [{"name": "provision", "state": "Pending"}, {"name": "done", "state": "Ready"}] if len(said) == 1 else []
    found = made(*said, admissionChecks=checks)
    assert workload.is_admitted(found) is may_run
    if waits_for is not None:
        assert workload.explain(found, "batch") == f"it waits for Kueue in LocalQueue 'batch'{waits_for}"
    assert "needs the label" in workload.explain(None, None)


def test_nodes_come_from_flavors_and_admission_checks() -> None:
    gold: Object = {"nodeLabels": {"pool": "gold"}, "tolerations": [{"key": "gold", "operator": "Exists"}]}
    flavors: dict[str, Object] = {"gold": gold, "gpu": {"nodeLabels": {"gpu": "a"}}}
    assigned = [{"name": "app", "flavors": {"cpu": "gold", "memory": "gold", "nvidia.com/gpu": "gpu"}}, {"name": "runner"}]
    update = {"name": "app", "nodeSelector": {"zone": "b"}, "tolerations": [{"key": "new", "operator": "Exists"}]}
    found = made(
        admission={"podSetAssignments": assigned},
        admissionChecks=[{"name": "provision", "podSetUpdates": [update, {"name": "runner", "nodeSelector": {"x": "y"}}]}],
    )
    assert workload.list_flavors(found, "app") == ["gold", "gpu"]
    nodes = workload.find_nodes(found, "app", flavors)
    assert nodes.node_selector == {"pool": "gold", "gpu": "a", "zone": "b"}
    assert nodes.tolerations == ["gold", "new"]
    assert workload.find_nodes(found, "runner", flavors).node_selector == {"x": "y"}
    assert workload.find_nodes(found, "control-plane", flavors).to_pod() == {}


@pytest.mark.parametrize(("reason", "requeued"), [("Preempted", "True"), ("NodeFailures", "True"), ("Deactivated", "False")])
def test_an_evicted_workload_gives_its_quota_back(reason: str, requeued: str) -> None:
    """With each condition once: API servers refuse a list with two of one type. Kueue's limit for pods to start begins anew."""
    before = [say("PodsReady", reason="Started"), say("QuotaReserved"), say("Admitted"), say("Requeued", "False")]
    patch = workload.build_release(made(*before, say("Evicted", reason=reason, message="why")), NOW)
    assert patch["metadata"] == {"uid": "w", "resourceVersion": "7"}
    assert patch["status"]["admission"] is None
    told = [(item["type"], item["status"], item["reason"], item["lastTransitionTime"]) for item in patch["status"]["conditions"]]
    assert told == [
        ("Evicted", "True", reason, THEN),
        ("QuotaReserved", "False", "Pending", NOW),
        ("Admitted", "False", "NoReservation", NOW),
        ("PodsReady", "False", "WaitForStart", NOW),
        ("Requeued", requeued, reason, NOW if requeued == "True" else THEN),
    ]


READY = say(conditions.READY)
UNREADY = say(conditions.READY, "False", "StepRunning", "step 1")
SUCCEEDED = say(conditions.SUCCEEDED, "True", "Completed", "done")
FAILED = say(conditions.SUCCEEDED, "False", "TargetFailed", "broken")


@pytest.mark.parametrize(
    ("known", "said", "is_over", "told"),
    [
        ([], [READY], False, None),
        ([say("Admitted")], [READY], False, ("PodsReady", "True", "Started")),
        ([say("Admitted")], [], False, ("PodsReady", "False", "WaitForStart")),
        ([say("Admitted"), say("PodsReady", "False", "WaitForStart")], [UNREADY], False, None),
        ([say("Admitted"), say("PodsReady", "True", "Started")], [READY], False, None),
        ([say("Admitted"), say("PodsReady", "True", "Started")], [UNREADY], False, ("PodsReady", "False", "WaitForRecovery")),
        ([say("Admitted"), say("PodsReady", "False", "WaitForRecovery")], [READY], False, ("PodsReady", "True", "Recovered")),
        ([say("Admitted")], [UNREADY, SUCCEEDED], True, ("Finished", "True", "Succeeded")),
        ([say("Admitted")], [UNREADY, FAILED], True, ("Finished", "True", "Failed")),
        ([say("Admitted"), say("Finished")], [FAILED], True, None),
    ],
)
def test_what_kueue_is_told(known: list[Object], said: list[Object], is_over: bool, told: tuple[str, str, str] | None) -> None:
    answers = workload.find_answers(made(*known), said, is_over=is_over, time=NOW)
    assert [(item["type"], item["status"], item["reason"]) for item in answers] == ([told] if told else [])


def test_of_others_workloads_only_what_they_are_is_kept() -> None:
    mine = made(say("Admitted"))
    kept = trim_workload(mine | {"metadata": mine["metadata"] | {"managedFields": [{}]}})
    assert kept["status"] == {"conditions": [say("Admitted")]}
    assert kept["metadata"]["annotations"].keys() == {labels.CONTENT_KEY}
    assert "managedFields" not in kept["metadata"]
    other = {
        "metadata": {"name": "a", "ownerReferences": [{"kind": "Job", "controller": True, "name": "j"}]},
        "status": {"conditions": []},
    }
    assert "status" not in trim_workload(other)

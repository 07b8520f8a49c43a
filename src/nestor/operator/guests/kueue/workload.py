"""Kueue's Workload of a job: what is kept of it, how it is made, what Kueue says by it, and what is answered. Pure."""

from collections.abc import Iterable, Mapping

from nestor.api import conditions, labels, names
from nestor.api.objects import (
    Object,
    annotations_of,
    conditions_of,
    find_controller,
    is_terminating,
    labels_of,
    owner_reference,
    owners_of,
    spec_of,
    status_of,
)
from nestor.api.placement_rules import AssignedNodes
from nestor.api.taints import write_tolerated
from nestor.operator.world.trim import trim_object


def find_owner_name(workload: Object) -> str | None:
    return find_controller(workload, "NestedAppJob").get("name")


def find_owner_uid(workload: Object) -> str | None:
    return find_controller(workload, "NestedAppJob").get("uid")


def trim_workload(workload: Object) -> Object:
    """Of all that others than jobs own, only what they are."""
    if owners_of(workload) and find_owner_name(workload) is None:
        workload = {key: workload[key] for key in ("apiVersion", "kind", "metadata") if key in workload}
    return trim_object(workload)


GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
"""Versions of Kueue's API that this speaks, the newest first."""
RESERVED, ADMITTED, EVICTED, FINISHED = "QuotaReserved", "Admitted", "Evicted", "Finished"
REQUEUED, PODS_READY = "Requeued", "PodsReady"
_AT_ONCE = ("Preempted", "NodeFailures")
"""Reasons of evictions after which Kueue expects to be told that the workload waits again; after others, it decides when."""


def find_name(job: Object) -> str:
    """The name of the job's Workload: one that was made beforehand, as by MultiKueue, or its own."""
    return labels_of(job).get(labels.KUEUE_WORKLOAD) or _name_own(job)


def is_prebuilt(job: Object) -> bool:
    """Whether the job names a Workload that somebody else makes."""
    return find_name(job) != _name_own(job)


def is_own(workload: Object | None, job: Object) -> bool:
    return workload is not None and find_owner_uid(workload) == job["metadata"]["uid"]


def is_left(workload: Object) -> bool:
    """Whether nothing can be made of it any more."""
    return is_terminating(workload) or has(workload, FINISHED)


def list_sets(workload: Object) -> list[Object]:
    return list(spec_of(workload).get("podSets") or ())


def _name_own(job: Object) -> str:
    meta = job["metadata"]
    return names.join_limited(["nestedappjob", meta["name"]], names.digest("workload", meta["uid"]))


def build_workload(job: Object, api_version: str, pod_sets: list[Object], priority: Object | None) -> Object:
    """`priority`: a WorkloadPriorityClass."""
    meta = job["metadata"]
    spec: Object = {"queueName": labels_of(job)[labels.KUEUE_QUEUE], "podSets": pod_sets}
    if priority is not None:
        name, spec["priority"] = priority["metadata"]["name"], int(priority["value"])
        if api_version.endswith("v1beta1"):
            spec |= {"priorityClassName": name, "priorityClassSource": f"{GROUP}/workloadpriorityclass"}
        else:
            spec["priorityClassRef"] = {"group": GROUP, "kind": "WorkloadPriorityClass", "name": name}
    return {
        "apiVersion": api_version,
        "kind": "Workload",
        "metadata": {
            "name": find_name(job),
            "namespace": meta["namespace"],
            "labels": {labels.MANAGED_BY: "nestor", labels.KUEUE_JOB_UID: meta["uid"]},
            "annotations": {labels.CONTENT_KEY: names.digest_json(spec)},
            "ownerReferences": [refer(job)],
        },
        "spec": spec,
    }


def refer(job: Object) -> Object:
    meta = job["metadata"]
    api_version = f"{labels.GROUP}/v1alpha1"
    return owner_reference(api_version, "NestedAppJob", meta["name"], meta["uid"], controller=True, blockOwnerDeletion=False)


def differs(workload: Object, wanted: Object) -> bool:
    """Whether Kueue should be told something else. What it has reserved quota for cannot change, and stays."""
    mine, others = (annotations_of(item).get(labels.CONTENT_KEY) for item in (wanted, workload))
    return mine != others and not has(workload, RESERVED)


def has(workload: Object | None, condition: str) -> bool:
    return conditions.is_true(conditions_of(workload), condition)


def is_admitted(workload: Object | None) -> bool:
    return has(workload, ADMITTED) and not has(workload, EVICTED) and not has(workload, FINISHED)


def explain(workload: Object | None, queue: str | None) -> str:
    """What a job waits for, in Kueue's words. `queue`: None if it no longer names any."""
    said = f"it waits for Kueue in LocalQueue '{queue}'" if queue else f"it needs the label `{labels.KUEUE_QUEUE}` to run again"
    for kind, wanted in ((EVICTED, "True"), (RESERVED, "False"), (ADMITTED, "False")):
        found = conditions.find(conditions_of(workload), kind)
        if found and found["status"] == wanted and found.get("message"):
            return f"{said}: {found['message'][:1000]}"
    waiting = [item["name"] for item in status_of(workload).get("admissionChecks") or () if item.get("state") != "Ready"]
    return f"{said}: admission checks {', '.join(waiting)} are not ready" if waiting else said


def list_flavors(workload: Object, pod_set: str) -> list[str]:
    assigned = (status_of(workload).get("admission") or {}).get("podSetAssignments") or ()
    return sorted({flavor for item in assigned if item.get("name") == pod_set for flavor in (item.get("flavors") or {}).values()})


def find_nodes(workload: Object, pod_set: str, flavors: Mapping[str, Object]) -> AssignedNodes:
    """Where the pods of a set may run: by its flavors, and by what admission checks add. `flavors`: their specs by name."""
    specs = [flavors[name] for name in list_flavors(workload, pod_set)]
    updates = [
        update
        for check in status_of(workload).get("admissionChecks") or ()
        for update in check.get("podSetUpdates") or ()
        if update.get("name") == pod_set
    ]
    selector: dict[str, str] = {}
    tolerations: dict[str, None] = {}
    for item in (*({"nodeSelector": spec.get("nodeLabels"), "tolerations": spec.get("tolerations")} for spec in specs), *updates):
        selector |= item.get("nodeSelector") or {}
        tolerations |= dict.fromkeys(write_tolerated(found) for found in item.get("tolerations") or ())
    return AssignedNodes.model_validate({"nodeSelector": selector, "tolerations": [*tolerations][:64]})


def build_release(workload: Object, time: str) -> Object:
    """The status by which an evicted workload gives its quota back: its pods are gone. A patch that fails if it has changed."""
    meta, evicted = workload["metadata"], conditions.find(conditions_of(workload), EVICTED) or {}
    reason, message = evicted.get("reason", "Evicted"), evicted.get("message", "")
    answers = [
        _say(workload, RESERVED, "False", "Pending", message, time),
        _say(workload, ADMITTED, "False", "NoReservation", "The workload has no reservation", time),
        _say(workload, PODS_READY, "False", "WaitForStart", "Its pods are gone", time),
        _say(workload, REQUEUED, "True" if reason in _AT_ONCE else "False", reason, message, time),
    ]
    kept = [item for item in conditions_of(workload) if item["type"] not in (RESERVED, ADMITTED, PODS_READY, REQUEUED)]
    return {
        "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
        "status": {"conditions": [*kept, *answers], "admission": None},
    }


def find_answers(workload: Object, said: Iterable[Object], *, is_over: bool, time: str) -> list[Object]:
    """Conditions to write to the Workload: whether the job's pods are ready, and that it has ended. `said`: the job's own."""
    if not has(workload, ADMITTED) or has(workload, FINISHED):
        return []
    listed = list(said)
    ready, succeeded = (conditions.find(listed, kind) or {} for kind in (conditions.READY, conditions.SUCCEEDED))
    if is_over:
        reason = "Succeeded" if succeeded.get("status") == "True" else "Failed"
        return [_say(workload, FINISHED, "True", reason, succeeded.get("message", ""), time)]
    is_ready = ready.get("status") == "True"
    known = conditions.find(conditions_of(workload), PODS_READY)
    if known and (known["status"] == "True") == is_ready:
        return []
    was_ready = known is not None and known.get("reason") in ("Started", "Recovered", "WaitForRecovery")
    reason = ("Recovered" if was_ready else "Started") if is_ready else ("WaitForRecovery" if was_ready else "WaitForStart")
    return [_say(workload, PODS_READY, "True" if is_ready else "False", reason, ready.get("message", ""), time)]


def _say(workload: Object, kind: str, status: str, reason: str, message: str, time: str) -> Object:
    known = conditions.find(conditions_of(workload), kind)
    is_same = known is not None and known.get("status") == status
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message[:1024],
        "observedGeneration": workload["metadata"].get("generation", 0),
        "lastTransitionTime": known["lastTransitionTime"] if known is not None and is_same else time,
    }

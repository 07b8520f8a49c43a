"""What resting means for one nested object. Pure."""

from __future__ import annotations

import copy

from nestor.api import conditions, labels
from nestor.objects import Object, annotations_of, conditions_of, owners_of

OURS = "nestor"
_JOB_CONTROLLER = "kubernetes.io/job-controller"
# Of these, admission computes the last two anew, and refuses other values when their class has changed meanwhile.
_NOT_COPIED = ("nodeName", "ephemeralContainers", "priority", "preemptionPolicy")


def build_job_patch(job: Object, *, suspended: bool) -> Object | None:
    """The merge patch for a Job or CronJob, or None. Those that their owner suspended are left alone, then and later."""
    meta, is_ours = job["metadata"], is_suspended_by_us(job)
    if suspended:
        if meta.get("deletionTimestamp") or job["spec"].get("suspend") or is_finished(job):
            return None
    elif not is_ours:
        return None
    return {
        # The version: what its owner changes at this very moment is read first.
        "metadata": {
            "resourceVersion": meta["resourceVersion"],
            "annotations": {labels.SUSPENDED_BY: OURS if suspended else None},
        },
        "spec": {"suspend": suspended},
    }


def is_suspended_by_us(job: Object) -> bool:
    """True when a Job or CronJob is to be resumed by us."""
    return annotations_of(job).get(labels.SUSPENDED_BY) == OURS


def is_finished(job: Object) -> bool:
    """True when a Job has come to an end, good or bad."""
    found = conditions_of(job)
    return any(conditions.is_true(found, kind) for kind in ("Complete", "Failed"))


def is_done_with_pods(job: Object) -> bool:
    """True when the Job's controller will not end the Job's pods by itself once the Job is suspended."""
    manager = job["spec"].get("managedBy") or _JOB_CONTROLLER
    return manager != _JOB_CONTROLLER or is_finished(job)


def find_controller(obj: Object) -> Object | None:
    """The owner reference of the controller that replaces this object when it goes."""
    return next((ref for ref in owners_of(obj) if ref.get("controller")), None)


def build_copy(pod: Object) -> Object:
    """A pod to create in the place of `pod`: the same, on no node, as it was before it ran.

    Finalizers are not copied: who put one on that object puts one on the next, and may not know of the next.
    """
    meta, spec = pod["metadata"], copy.deepcopy(pod["spec"])
    for key in _NOT_COPIED:
        if key != "nodeName" or not _names_its_node(pod):
            spec.pop(key, None)
    kept = {key: meta[key] for key in ("name", "namespace", "labels", "annotations", "ownerReferences") if meta.get(key)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec}


def _names_its_node(pod: Object) -> bool:
    """True when the user wrote `nodeName`: a binding is nobody's field, so nobody manages it."""
    managers = pod["metadata"].get("managedFields") or []
    return any("f:nodeName" in ((item.get("fieldsV1") or {}).get("f:spec") or {}) for item in managers)

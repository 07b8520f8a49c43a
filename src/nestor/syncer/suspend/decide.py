"""What suspending and resuming mean for one nested object. Pure."""

from __future__ import annotations

import copy

from nestor.api import conditions, labels
from nestor.api.objects import Object, annotations_of, conditions_of, owners_of
from nestor.syncer.view.trim import names_its_node

OURS = "nestor"
_JOB_CONTROLLER = "kubernetes.io/job-controller"
# Admission computes the last two again, and rejects other values if the priority class has changed meanwhile.
_NOT_COPIED = ("nodeName", "ephemeralContainers", "priority", "preemptionPolicy")


def build_job_patch(job: Object, *, suspended: bool) -> Object | None:
    """The merge patch that suspends or resumes a Job or CronJob, or None. Those suspended by their owner are left alone."""
    meta, is_ours = job["metadata"], is_suspended_by_us(job)
    if suspended:
        if meta.get("deletionTimestamp") or job["spec"].get("suspend") or is_finished(job):
            return None
    elif not is_ours:
        return None
    return {
        # The version makes the patch fail if the owner changes the object at the same moment.
        "metadata": {
            "resourceVersion": meta["resourceVersion"],
            "annotations": {labels.SUSPENDED_BY: OURS if suspended else None},
        },
        "spec": {"suspend": suspended},
    }


def is_suspended_by_us(job: Object) -> bool:
    return annotations_of(job).get(labels.SUSPENDED_BY) == OURS


def is_finished(job: Object) -> bool:
    found = conditions_of(job)
    return any(conditions.is_true(found, kind) for kind in ("Complete", "Failed"))


def is_done_with_pods(job: Object) -> bool:
    """True if suspending the Job does not make its controller end the pods (any more)."""
    manager = job["spec"].get("managedBy") or _JOB_CONTROLLER
    return manager != _JOB_CONTROLLER or is_finished(job)


def find_controller(obj: Object) -> Object | None:
    """The owner reference of the controller that replaces this object when it is deleted."""
    return next((ref for ref in owners_of(obj) if ref.get("controller")), None)


def build_copy(pod: Object) -> Object:
    """A pod to create in place of `pod`: the same, as it was before it was bound and ran.

    Finalizers are not copied: their owner adds its own to the new pod, and might never remove a copied one.
    """
    meta, spec = pod["metadata"], copy.deepcopy(pod["spec"])
    for key in _NOT_COPIED:
        if key != "nodeName" or not names_its_node(pod):
            spec.pop(key, None)
    kept = {key: meta[key] for key in ("name", "namespace", "labels", "annotations", "ownerReferences") if meta.get(key)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec}

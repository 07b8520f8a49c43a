"""What is kept of Workloads: there may be thousands, most of them of other kinds of jobs, each with whole pod templates. Pure."""

from __future__ import annotations

from nestor.api import labels
from nestor.api.objects import Object, owners_of, spec_of, status_of

_META = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "ownerReferences")
_STATUS = ("conditions", "admission", "admissionChecks")


def find_owner(workload: Object) -> str | None:
    """The name of the job that owns the Workload."""
    return _find_job(workload).get("name")


def find_owner_uid(workload: Object) -> str | None:
    """The UID of the job that owns the Workload."""
    return _find_job(workload).get("uid")


def _find_job(workload: Object) -> Object:
    found = (item for item in owners_of(workload) if item.get("kind") == "NestedAppJob" and item.get("controller"))
    return next(found, {})


def trim_workload(workload: Object) -> Object:
    """Of a job's own, or one that nobody owns yet, its status and what it asks for; of all others only what they are."""
    meta, status = workload["metadata"], status_of(workload)
    kept: Object = {key: meta[key] for key in _META if key in meta}
    if content := (meta.get("annotations") or {}).get(labels.CONTENT_KEY):
        kept["annotations"] = {labels.CONTENT_KEY: content}
    head: Object = {key: workload[key] for key in ("apiVersion", "kind") if key in workload}
    if owners_of(workload) and find_owner(workload) is None:
        return {**head, "metadata": kept}
    sets = [_trim_set(item) for item in spec_of(workload).get("podSets") or ()]
    return {**head, "metadata": kept, "spec": {"podSets": sets}, "status": {key: status[key] for key in _STATUS if key in status}}


def _trim_set(pod_set: Object) -> Object:
    """How many pods, and what each requests."""
    pod = spec_of(pod_set.get("template"))
    containers = [
        {"resources": {"requests": (item.get("resources") or {}).get("requests") or {}}} for item in pod.get("containers") or ()
    ]
    nodes = {key: pod[key] for key in ("nodeSelector", "tolerations") if pod.get(key)}
    return {
        "name": pod_set.get("name"),
        "count": pod_set.get("count", 1),
        "template": {"spec": {"containers": containers} | nodes},
    }

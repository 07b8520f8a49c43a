"""What is kept of Workloads: there may be thousands, most of them of other kinds of jobs, each with whole pod templates. Pure."""

from __future__ import annotations

from nestor.api import labels
from nestor.objects import Object, owners_of, status_of

_META = ("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "ownerReferences")
_STATUS = ("conditions", "admission", "admissionChecks")


def find_owner(workload: Object) -> str | None:
    """The name of the job that owns the Workload."""
    found = (item for item in owners_of(workload) if item.get("kind") == "NestedAppJob" and item.get("controller"))
    return next((str(item["name"]) for item in found), None)


def trim_workload(workload: Object) -> Object:
    """Of a job's own, or one that nobody owns yet, its status; of all others only what they are."""
    meta, status = workload["metadata"], status_of(workload)
    kept: Object = {key: meta[key] for key in _META if key in meta}
    if content := (meta.get("annotations") or {}).get(labels.CONTENT_KEY):
        kept["annotations"] = {labels.CONTENT_KEY: content}
    head: Object = {key: workload[key] for key in ("apiVersion", "kind") if key in workload}
    if owners_of(workload) and find_owner(workload) is None:
        return {**head, "metadata": kept}
    return {**head, "metadata": kept, "status": {key: status[key] for key in _STATUS if key in status}}

"""Where the nested cluster of a job lives. The only module that knows; all others are passed a `Home`."""

from __future__ import annotations

from nestor.api import labels, names
from nestor.api.objects import Object, annotations_of, owner_reference, spec_of
from nestor.cluster.home import Home
from nestor.kube import kinds


def find_home(job: Object) -> Home:
    """The home of a job: its own namespace, with which everything in it is deleted.

    Derived from the job's name and namespace alone, never from labels: anyone who can label a namespace could hijack it.
    """
    meta = job["metadata"]
    own = labels.of_job(meta["name"], meta["namespace"], meta["uid"])
    namespace = names.job_namespace(meta["name"], meta["namespace"], meta["uid"])
    kind, flags = kinds.NESTED_APP_JOB, {"controller": True, "blockOwnerDeletion": False}
    kubeconfig = {
        "name": names.kubeconfig_secret(meta["name"]),
        "namespace": meta["namespace"],
        "labels": own,
        "ownerReferences": [owner_reference(kind.api_version, kind.name, meta["name"], meta["uid"], **flags)],
    }
    return Home(
        name=meta["name"],
        namespace=namespace,
        labels=own,
        rotation=annotations_of(job).get(labels.ROTATE, ""),
        kubeconfig=kubeconfig,
    )


def find_job(namespace: str, marks: dict[str, str]) -> tuple[str, str] | None:
    """Namespace and name of the job that the labels `marks` name, if `namespace` is the one that was made for it."""
    name, where, uid = (marks.get(key, "") for key in (labels.JOB, labels.JOB_NAMESPACE, labels.JOB_UID))
    is_its_own = name and where and uid and namespace == names.job_namespace(name, where, uid)
    return (where, name) if is_its_own else None


def is_managed_elsewhere(job: Object) -> bool:
    """Whether another controller runs the job, by its `managedBy`."""
    return bool(spec_of(job).get("managedBy", labels.MANAGER) != labels.MANAGER)

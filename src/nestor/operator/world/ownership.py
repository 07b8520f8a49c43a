"""What is whose: where the nested cluster of a job lives, who runs the job, and our finalizer on users' objects."""

from __future__ import annotations

import contextlib

from nestor.api import labels, names
from nestor.api.objects import Object, annotations_of, owner_reference, spec_of
from nestor.cluster.home import Home
from nestor.kube import Api, Kind, NotFound, kinds
from nestor.operator.world.trim import CUT


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
    return bool(spec_of(job).get("managedBy", labels.MANAGER) != labels.MANAGER)


def has_finalizer(obj: Object) -> bool:
    return labels.FINALIZER in (obj["metadata"].get("finalizers") or ())


async def ensure_finalizer(api: Api, kind: Kind, obj: Object) -> Object:
    """Add our finalizer; the patch includes the resource version, because finalizer lists have many writers."""
    if has_finalizer(obj):
        return obj
    return await _set_finalizers(api, kind, obj, [*await _read_finalizers(api, kind, obj), labels.FINALIZER])


async def remove_finalizer(api: Api, kind: Kind, obj: Object) -> None:
    """Unless the object is gone already."""
    with contextlib.suppress(NotFound):
        left = [item for item in await _read_finalizers(api, kind, obj) if item != labels.FINALIZER]
        await _set_finalizers(api, kind, obj, left)


async def _read_finalizers(api: Api, kind: Kind, obj: Object) -> list[str]:
    """All of them, also those that no cache keeps because they are too many."""
    meta = obj["metadata"]
    if meta.get(CUT):
        obj = await api.request("GET", kind.path(meta.get("namespace"), meta["name"]))  # `get` would trim it again
    return obj["metadata"].get("finalizers") or []


async def _set_finalizers(api: Api, kind: Kind, obj: Object, finalizers: list[str]) -> Object:
    meta = obj["metadata"]
    patch = {"metadata": {"finalizers": finalizers, "resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}}
    return await api.patch(kind, meta["name"], meta.get("namespace"), patch)

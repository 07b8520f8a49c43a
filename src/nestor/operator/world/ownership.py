"""What is whose: where the nested cluster of a job lives, who runs the job, and our finalizer on users' objects."""

import contextlib
from collections.abc import Sequence

from nestor.api import labels, names
from nestor.api.objects import Object, annotations_of, owner_reference, spec_of, status_of
from nestor.cluster.home import Home
from nestor.kube import Api, Kind, NotFound, kinds
from nestor.operator.world.context import Cache
from nestor.operator.world.trim import CUT


def find_namespace(job: Object) -> str:
    """Derived from the job's name and namespace alone, or from its status if it got a cluster of a pool; never from labels:
    anyone who can label a namespace could hijack it.
    """
    meta, recorded = job["metadata"], str(status_of(job).get("namespace", ""))
    if names.is_of_pool(recorded):
        return recorded
    return names.job_namespace(meta["name"], meta["namespace"], meta["uid"])


def find_home(job: Object) -> Home:
    """The home of a job: its own namespace, with which everything in it is deleted."""
    meta, namespace = job["metadata"], find_namespace(job)
    own = labels.of_job(meta["name"], meta["namespace"], meta["uid"])
    kind, flags = kinds.NESTED_APP_JOB, {"controller": True, "blockOwnerDeletion": False}
    kubeconfig = {
        "name": names.kubeconfig_secret(meta["name"]),
        "namespace": meta["namespace"],
        "labels": own,
        "ownerReferences": [owner_reference(kind.api_version, kind.name, meta["name"], meta["uid"], **flags)],
    }
    return Home(
        name=names.cluster_name(meta["name"], namespace),
        namespace=namespace,
        labels=own,
        rotation=annotations_of(job).get(labels.ROTATE, ""),
        kubeconfig=kubeconfig,
    )


def find_job(namespace: str, marks: dict[str, str]) -> tuple[str, str] | None:
    """Namespace and name of the job that the labels `marks` name, if `namespace` was made for it or may have been given to it."""
    name, where, uid = (marks.get(key, "") for key in (labels.JOB, labels.JOB_NAMESPACE, labels.JOB_UID))
    if not (name and where and uid):
        return None
    return (where, name) if names.is_of_pool(namespace) or namespace == names.job_namespace(name, where, uid) else None


def find_cluster(cache: Cache, home: Home) -> Object | None:
    found = cache.clusters.get(home.name, home.namespace)
    return found if found is not None and home.has_made(found) else None


async def delete_secret(api: Api, home: Home, name: str, namespace: str) -> None:
    """Delete what a job has outside of its own namespace, unless it is somebody else's."""
    secret = await api.find(kinds.SECRET, name, namespace)
    if secret is not None and home.owns(secret):
        await api.delete(kinds.SECRET, name, namespace, uid=secret["metadata"]["uid"])


NAMED = 4
"""How many pods one event names: its message has a limit."""


def name_left(said: str, pods: Sequence[Object]) -> list[str]:
    """Messages about pods that a backend may still have, with the UIDs by which it knows them."""
    found = [f"{pod['metadata']['namespace']}/{pod['metadata']['name']} ({pod['metadata']['uid']})" for pod in pods]
    parts = (", ".join(found[first : first + NAMED]) for first in range(0, len(found), NAMED))
    return [f"{said} of these pods, and may still have them: {part}" for part in parts]


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

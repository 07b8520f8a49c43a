"""Where the nested cluster of a job or of a user lives. The only module that knows; all others are passed a `Home`."""

from __future__ import annotations

from dataclasses import replace

from nestor import names
from nestor.api import labels
from nestor.cluster.home import Home
from nestor.kube import Kind, kinds
from nestor.objects import Object, annotations_of, labels_of, owner_reference, spec_of


def find_home(job: Object) -> Home:
    """The home of a job: its own namespace, with which everything in it is deleted.

    Derived from the job's name and namespace alone, never from labels: anyone who can label a namespace could hijack it.
    """
    meta = job["metadata"]
    own = labels.of_job(meta["name"], meta["namespace"], meta["uid"])
    namespace = names.job_namespace(meta["name"], meta["namespace"], meta["uid"])
    kubeconfig = {
        "name": names.kubeconfig_secret(meta["name"]),
        "namespace": meta["namespace"],
        "labels": own,
        "ownerReferences": [_refer(kinds.NESTED_APP_JOB, meta)],
    }
    return Home(
        name=meta["name"],
        namespace=namespace,
        labels=own,
        nodes_binding=namespace,
        rotation=annotations_of(job).get(labels.ROTATE, ""),
        kubeconfig=kubeconfig,
    )


def is_of_job(cluster: Object) -> bool:
    """Whether a NestedCluster is a job's: it is in the namespace of the job that its labels name.

    The labels alone prove nothing, for users may put any on clusters of their own.
    """
    return find_job(cluster["metadata"]["namespace"], labels_of(cluster)) is not None


def find_job(namespace: str, marks: dict[str, str]) -> tuple[str, str] | None:
    """Namespace and name of the job that the labels `marks` name, if `namespace` is the one that was made for it."""
    name, where, uid = (marks.get(key, "") for key in (labels.JOB, labels.JOB_NAMESPACE, labels.JOB_UID))
    is_its_own = name and where and uid and namespace == names.job_namespace(name, where, uid)
    return (where, name) if is_its_own else None


def find_home_of_cluster(cluster: Object) -> Home:
    """The home of a user's cluster: the same namespace, where the cluster owns everything, so it is deleted with it."""
    meta = cluster["metadata"]
    home = Home(
        name=meta["name"],
        namespace=meta["namespace"],
        labels={labels.MANAGED_BY: "nestor"},
        owner=_refer(kinds.NESTED_CLUSTER, meta),
        nodes_binding=names.nodes_binding(meta["namespace"], meta["name"], meta["uid"]),
        rotation=annotations_of(cluster).get(labels.ROTATE, ""),
    )
    return replace(home, kubeconfig=home.metadata(names.kubeconfig_secret(meta["name"])))


def _refer(kind: Kind, meta: Object) -> Object:
    return owner_reference(kind.api_version, kind.name, meta["name"], meta["uid"], controller=True, blockOwnerDeletion=False)


def is_managed_elsewhere(job: Object) -> bool:
    """Whether another controller runs the job, by its `managedBy`."""
    return bool(spec_of(job).get("managedBy", labels.MANAGER) != labels.MANAGER)

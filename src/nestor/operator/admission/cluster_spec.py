"""Completes a cluster's spec: from what the cluster already has, else from its spec, else from its class. Pure."""

from __future__ import annotations

from nestor.api import conditions, data, labels
from nestor.api.class_cluster import ClusterPolicy
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.policies import Persistence
from nestor.names import SERVER_CONTAINER
from nestor.objects import Object, labels_of, spec_of
from nestor.operator.admission.identity import Refused
from nestor.operator.world.kept import find_fault
from nestor.values import dataclass


@dataclass(frozen=True)
class Running:
    """What an existing cluster is made of. Class changes only affect new clusters: a version cannot change without losing the
    cluster, a running cluster keeps its image, and a StatefulSet cannot gain or lose a volume.
    """

    version: str
    image: str
    persistence: Persistence | None


def find_running(cluster: Object | None, job_uid: str) -> Running | None:
    """Read it from a job's NestedCluster, if that exists: the operator wrote everything into its spec. Raises `Refused`."""
    if cluster is None or labels_of(cluster).get(labels.JOB_UID) != job_uid:
        return None
    if fault := find_fault(cluster):
        raise Refused(conditions.PROVISIONING_FAILED, f"NestedCluster '{cluster['metadata']['name']}': {fault}")
    spec = spec_of(cluster)
    version, image, volume = spec.get("kubernetesVersion"), spec.get("image"), spec.get("persistence")
    return Running(version, image, data.read(Persistence, volume) if volume else None) if version and image else None


def read_running(server: Object | None, version: str | None) -> Running | None:
    """Read it from the StatefulSet of a user's cluster, whose own spec may be empty."""
    if server is None:
        return None
    containers = server["spec"]["template"]["spec"]["containers"]
    image = next((item["image"] for item in containers if item["name"] == SERVER_CONTAINER), None)
    return Running(version or "", image, _read_volume(server)) if image else None


def _read_volume(server: Object) -> Persistence | None:
    for template in server["spec"].get("volumeClaimTemplates") or ():
        spec = template["spec"]
        return Persistence(size=spec["resources"]["requests"]["storage"], storage_class_name=spec.get("storageClassName"))
    return None


def complete_spec(spec: NestedClusterSpec, policy: ClusterPolicy, running: Running | None) -> NestedClusterSpec:
    """The spec with version, image and volume filled in: the existing ones, or those to create. Raises `Refused`.

    An image in the spec is the user's. What runs does not end because the class no longer allows it.
    """
    own = spec.image if policy.allow_images else None
    if running is None:
        if spec.image and own is None:
            message = f"`image` may not be set: class '{spec.class_name}' does not set `cluster.allowImages`"
            raise Refused(conditions.IMAGE_NOT_ALLOWED, message)
        version, image = choose_version(spec.kubernetes_version, spec.class_name or "", policy)
        running = Running(version, image, spec.persistence or policy.persistence)
    found = {"kubernetes_version": running.version, "image": own or running.image, "persistence": running.persistence}
    return spec.model_copy(update=found)


def choose_version(wanted: str | None, class_name: str, policy: ClusterPolicy) -> tuple[str, str]:
    """Version and image. Raises `Refused`, listing the available versions."""
    table = {entry.version: entry.image for entry in policy.versions}
    version = wanted or policy.default_version or max(table, key=_sort_key)
    if version not in table:
        known = ", ".join(sorted(table, key=_sort_key))
        raise Refused(
            conditions.VERSION_UNSUPPORTED,
            f"Kubernetes version '{version}' is not offered by class '{class_name}'; available: {known}",
        )
    return version, table[version]


def _sort_key(version: str) -> list[int]:
    return [int(part) for part in version.lstrip("v").split(".") if part.isdigit()]

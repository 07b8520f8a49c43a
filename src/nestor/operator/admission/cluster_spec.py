"""What a nested cluster is made of: what it has already, else what its spec asks for, else what its class gives. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from nestor.api import conditions, labels
from nestor.api.nestedclass import ClusterPolicy
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.policies import Persistence
from nestor.names import SERVER_CONTAINER
from nestor.objects import Object, labels_of, spec_of
from nestor.operator.admission.identity import Refused


@dataclass(frozen=True)
class Running:
    """What a cluster is made of already. A class that changes is for those who come after it: a version cannot be changed
    without losing the cluster, the image of a running one is its own, and a StatefulSet gets or loses no volume.
    """

    version: str
    image: str
    persistence: Persistence | None


def find_running(cluster: Object | None, job_uid: str) -> Running | None:
    """By a job's NestedCluster, once it is made: the operator wrote all of it into the spec."""
    if cluster is None or labels_of(cluster).get(labels.JOB_UID) != job_uid:
        return None
    spec = spec_of(cluster)
    version, image, volume = spec.get("kubernetesVersion"), spec.get("image"), spec.get("persistence")
    return Running(version, image, Persistence.model_validate(volume) if volume else None) if version and image else None


def read_running(server: Object | None, version: str | None) -> Running | None:
    """By the StatefulSet of a user's cluster, whose spec may leave out everything."""
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
    """The spec with version, image and volume as they are, or are to be. Raises `Refused`."""
    if running is None:
        version, image = choose_version(spec.kubernetes_version, spec.class_name, policy)
        running = Running(version, image, spec.persistence or policy.persistence)
    found = {"kubernetes_version": running.version, "image": spec.image or running.image, "persistence": running.persistence}
    return spec.model_copy(update=found)


def choose_version(wanted: str | None, class_name: str, policy: ClusterPolicy) -> tuple[str, str]:
    """Version and image. Raises `Refused`, with the versions there are."""
    table = {entry.version: entry.image for entry in policy.versions}
    version = wanted or policy.default_version or max(table, key=_sort_key)
    if version not in table:
        known = ", ".join(sorted(table, key=_sort_key))
        raise Refused(
            conditions.VERSION_UNSUPPORTED,
            f"Kubernetes version '{version}' is not offered by class '{class_name}'; it has: {known}",
        )
    return version, table[version]


def _sort_key(version: str) -> list[int]:
    return [int(part) for part in version.lstrip("v").split(".") if part.isdigit()]

"""Completes a cluster's spec: from what the cluster already has, else from its class. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from nestor.api import conditions, data, labels
from nestor.api.class_cluster import ClusterPolicy
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.policies import Persistence
from nestor.objects import Object, labels_of, spec_of
from nestor.operator.admission.identity import Refused
from nestor.operator.world.kept import find_fault


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


def complete_spec(spec: NestedClusterSpec, policy: ClusterPolicy, running: Running | None) -> NestedClusterSpec:
    """The spec with version, image and volume filled in: the existing ones, or those to create. Raises `Refused`."""
    if running is None:
        version, image = choose_version(spec.kubernetes_version, spec.class_name or "", policy)
        running = Running(version, image, policy.persistence)
    found = {"kubernetes_version": running.version, "image": running.image, "persistence": running.persistence}
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

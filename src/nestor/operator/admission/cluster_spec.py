"""Completes a cluster's spec: from what the cluster already has, else from its class. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nestor.api import conditions, data, labels
from nestor.api.appdef_versions import sort_versions
from nestor.api.class_parts import ClusterPolicy
from nestor.api.nestedcluster import NestedClusterSpec
from nestor.api.objects import Object, labels_of, spec_of
from nestor.api.policies import Persistence
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


def complete_spec(
    spec: NestedClusterSpec, policy: ClusterPolicy, running: Running | None, images: Mapping[str, str]
) -> NestedClusterSpec:
    """The spec with version, image and volume filled in: the existing ones, or those to create. `images`: those of K3s, by
    version. Raises `Refused`.
    """
    if running is None:
        version = choose_version(spec.kubernetes_version, spec.class_name or "", policy)
        running = Running(version, images.get(version, ""), policy.persistence)
    found = {"kubernetes_version": running.version, "image": running.image, "persistence": running.persistence}
    return spec.model_copy(update=found)


def choose_version(wanted: str | None, class_name: str, policy: ClusterPolicy) -> str:
    """The wanted version, or the class's first; empty if nobody says what the class offers. Raises `Refused`, listing that."""
    version = wanted or next(iter(policy.versions or ()), "")
    if policy.versions is not None and version not in policy.versions:
        known = ", ".join(sort_versions(policy.versions)) or "none"
        raise Refused(
            conditions.VERSION_UNSUPPORTED,
            f"Kubernetes version '{version}' is not offered by class '{class_name}'; available: {known}",
        )
    return version

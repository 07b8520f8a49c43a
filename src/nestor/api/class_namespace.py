"""What a class says about the namespace that each job gets in the host cluster: Pod Security, labels, quota, limits."""

from __future__ import annotations

from pydantic import Field

from nestor.api.base import DefaultResources, LabelPattern, Quantities, Quota, limited
from nestor.api.model import BY_PROFILE, Model
from nestor.api.policy import PodSecurity

DEFAULT_QUOTA: dict[str, str] = {
    "pods": "100",
    "count/pods": "1000",
    "services": "50",
    "services.nodeports": "0",
    "services.loadbalancers": "0",
    "configmaps": "200",
    "secrets": "200",
    "persistentvolumeclaims": "20",
    "requests.storage": "100Gi",
    "count/networkpolicies.networking.k8s.io": "100",
}
"""What a job may use up in the host, unless its class says otherwise: whatever all tenants share and one could exhaust."""
SNAPSHOTS_QUOTA = {"count/volumesnapshots.snapshot.storage.k8s.io": "20"}
"""In addition, where the class allows snapshots."""
DEVICES_QUOTA = {"count/resourceclaims.resource.k8s.io": "100"}
"""In addition, where the class allows devices."""
ENDED_PODS = 10
"""How many pods there may be by default, with those that have ended, for each that may run."""
DEFAULT_EPHEMERAL_STORAGE = "10Gi"
"""Limit for containers that set none."""
SMALL_REQUESTS = {"cpu": "100m", "memory": "128Mi"}
"""What containers that request nothing count as where a quota counts that: it would refuse them otherwise."""


class NamespacePolicy(Model):
    """The namespace that each job gets in the host cluster."""

    pod_security: PodSecurity = Field(
        "Baseline",
        description="Pod Security level of the application's pods. `Baseline` refuses all that gives access to the node: "
        "privileged containers, host paths, host ports, the host's namespaces. A pod without a seccomp profile gets that of "
        "the container runtime. `Privileged` allows all of these; users of the class are then root on the nodes: give it "
        "only to people whom you trust with the nodes, and run the operator on other nodes. What no nested cluster supports "
        "is still refused. A change applies at once to new pods of running jobs. Defaults to `Baseline`, and under `profile: "
        "Trusted` to `Privileged`.",
        json_schema_extra=BY_PROFILE,
    )
    allowed_labels: list[LabelPattern] | None = Field(
        None,
        description="Label keys that the application's pods keep in the host cluster, for example for its monitoring: keys such "
        "as `team` or `example.com/team`, or `example.com/*` for all keys of a domain. All others are renamed to "
        "`tenant.nestor.dev/…`, also in selectors, so that no policy, webhook or Service of the host cluster acts on what users "
        "write. Keys of Kubernetes and Nestor (`kubernetes.io`, `k8s.io`, `x-k8s.io`, `nestor.dev`) are always renamed, except "
        "those of `app.kubernetes.io` other than `managed-by`. A change applies at once; pods that run keep labels that are no "
        "longer allowed. If not set, all are renamed.",
        max_length=64,
    )
    quota: Quota | None = Field(
        None,
        description="What the pods of one job may have in all, with the keys of a ResourceQuota: `cpu`, `memory`, `storage` (of "
        "volumes), `nvidia.com/gpu`, `pods`, `limits.memory` and so on. `cpu` is short for `requests.cpu`, and so on. What the "
        "nested cluster's own objects need is added to it. A quota of CPU or memory counts containers that request none as if "
        f"they requested {SMALL_REQUESTS['cpu']} and {SMALL_REQUESTS['memory']}, unless `defaultResources` says otherwise; what "
        "they use beyond their requests is up to `limits.cpu` and `limits.memory`. These keys have a default, which "
        f"applies even if others are set: {', '.join(f'`{key}: {value}`' for key, value in DEFAULT_QUOTA.items())}; and, "
        "under `profile: Tenants`, `cpu: 8` and `memory: 32Gi`; under `Trusted`, `storage: 1Ti`. There is none of "
        "`services.nodeports` where `expose.annotations` ask cert-manager for certificates: the "
        "Services that it uses to prove a host usually have node ports. A quota only limits new objects: what a job already "
        "has stays. `count/pods` counts pods that have ended too; its default is at least ten times `pods`. Where "
        "`storage.snapshotClasses` or `devices` is set, there is one more for each: "
        f"{', '.join(f'`{key}: {value}`' for key, value in (SNAPSHOTS_QUOTA | DEVICES_QUOTA).items())}.",
    )
    default_resources: DefaultResources | None = Field(
        None,
        description="Requests and limits for containers that set none (LimitRange). Defaults to a limit of "
        f"{DEFAULT_EPHEMERAL_STORAGE} of ephemeral-storage, or of the default request if that is higher, without a request; that "
        "default applies even if others are set. A container that requests more than the default limit, and sets no limit, gets "
        "its request as the limit.",
    )
    max_resources: Quantities | None = Field(
        None,
        description="The most that a container may have, by resource name (LimitRange): `cpu`, `memory`, `ephemeral-storage`. A "
        "container that sets no limit has this one, unless `defaultResources` has a lower one; one that sets a higher limit is "
        "refused, with an event on its pod. The limit is never below those of the nested cluster's own containers, by default 2 "
        "CPUs and 2Gi of memory. A change applies to new pods. If not set, there is no limit. Extended resources are limited by "
        "`quota`.",
        # API servers make the most that a container may have its default as well.
        json_schema_extra=limited("limits"),
    )

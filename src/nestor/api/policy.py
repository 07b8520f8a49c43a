"""What a class allows the pods of a nested cluster, resolved for one cluster: the operator writes it, the syncer obeys it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from nestor.api.allowances import AllowedServices, ArgoCDAccess, Devices, Storage
from nestor.api.base import ImagePrefix, LabelPattern, ObjectName, Quantity
from nestor.api.data import Limits, Unreadable, field, part, read
from nestor.api.objects import Object, status_of
from nestor.api.placement import Placement
from nestor.api.policies import IpBlock

log = logging.getLogger(__name__)

PodSecurity = Literal["Baseline", "Privileged"]


@part()
class Policy:
    """The policy. What it does not mention is forbidden: the default of each field must be its strictest value, but for
    `allowed_images`, without which no pod would start.

    It is in the status of the NestedCluster, which the chart's policies guard against the cluster's syncer.
    """

    pod_security: PodSecurity = field(
        default="Baseline",
        description="Pod Security level for the cluster's pods, `Baseline` or `Privileged`, from the class's "
        "`namespace.podSecurity`.",
    )
    allowed_labels: list[LabelPattern] | None = field(
        default=None,
        description="Label keys that host pods keep from the nested cluster, from the class's "
        "`namespace.allowedLabels`. All others are renamed.",
        max_length=64,
    )
    always_pull_images: bool = field(
        default=True,
        description="Whether the cluster's pods always pull their images, so that they cannot use others' private images in a "
        "node's cache; from the class's `images.alwaysPull`.",
    )
    allowed_images: Annotated[list[ImagePrefix], Limits(max_length=64)] | None = field(
        default=None,
        description="Registries, or registries with a path, of the images that pods may use, from the class's `images.allowed`. "
        "If absent, all: most classes have no such list. A cluster whose class is gone keeps the list that it had.",
    )
    image_pull_secrets: Annotated[list[ObjectName], Limits(max_length=8)] | None = field(
        default=None,
        description="Secrets of the operator's namespace whose copies pods pull images with that cannot run at a backend, from "
        "the class's `images.pullSecretNames`.",
    )
    ephemeral_storage_limit: Quantity | None = field(
        default=None,
        description="Limit of ephemeral-storage that the host sets for the cluster's containers that set none, from the class's "
        "`namespace.defaultResources`. A container that requests more gets its request as the limit.",
    )
    placement: Placement | None = field(
        default=None,
        description="Where the cluster's pods may run, from the class's `placement`, the job's machine and its `placement`.",
    )
    nodes: Literal["All"] | None = field(
        default=None,
        description="`All`: the cluster shows all host nodes on which its pods may run, from the class's `cluster.nodes`. "
        "Otherwise, those in use.",
    )

    measures_idle: bool = field(
        default=False, description="Whether `status.idleSince` is kept, for a job that may be put to sleep."
    )
    services: AllowedServices | None = field(
        default=None,
        description="What the cluster's Services can do in addition to connecting its pods, from the class's `services`.",
    )

    @property
    def allowed_services(self) -> AllowedServices:
        return self.services or AllowedServices()

    storage: Storage | None = field(
        default=None, description="The volumes that the cluster's claims may get, from the class's `storage` and the job's."
    )
    argo_cd: ArgoCDAccess | None = field(
        default=None,
        written="argoCD",
        description="What Argo CD may do in the cluster, from the class's `argoCD`. If not set, nothing.",
    )
    devices: Devices | None = field(
        default=None, description="The devices that the cluster's ResourceClaims may get, from the class's `devices`."
    )
    internet: list[IpBlock] = field(
        default_factory=list,
        description="What the cluster's own NetworkPolicies may open of the world outside: address blocks, from the class's "
        "`network` and what is known of the host cluster. If empty, nothing.",
        max_length=4,
    )

    @property
    def volumes(self) -> Storage:
        return self.storage or Storage()

    @property
    def allowed_devices(self) -> Devices:
        return self.devices or Devices()

    @property
    def places(self) -> Placement:
        return self.placement or Placement()

    def with_own_runtimes(self, own: Mapping[str, str]) -> Policy:
        """The same, where pods may also name these RuntimeClasses of the tenant's own, each for one of the host's."""
        if not own or self.placement is None:
            return self
        runtimes = self.placement.runtime_classes.with_own(own)
        return replace(self, placement=replace(self.placement, runtime_classes=runtimes))

    @classmethod
    def read(cls, cluster: Object | None) -> Policy:
        """The policy of a NestedCluster; the strictest one as long as it has none, or one that cannot be read.

        A field that this version does not know has no effect, which is logged: it is of a newer operator, which has not replaced
        this cluster's server yet.
        """
        found, unknown = status_of(cluster).get("policy"), list[str]()
        try:
            policy = read(cls, found or {}, unknown)
        except Unreadable as error:
            log.error("the policy of the NestedCluster cannot be read, so the strictest one applies: %s", error)
            return cls(allowed_images=[])
        if unknown:
            log.warning("the policy of the NestedCluster has fields that this version does not know: %s", ", ".join(unknown))
        return policy

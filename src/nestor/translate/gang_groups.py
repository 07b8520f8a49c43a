"""A gang in the words of a gang scheduler of the host cluster: the group object, and what its pods have. Host pods have lost the
owners from which such schedulers derive groups.
"""

from __future__ import annotations

import re

from nestor import names
from nestor.api import labels
from nestor.api.placement_gang import Gang, GangScheduler
from nestor.objects import Object
from nestor.translate import gang_claims as known
from nestor.translate.gang_claims import Membership
from nestor.translate.target import Target
from nestor.values import dataclass

_KAI_GROUP = "pod-group-name"
_KAI_QUEUE = "kai.scheduler/queue"


@dataclass(frozen=True)
class Dialect:
    """How one scheduler calls a group. All call it PodGroup."""

    group: str
    versions: tuple[str, ...]
    """Newest first."""
    is_fixed: bool = False
    """Whether the size of a group can never change."""


DIALECTS: dict[GangScheduler, Dialect] = {
    "Kubernetes": Dialect(known.GROUP_OF_KUBERNETES, ("v1beta1", "v1alpha2"), is_fixed=True),
    "Coscheduling": Dialect(known.GROUP_OF_COSCHEDULING, ("v1alpha1",)),
    "KAI": Dialect(known.GROUP_OF_KAI, ("v2alpha2",)),
    "Volcano": Dialect(known.GROUP_OF_VOLCANO, ("v1beta1",)),
}


def name_group(membership: Membership) -> str:
    """The name of the group object, whatever characters users have put into that of the gang."""
    readable = re.sub("[^a-z0-9]+", "-", membership.title.lower()).strip("-")
    return names.join_limited([readable], membership.key)


def build_group(membership: Membership, gang: Gang, target: Target) -> Object:
    """The group object, without its version."""
    metadata: Object = {
        "name": name_group(membership),
        "namespace": target.namespace,
        "labels": build_labels(membership, target),
        "ownerReferences": [{key: value for key, value in target.owner.items() if key != "controller"}],
    }
    spec: Object = {"minMember": membership.size}
    if gang.scheduler == "Kubernetes":
        spec = {"schedulingPolicy": {"gang": {"minCount": membership.size}}}
    elif gang.queue:
        spec["queue"] = gang.queue
    return {"metadata": metadata, "spec": spec}


def build_labels(membership: Membership, target: Target) -> dict[str, str]:
    """What the group objects of a cluster are found by."""
    return {**target.labels, labels.MANAGED_BY: "nestor", **target.scope(None), labels.GANG: membership.key}


def join_group(host: Object, membership: Membership, gang: Gang) -> Object:
    """The host pod as one of the group."""
    name, meta, spec = name_group(membership), dict(host["metadata"]), dict(host["spec"])
    meta["annotations"] = meta["annotations"] | {labels.GANG_GROUP: f"{gang.scheduler}/{name}"}
    if gang.scheduler == "Kubernetes":
        spec["schedulingGroup"] = {"podGroupName": name}
    elif gang.scheduler == "Coscheduling":
        meta["labels"] = meta["labels"] | {"scheduling.x-k8s.io/pod-group": name}
    elif gang.scheduler == "Volcano":
        meta["annotations"] = meta["annotations"] | {known.VOLCANO_GROUP: name}
    elif gang.scheduler == "KAI":
        meta["annotations"] = meta["annotations"] | {_KAI_GROUP: name}
        # Of a pod with an owner, KAI's grouper makes a group of its own. The namespace ends these pods, and the syncer.
        del meta["ownerReferences"]
        if gang.queue:
            meta["labels"] = meta["labels"] | {_KAI_QUEUE: gang.queue}
    return host | {"metadata": meta, "spec": spec}

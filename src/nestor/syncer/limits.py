"""What one nested cluster may cost the host cluster, whatever its tenant does in it. Decisions are pure.

An API server's store holds 2 GiB by default, in which each change stays for five minutes, and a Service takes one of the
addresses that all share. The limits of a class (quotas) come on top: they hold for a namespace, and know neither bytes nor rates.
Totals are read from caches, so what is being written at the same moment may come on top of them.
"""

import json
import math
from collections.abc import Iterator
from decimal import Decimal

from nestor.api import names
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.quantities import parse_quantity
from nestor.kube import Kind, kinds
from nestor.kube.pace import Rate
from nestor.pods.providers.host import EXCEEDED
from nestor.pods.translate import config

MEBIBYTE = 1024 * 1024

COPIED_BYTES = 32 * MEBIBYTE
"""All that a nested cluster has in the host: pods with those that have ended, the data of copied ConfigMaps and Secrets and of
pods' tokens, and all other copies. A pod has ten kilobytes, the rest of an application a few hundred.
"""

MOST_COPIES: dict[Kind, tuple[int, str]] = {
    # Kubernetes' own conformance tests make 200 at a time; an application has a dozen or two.
    kinds.SERVICE: (250, "Services with a cluster IP"),
    # A Service without a selector has one or two.
    kinds.ENDPOINT_SLICE: (100, "EndpointSlices of its users' own"),
    # An application has one for each of its workloads at most.
    kinds.POD_DISRUPTION_BUDGET: (100, "PodDisruptionBudgets"),
    # Each change of a pod makes a network plugin look at all of them.
    kinds.NETWORK_POLICY: (200, "NetworkPolicies"),
    # A quota may allow fewer.
    kinds.VOLUME_SNAPSHOT: (100, "VolumeSnapshots"),
    # A pod has one or two.
    kinds.RESOURCE_CLAIM: (500, "ResourceClaims"),
}
"""How many copies in the host a nested cluster may have of a kind, and what they are called."""

MOST_PARTS: dict[Kind, tuple[int, str]] = {
    # Each node of the host has rules for every port and pod of a Service: for a thousand ports of a hundred pods these are
    # 100,000, the order of a large cluster. An application has a few ports for each Service.
    kinds.SERVICE: (1000, "ports of Services"),
    # One for each port and address, for the same reason.
    kinds.ENDPOINT_SLICE: (10_000, "endpoints of EndpointSlices, counted for each port,"),
}
"""How many parts all copies of a kind may have together, and what they are called."""

HOST_WRITES = Rate(per_second=80, burst=400)
"""Writes of objects to the host. The burst lets more than a hundred pods with their tokens and configuration start at full speed;
the rate lets twenty pods a second come for good, with three writes each (the pod, its tokens, and these again with its node), and
the Services beside them. Deletions do not count: nothing can be deleted that was not written before.
"""

HOST_BYTES = Rate(per_second=MEBIBYTE, burst=COPIED_BYTES)
"""The burst is all copies at once. The rate fills a sixth of the store's 2 GiB before old changes are dropped from it."""

SMALL_BYTES = 12 * 1024
"""A write of this size is bounded well enough by `HOST_WRITES`, below the rate of `HOST_BYTES`. Most pods are smaller."""

COPY_WRITES = Rate(per_second=1, burst=10)
"""Writes of one copy. The burst is for an application's start, when Services and with them service links change quickly."""

STATUS_WRITES = Rate(per_second=1, burst=20)
"""Writes of the NestedCluster's status: each wakes the operator, which copies up to 256 KiB of `status.run` once more. A runner
makes two or three changes a step."""

COUNT_WRITES = Rate(per_second=1 / 3, burst=2)
"""Of these, the ones that tell nothing but how many pods there are. Pods that come and go change that all the time; a user sees
a number of three seconds ago at most. The burst shows at once that a first pod is there, and that it runs.
"""

OBJECT_BYTES = 64 * 1024
"""Of a host Service, PodDisruptionBudget or NetworkPolicy. A label selector has a hundred bytes, a port or an address fewer."""

TOO_LARGE_POLICY = f"a NetworkPolicy may have {OBJECT_BYTES // 1024} KiB, and this one has more"


def _is_excess(most: float, total: int, before: int, after: int) -> bool:
    """Whether something may not grow from `before` to `after` while all have `total`. It may always shrink."""
    return before < after and most < total - before + after


def find_excess(total: int, before: int, after: int) -> str | None:
    """Why something may not grow from `before` to `after` bytes while all have `total`; None if it may."""
    if not _is_excess(COPIED_BYTES, total, before, after):
        return None
    size = COPIED_BYTES // MEBIBYTE
    return (
        "what a nested cluster has in the host cluster, all pods with their ConfigMaps and Secrets, Services, EndpointSlices, "
        f"claims, NetworkPolicies and PodDisruptionBudgets, may hold {size} MiB in total, and would exceed that"
    )


def find_excess_of_data(total: int, copy: Object | None, desired: Object) -> str | None:
    """As `find_excess`, for a host object that is written: `copy` is what there is so far."""
    return find_excess(total, config.measure(copy) if copy is not None else 0, config.measure(desired))


def find_surplus(kind: Kind, count: int) -> str | None:
    """Why there may be no further host object beside `count` others; None if there may."""
    most, what = MOST_COPIES.get(kind, (math.inf, ""))
    return f"a nested cluster may have {most} {what} in the host cluster; delete others first" if count >= most else None


def find_excess_of_object(kind: str, content: Object) -> str | None:
    """Why an object with that content may not be in the host; None if it may."""
    if len(json.dumps(content)) <= OBJECT_BYTES:
        return None
    return f"a {kind} may have {OBJECT_BYTES // 1024} KiB in the host cluster, and this one would exceed that"


def find_excess_of_parts(kind: Kind, total: int, before: int, after: int) -> str | None:
    """As `find_excess`, for the parts of a kind's copies."""
    most, what = MOST_PARTS.get(kind, (math.inf, ""))
    if not _is_excess(most, total, before, after):
        return None
    return f"a nested cluster may have {most} {what} in total, and would exceed that"


def list_left(quota: Object) -> Iterator[tuple[str, Decimal]]:
    """What a ResourceQuota leaves of each resource that it limits."""
    used = status_of(quota).get("used") or {}
    for name, hard in (spec_of(quota).get("hard") or {}).items():
        yield name, parse_quantity(str(hard)) - parse_quantity(str(used.get(name, "0")))


def advise(reason: str, quota_class: str) -> str:
    """A quota's refusal, with who can raise it. `quota_class`: see `Target`."""
    if quota_class and reason.startswith(f"{EXCEEDED}{names.QUOTA_NAME},"):
        return f"{reason}; ask an administrator to raise `namespace.quota` of class '{quota_class}'"
    return f"{reason}; ask an administrator of the host cluster to raise this quota"

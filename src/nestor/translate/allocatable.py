"""What nodes have left for one nested cluster: no more than the quotas of its namespace let it use there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from nestor.objects import Object, spec_of, status_of
from nestor.quantities import parse_quantity, write_quantity
from nestor.translate.gang_room import Amounts, add, measure
from nestor.translate.status import is_terminal

_COUNTED = {"count/pods": "pods"}
_ZERO = Decimal(0)


def find_left(quotas: Iterable[Object]) -> Amounts:
    """What the quotas leave of the resources that nodes have; of those that no quota limits, nothing is said.

    What is requested can be no more than the limits, so that quotas of limits count as well. Those with scopes do not: they are
    about some pods alone.
    """
    left: Amounts = {}
    for quota in quotas:
        if spec_of(quota).get("scopes") or spec_of(quota).get("scopeSelector"):
            continue
        used = status_of(quota).get("used") or {}
        for name, hard in (spec_of(quota).get("hard") or {}).items():
            resource = _COUNTED.get(name) or name.removeprefix("requests.").removeprefix("limits.")
            rest = max(_ZERO, parse_quantity(str(hard)) - parse_quantity(str(used.get(name, "0"))))
            left[resource] = min(left.get(resource, rest), rest)
    return left


def find_used(pods: Iterable[Object]) -> dict[str, Amounts]:
    """What the cluster's host pods reserve on each node."""
    used: dict[str, Amounts] = {}
    for pod in pods:
        if (node := pod["spec"].get("nodeName")) and not is_terminal(pod):
            add(used.setdefault(node, {}), measure(pod))
    return used


def limit(allocatable: Mapping[str, str], left: Amounts, used: Amounts) -> dict[str, str]:
    """What the cluster can use of a node: what its pods have there and what the quotas leave, but no more than the node has."""
    result = dict(allocatable)
    for resource, amount in allocatable.items():
        if resource in left:
            most = left[resource] + used.get(resource, _ZERO)
            if most < parse_quantity(str(amount)):
                result[resource] = write_quantity(most)
    return result

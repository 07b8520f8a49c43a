"""Requests and limits that the host's LimitRange adds to containers: statuses leave out what their owners have not set.

Otherwise a resize would seem not to come to its end, because what is in force differs from what was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nestor.api.objects import Object, spec_of

Added = Mapping[str, Collection[str]]
"""Names of resources that only the host's container has, by `requests` and `limits`."""

_SIDES = ("requests", "limits")


def find_added(nested: Object, host: Object, group: str) -> dict[str, Added]:
    """What the host has added to the containers of a group, such as `containers`, by their names."""
    own = {item["name"]: item.get("resources") or {} for item in spec_of(nested).get(group) or []}
    there = {item["name"]: item.get("resources") or {} for item in spec_of(host).get(group) or []}
    return {
        name: {side: (there[name].get(side) or {}).keys() - (own[name].get(side) or {}).keys() for side in _SIDES}
        for name in own.keys() & there.keys()
    }


def hide_added(resources: Object, added: Added) -> Object:
    """The `resources` of a container's status without what the host has added. A side of which nothing is left is left out."""
    result = dict(resources)
    for side in _SIDES:
        if side not in resources:
            continue
        if kept := without(resources[side], added.get(side)):
            result[side] = kept
        else:
            result.pop(side)
    return result


def without(amounts: Object, names: Collection[str] | None) -> Object:
    """The amounts without those of these resources."""
    return {key: amount for key, amount in amounts.items() if key not in (names or ())}

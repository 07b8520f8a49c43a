"""What the host's LimitRange adds to containers is nothing that their owners see."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.pods.translate import status
from nestor.pods.translate.host_defaults import find_added, hide_added
from tests.unit.pods.translate.builders import TARGET, build_host_pod, build_pod

Object = dict[str, Any]


def with_resources(pod: Object, resources: Object | None) -> Object:
    """The pod, whose first container has these."""
    first, *others = pod["spec"]["containers"]
    first = {key: value for key, value in first.items() if key != "resources"} | ({"resources": resources} if resources else {})
    return pod | {"spec": pod["spec"] | {"containers": [first, *others]}}


CPU, DISK = {"cpu": "100m"}, {"ephemeral-storage": "10Gi"}


@pytest.mark.parametrize(
    ("own", "host", "in_force", "expected"),
    [
        # Nobody has added anything.
        ({"limits": CPU}, {"limits": CPU}, {"limits": CPU}, {"limits": CPU}),
        # A limit for local storage was added to others, or alone.
        ({"limits": CPU}, {"limits": CPU | DISK}, {"limits": CPU | DISK}, {"limits": CPU}),
        (None, {"limits": DISK}, {"limits": DISK}, {}),
        # One that the owner has set stays.
        ({"limits": DISK}, {"limits": DISK}, {"limits": DISK}, {"limits": DISK}),
        # A limit that was taken away is in force until its resize is done: the host's container does not have it either.
        ({"requests": CPU}, {"requests": CPU}, {"requests": CPU, "limits": CPU}, {"requests": CPU, "limits": CPU}),
        # Requests and limits are told apart.
        ({"limits": CPU}, {"limits": CPU, "requests": CPU}, {"limits": CPU, "requests": CPU}, {"limits": CPU}),
    ],
)
def test_only_what_its_owner_can_know(own: Object | None, host: Object, in_force: Object, expected: Object) -> None:
    nested, there = with_resources(build_pod(), own), with_resources(build_host_pod(), host)
    name = nested["spec"]["containers"][0]["name"]
    added = find_added(nested, there, "containers")[name]
    assert hide_added(in_force, added) == expected
    said = {"name": name, "resources": in_force, "allocatedResources": in_force.get("requests", {})}
    built = status.build_status(nested, there | {"status": {"containerStatuses": [said]}}, TARGET)["containerStatuses"][0]
    assert (built["resources"], built["allocatedResources"]) == (expected, expected.get("requests", {}))

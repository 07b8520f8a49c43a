"""Devices that the host cluster gives by dynamic resource allocation: what a class allows of them."""

from __future__ import annotations

from typing import Annotated

from nestor.api.base import ObjectName
from nestor.api.parts import Limits, field, part


@part()
class Devices:
    """The devices that the ResourceClaims of a nested cluster may get."""

    classes: Annotated[list[ObjectName], Limits(max_length=32)] = field(
        default_factory=list,
        description="DeviceClasses of the host cluster that nested clusters have too, by name. ResourceClaims may request "
        "devices of these, and so may extended resources `deviceclass.resource.kubernetes.io/<name>`; never with admin access. "
        "If not set, pods with ResourceClaims are refused.",
    )
    parameters: bool = field(
        default=False,
        description="Whether ResourceClaims may have `spec.devices.config`: parameters that a driver of the host cluster "
        "reads, of which Kubernetes checks nothing. Defaults to false.",
    )

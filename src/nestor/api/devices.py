"""Devices that the host cluster gives by dynamic resource allocation: what a class allows of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nestor.api.base import Model, ObjectName


class Devices(Model):
    """The devices that the ResourceClaims of a nested cluster may get."""

    classes: Annotated[list[ObjectName], Field(max_length=32)] = Field(
        default_factory=list,
        description="DeviceClasses of the host cluster that nested clusters have too, by name. ResourceClaims may request "
        "devices of these, and so may extended resources `deviceclass.resource.kubernetes.io/<name>`; never with admin access. "
        "If not set, pods with ResourceClaims are refused.",
    )
    parameters: bool = Field(
        False,
        description="Whether ResourceClaims may have `spec.devices.config`: parameters that a driver of the host cluster "
        "reads, of which Kubernetes checks nothing. Defaults to false.",
    )

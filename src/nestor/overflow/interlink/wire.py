"""The answers of both hops of the interLink protocol. Kubernetes objects in them are plain dictionaries.

They are read leniently in what they leave out (Go writes null for empty lists), and strictly in what they contain.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from nestor.api.objects import Object


def _from_null(value: Any) -> Any:
    return [] if value is None else value


class Message(BaseModel):
    """A JSON object of the protocol; names as on the wire are given as aliases. Unknown fields are ignored."""

    model_config = ConfigDict(populate_by_name=True, frozen=True, extra="ignore")


class Created(Message):
    """The answer to `/create`. Some plugins answer a list of one."""

    uid: str = Field(default="", alias="PodUID")
    job: str = Field(default="", alias="PodJID")


class PodAnswer(Message):
    """One pod in the answer to `/status`."""

    name: str = ""
    uid: str = Field(alias="UID")
    namespace: str = ""
    job: str = Field(default="", alias="JID")
    containers: Annotated[list[Object], BeforeValidator(_from_null)] = Field(default_factory=list)
    init_containers: Annotated[list[Object], BeforeValidator(_from_null)] = Field(default_factory=list, alias="initContainers")


class Accelerator(Message):
    """Devices of one kind. `available`: how many the node may give to pods in all, those that run there included, as with `cpu`.

    A number of free ones would count those of our own pods twice: the host's scheduler subtracts them itself.
    """

    kind: str = Field(alias="resourceType")
    available: int


class Resources(Message):
    cpu: str | None = None
    memory: str | None = None
    pods: str | None = None
    accelerators: Annotated[list[Accelerator], BeforeValidator(_from_null)] = Field(default_factory=list)


class Taint(Message):
    key: str
    value: str = ""
    effect: str


class Ping(Message):
    """The answer to `/pinglink`, if it is not free text."""

    status: str = ""
    resources: Resources | None = None
    taints: list[Taint] | None = None
    """An empty list clears the node's taints; None leaves them as they are."""


class PeerGpu(Message):
    """A GPU of a NuNet peer; memory in MiB."""

    name: str
    total_vram: float = Field(alias="tot_vram")


class PeerResources(Message):
    """What a NuNet peer offers. `ram` is in MiB, `tot_cpu_hz` in MHz, whatever its name says."""

    vcpu: float = 0
    ram: float = 0
    cpu_mhz: float = Field(default=0, alias="tot_cpu_hz")


class Peer(Message):
    """A compute provider in NuNet's peer list."""

    is_available: bool = False
    gpus: Annotated[list[PeerGpu], BeforeValidator(_from_null)] = Field(default_factory=list, alias="gpu_info")
    resources: PeerResources = Field(default_factory=PeerResources, alias="available_resources")

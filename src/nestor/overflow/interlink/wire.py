"""The answers of both hops of the interLink protocol. Kubernetes objects in them are plain dictionaries.

They are read leniently in what they leave out (Go writes null for empty lists), and strictly in what they contain.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from nestor.api.objects import Object
from nestor.overflow.statuses import Lenient


def _write_number(value: Any) -> Any:
    """interLink says quantities; plugins, numbers as well."""
    return str(value) if type(value) in (int, float) else value


_Quantity = Annotated[str, BeforeValidator(_write_number)]


class Created(Lenient):
    """The answer to `/create`. Some plugins answer a list of one."""

    uid: str = Field(default="", alias="PodUID")
    job: str = Field(default="", alias="PodJID")


class PodAnswer(Lenient):
    """One pod in the answer to `/status`."""

    name: str = ""
    uid: str = Field(alias="UID")
    namespace: str = ""
    job: str = Field(default="", alias="JID")
    containers: list[Object] = Field(default_factory=list)
    init_containers: list[Object] = Field(default_factory=list, alias="initContainers")


class Accelerator(Lenient):
    """Devices of one kind. `available`: how many the node may give to pods in all, those that run there included, as with `cpu`.

    A number of free ones would count those of our own pods twice: the host's scheduler subtracts them itself.
    """

    kind: str = Field(alias="resourceType")
    available: _Quantity


class Resources(Lenient):
    """Read value by value, as is `Ping`: one that is malformed must not hide the others."""

    cpu: Any = None
    memory: Any = None
    pods: Any = None
    accelerators: Any = None


class Taint(Lenient):
    key: str
    value: str = ""
    effect: Annotated[str, BeforeValidator(lambda said: said or "NoSchedule")] = "NoSchedule"


class Ping(Lenient):
    """The answer to `/pinglink`, if it is not free text."""

    status: Any = None
    resources: Any = None
    taints: Any = None
    """An empty list clears the node's taints; None leaves them as they are."""


_Amount = Annotated[float, Field(ge=0, le=10**8)]
"""More than any one peer has, and so little that what ten thousand of them have together is a quantity."""


class PeerGpu(Lenient):
    """A GPU of a NuNet peer; memory in MiB."""

    name: str
    total_vram: _Amount = Field(alias="tot_vram")


class PeerResources(Lenient):
    """What a NuNet peer offers. `ram` is in MiB, `tot_cpu_hz` in MHz, whatever its name says."""

    vcpu: _Amount = 0
    ram: _Amount = 0
    cpu_mhz: _Amount = Field(default=0, alias="tot_cpu_hz")


class Peer(Lenient):
    """A compute provider in NuNet's peer list."""

    is_available: bool = False
    gpus: list[PeerGpu] = Field(default_factory=list, alias="gpu_info")
    resources: PeerResources = Field(default_factory=PeerResources, alias="available_resources")

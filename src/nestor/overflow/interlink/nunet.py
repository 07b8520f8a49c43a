"""NuNet's `/resources`: a list of peers, or its own consolidation of one, as shapes. Pure.

Only peers that are available count, and each resource is summed. NuNet's own sample takes the largest peer's figures and counts
GPUs of an absent one, so its `/resources` map is used only where no peers are told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from nestor.api import names
from nestor.overflow.interlink.discovery import check_quantity, name_resource, slug
from nestor.overflow.interlink.wire import Peer, PeerGpu
from nestor.pods.providers.base import WHOLE, Shape
from nestor.pods.providers.errors import Unreachable

DOMAIN = "nunet.io"

_PREFIX = "nunet."
_CPU_ONLY = "cpu"
_SHAPE_LIMIT = 40
_PEERS = 10_000
_SHAPES = 64
_MIB_PER_GIB = 1024
# What a product's name says besides family and model.
_NOISE = re.compile(r"^(nvidia|geforce|amd|intel|corporation|graphics|gpu|pcie?|sxm\d*|nvl|\d+gi?b|\d+g)$")
_MARKS = re.compile(r"\((r|c|tm)\)", re.IGNORECASE)
# The first that fits. NVIDIA's are last also by their model alone, such as V100.
_BRANDS = (
    ("nvidia", re.compile(r"nvidia|geforce|tesla|quadro|titan|\b[rg]tx\b")),
    ("amd", re.compile(r"\bamd\b|radeon|instinct|firepro|\bmi\d+")),
    ("intel", re.compile(r"intel|\barc\b|iris")),
    ("nvidia", re.compile(r"^[abhlptv]\d{1,4}\b")),
)


def build_shapes(peers: Iterable[Peer]) -> list[Shape]:
    """One shape for all available peers with the same kinds of GPUs, and one for those without any. Raises `Unreachable`."""
    groups: dict[tuple[str, ...], list[Peer]] = {}
    for peer in peers:
        if peer.is_available:
            groups.setdefault(tuple(sorted({name_gpu(gpu) for gpu in peer.gpus})), []).append(peer)
    if len(groups) > _SHAPES:
        raise Unreachable(f"the backend's peers have {len(groups)} kinds of hardware: at most {_SHAPES} are allowed")
    return [_build_shape(kinds, groups[kinds]) for kinds in sorted(groups)]


def build_whole(resources: Mapping[str, float]) -> Shape:
    """The only shape, of a map such as `{"nunet.cpu.cores": 17, "nunet.gpu.nvidia.rtx.3090.24gb": 2}`.

    Its `nunet.ram.gb` is in MiB, whatever its name says. Raises `Unreachable` for names and amounts that no node may have.
    """
    capacity: dict[str, str] = {}
    for name, amount in resources.items():
        if name == "nunet.cpu.cores":
            capacity["cpu"] = _write(name, amount)
        elif name == "nunet.ram.gb":
            capacity["memory"] = _write(name, amount) + "Mi"
        else:
            capacity[name_resource(f"{DOMAIN}/{slug(name.removeprefix(_PREFIX))}")] = _write(name, amount)
    return Shape(WHOLE, capacity)


def name_gpu(gpu: PeerGpu) -> str:
    """`gpu-<brand>-<family>-<model>-<memory>`, for example `gpu-nvidia-tesla-p100-16gb`."""
    text = slug(_MARKS.sub(" ", gpu.name)).replace("-", " ")
    brand = next((name for name, pattern in _BRANDS if pattern.search(text)), "other")
    model = [word for word in text.split() if not _NOISE.match(word)] or ["unknown"]
    return "-".join(["gpu", brand, *model, f"{round(gpu.total_vram / _MIB_PER_GIB)}gb"])[: names.LABEL_LIMIT].rstrip("-")


def check_count(peers: int) -> None:
    """Raises `Unreachable` if nobody can have that many peers."""
    if peers > _PEERS:
        raise Unreachable(f"the backend tells {peers} peers: at most {_PEERS} are read")


def _build_shape(kinds: tuple[str, ...], peers: list[Peer]) -> Shape:
    resources = [peer.resources for peer in peers]
    gpus = Counter(name_gpu(gpu) for peer in peers for gpu in peer.gpus)
    capacity = {
        "cpu": _write("vcpu", sum(item.vcpu for item in resources)),
        "memory": _write("ram", sum(item.ram for item in resources)) + "Mi",
        f"{DOMAIN}/cpu-mhz": _write("tot_cpu_hz", sum(item.cpu_mhz for item in resources)),
    }
    capacity |= {f"{DOMAIN}/{name}": str(count) for name, count in sorted(gpus.items())}
    return Shape(_name_shape(kinds), capacity, machines=len(peers))


def _name_shape(kinds: tuple[str, ...]) -> str:
    readable = "-".join(kind.removeprefix("gpu-") for kind in kinds) or _CPU_ONLY
    if len(readable) <= _SHAPE_LIMIT:
        return readable
    return names.join_limited([readable], names.digest(*kinds), limit=_SHAPE_LIMIT)


def _write(what: str, amount: float) -> str:
    """Whole units: machines of which a part is free have none."""
    text = str(int(amount)) if abs(amount) < float("inf") else str(amount)
    return check_quantity(what, text)

"""What a backend tells about its machines, as shapes: checked, because they end up in Nodes of the host cluster. Pure.

It answers `/pinglink` with its resources; or a path such as NuNet's `/resources` with a list of peers, or with their sums. Of
peers, only those that are available count, and each resource is summed. NuNet's own sample takes the largest peer's figures and
counts GPUs of an absent one, so sums are used only where no peers are told.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

from pydantic import TypeAdapter, ValidationError

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.api.quantities import parse_quantity, write_quantity
from nestor.overflow.interlink.wire import Accelerator, Peer, PeerGpu, Ping, Resources, Taint
from nestor.pods.providers.base import WHOLE, Shape
from nestor.pods.providers.errors import Unreachable, cut, cut_name

_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = re.compile(rf"^({_DOMAIN}/)?{_NAME}$")
_VALUE = re.compile(rf"^({_NAME})?$")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_RESERVED = ("kubernetes.io", "k8s.io")
_LARGEST = 2**63 - 1
_TAINTS, _RESOURCES = 32, 64
_LIST: TypeAdapter[list[Any]] = TypeAdapter(list[Any])

_NUNET = "nunet.io"
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


def build_shape(ping: Ping) -> Shape | None:
    """The only shape of a backend that answers `/pinglink` with its resources. None if it tells nothing.

    What no node may have is left out, and `Shape.faults` says so: one bad value must not hide the others.
    """
    if ping.resources is None and ping.taints is None:
        return None
    faults: list[str] = []
    capacity: dict[str, str] = {}
    if ping.resources is not None:
        with _noting("resources", faults):
            capacity = _read_capacity(Resources.model_validate(ping.resources), faults)
    taints = None
    if ping.taints is not None:
        with _noting("taints", faults):
            taints = _read_taints(_LIST.validate_python(ping.taints), faults)
    return Shape(WHOLE, capacity, taints=taints, faults=cut("; ".join(faults)))


def _read_capacity(told: Resources, faults: list[str]) -> dict[str, str]:
    capacity: dict[str, str] = {}
    for key in ("cpu", "memory", "pods"):
        if (amount := getattr(told, key)) is not None:
            with _noting(key, faults):
                capacity[key] = _check_quantity(f"resources.{key}", str(amount))
    with _noting("resources.accelerators", faults):
        for index, item in enumerate(_LIST.validate_python(told.accelerators or [])):
            with _noting(f"resources.accelerators.{index}", faults):
                device = Accelerator.model_validate(item)
                name = _name_resource(device.kind)
                count = int(parse_quantity(_check_quantity(name, device.available)))
                capacity[name] = _check_quantity(name, str(int(capacity.get(name, "0")) + count))
    if len(capacity) > _RESOURCES:
        faults.append(f"the backend tells {len(capacity)} resources: only the first {_RESOURCES} count")
    return dict(islice(capacity.items(), _RESOURCES))


def _read_taints(told: list[Any], faults: list[str]) -> list[Object] | None:
    """The taints, without repetitions. None if no told one is allowed: the node then keeps those that it has."""
    found: dict[tuple[str, str], Object] = {}
    for index, item in enumerate(told):
        with _noting(f"taints.{index}", faults):
            taint = Taint.model_validate(item)
            is_valid = _is_qualified(taint.key) and _VALUE.match(taint.value) and taint.effect in _EFFECTS
            if not is_valid or _is_reserved(taint.key):
                raise Unreachable(f"the backend wants the taint '{cut_name(taint.key)}', which no backend may set")
            found[taint.key, taint.effect] = taint.model_dump()
    if len(found) > _TAINTS:
        faults.append(f"the backend wants {len(found)} taints: only the first {_TAINTS} count")
    return None if told and not found else list(found.values())[:_TAINTS]


@contextmanager
def _noting(what: str, faults: list[str]) -> Iterator[None]:
    """Leave out what the `with` block refuses."""
    try:
        yield
    except ValidationError:
        faults.append(f"the backend's `{what}` is malformed")
    except Unreachable as error:
        faults.append(error.message)


def _name_resource(name: str) -> str:
    """An extended resource for what a backend calls `name`. Kubernetes wants a domain, so names without one get ours.

    Raises `Unreachable` for a name of which no resource can be made.
    """
    full = name if "/" in name else f"{labels.GROUP}/{_slug(name)}"
    if not _is_qualified(full) or _is_reserved(full) or full.startswith("requests."):
        raise Unreachable(f"the backend tells the resource '{cut_name(name)}', which is no name of an extended resource")
    return full


def _slug(text: str) -> str:
    """`text` in lower case, with a dash for everything that is no letter or digit."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _check_quantity(what: str, text: str) -> str:
    """`text`, if it is a quantity that a node may have. Raises `Unreachable`."""
    try:
        amount = parse_quantity(text)
    except ValueError:
        amount = None
    if amount is None or not 0 <= amount <= _LARGEST:
        raise Unreachable(f"the backend tells '{cut_name(text[:32])}' for `{cut_name(what)}`: must be a quantity from 0 to 2^63")
    return write_quantity(amount) if "e" in text.lower() else text


def _is_qualified(name: str) -> bool:
    return bool(_QUALIFIED.match(name)) and len(name.partition("/")[0]) <= 253


def _is_reserved(name: str) -> bool:
    domain, _, rest = name.partition("/")
    return bool(rest) and any(domain == item or domain.endswith(f".{item}") for item in _RESERVED)


def build_peer_shapes(told: Sequence[Any]) -> list[Shape]:
    """One shape for all available peers with the same kinds of GPUs, and one for those without any.

    Anybody can be a peer: one that is malformed costs the others nothing, and `faults` of the first shape tells of it. Raises
    `Unreachable` if none is left.
    """
    peers, faults = _read_peers(told)
    groups: dict[tuple[str, ...], list[Peer]] = {}
    for peer in peers:
        if peer.is_available:
            groups.setdefault(tuple(sorted({name_gpu(gpu) for gpu in peer.gpus})), []).append(peer)
    if len(groups) > _SHAPES:  # not only some of them: whose hardware counts would be for those to say who make up peers
        raise Unreachable(f"the backend's peers have {len(groups)} kinds of hardware: at most {_SHAPES} are allowed")
    shapes = [_build_peer_shape(kinds, groups[kinds]) for kinds in sorted(groups)]
    if faults and not shapes:
        raise Unreachable("; ".join(faults))
    return [replace(shape, faults="; ".join(faults)) for shape in shapes[:1]] + shapes[1:]


def _read_peers(told: Sequence[Any]) -> tuple[list[Peer], list[str]]:
    """The peers, and what is wrong with others."""
    peers: list[Peer] = []
    wrong: list[str] = []
    for number, item in enumerate(told[:_PEERS], start=1):
        try:
            peers.append(Peer.model_validate(item))
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            wrong.append(f"peer {number}" + (f", `{cut_name(where)}`" if where else ""))
    faults = [f"the backend tells {len(told)} peers: only the first {_PEERS} count"] if len(told) > _PEERS else []
    if wrong:
        faults.append(f"{len(wrong)} of {len(told)} peers are malformed, and do not count: the first is {wrong[0]}")
    return peers, faults


def build_summed_shape(resources: Mapping[str, float]) -> Shape:
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
            capacity[_name_resource(f"{_NUNET}/{_slug(name.removeprefix('nunet.'))}")] = _write(name, amount)
    return Shape(WHOLE, capacity)


def name_gpu(gpu: PeerGpu) -> str:
    """`gpu-<brand>-<family>-<model>-<memory>`, for example `gpu-nvidia-tesla-p100-16gb`."""
    text = _slug(_MARKS.sub(" ", gpu.name)).replace("-", " ")
    brand = next((name for name, pattern in _BRANDS if pattern.search(text)), "other")
    model = [word for word in text.split() if not _NOISE.match(word)] or ["unknown"]
    return "-".join(["gpu", brand, *model, f"{round(gpu.total_vram / _MIB_PER_GIB)}gb"])[: names.LABEL_LIMIT].rstrip("-")


def _build_peer_shape(kinds: tuple[str, ...], peers: list[Peer]) -> Shape:
    resources = [peer.resources for peer in peers]
    gpus = Counter(name_gpu(gpu) for peer in peers for gpu in peer.gpus)
    capacity = {
        "cpu": _write("vcpu", sum(item.vcpu for item in resources)),
        "memory": _write("ram", sum(item.ram for item in resources)) + "Mi",
        f"{_NUNET}/cpu-mhz": _write("tot_cpu_hz", sum(item.cpu_mhz for item in resources)),
    }
    capacity |= {f"{_NUNET}/{name}": str(count) for name, count in sorted(gpus.items())}
    return Shape(_name_shape(kinds), capacity, machines=len(peers))


def _name_shape(kinds: tuple[str, ...]) -> str:
    readable = "-".join(kind.removeprefix("gpu-") for kind in kinds) or "cpu"
    if len(readable) <= _SHAPE_LIMIT:
        return readable
    return names.join_limited([readable], names.digest(*kinds), limit=_SHAPE_LIMIT)


def _write(what: str, amount: float) -> str:
    """Whole units: machines of which a part is free have none."""
    text = str(int(amount)) if abs(amount) < float("inf") else str(amount)
    return _check_quantity(what, text)

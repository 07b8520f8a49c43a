"""What a backend tells about its machines, as a shape: checked, because it ends up in a Node of the host cluster. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nestor.api import labels
from nestor.api.objects import Object
from nestor.api.quantities import parse_quantity, write_quantity
from nestor.overflow.interlink.wire import Ping, Taint
from nestor.pods.providers.base import WHOLE, Shape
from nestor.pods.providers.errors import Unreachable
from nestor.pods.providers.words import cut_name

_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = re.compile(rf"^({_DOMAIN}/)?{_NAME}$")
_VALUE = re.compile(rf"^({_NAME})?$")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_RESERVED = ("kubernetes.io", "k8s.io")
_LARGEST = 2**63 - 1
_TAINTS, _RESOURCES = 32, 64


def build_shape(ping: Ping) -> Shape | None:
    """The only shape of a backend that answers `/pinglink` with its resources. None if it tells nothing.

    Raises `Unreachable` for anything that no node may have: half an answer is not used.
    """
    if ping.resources is None and ping.taints is None:
        return None
    capacity: dict[str, str] = {}
    if found := ping.resources:
        plain = {"cpu": found.cpu, "memory": found.memory, "pods": found.pods}
        capacity = {key: check_quantity(f"resources.{key}", value) for key, value in plain.items() if value is not None}
        counts: dict[str, int] = {}
        for item in found.accelerators:
            name = name_resource(item.kind)
            counts[name] = counts.get(name, 0) + item.available
        capacity |= {name: check_quantity(name, str(count)) for name, count in counts.items()}
    if len(capacity) > _RESOURCES:
        raise Unreachable(f"the backend tells {len(capacity)} resources: at most {_RESOURCES} are allowed")
    taints = None if ping.taints is None else build_taints(ping.taints)
    return Shape(WHOLE, capacity, taints=taints)


def build_taints(taints: Iterable[Taint]) -> list[Object]:
    """The taints, without repetitions. Raises `Unreachable` for one that is not allowed."""
    found: dict[tuple[str, str], Object] = {}
    for taint in taints:
        is_valid = _is_qualified(taint.key) and _VALUE.match(taint.value) and taint.effect in _EFFECTS
        if not is_valid or _is_reserved(taint.key):
            raise Unreachable(f"the backend wants the taint '{cut_name(taint.key)}', which no backend may set")
        found[taint.key, taint.effect] = taint.model_dump()
    if len(found) > _TAINTS:
        raise Unreachable(f"the backend wants {len(found)} taints: at most {_TAINTS} are allowed")
    return list(found.values())


def name_resource(name: str) -> str:
    """An extended resource for what a backend calls `name`. Kubernetes wants a domain, so names without one get ours.

    Raises `Unreachable` for a name of which no resource can be made.
    """
    full = name if "/" in name else f"{labels.GROUP}/{slug(name)}"
    if not _is_qualified(full) or _is_reserved(full) or full.startswith("requests."):
        raise Unreachable(f"the backend tells the resource '{cut_name(name)}', which is no name of an extended resource")
    return full


def slug(text: str) -> str:
    """`text` in lower case, with a dash for everything that is no letter or digit."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def check_quantity(what: str, text: str) -> str:
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

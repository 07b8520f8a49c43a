"""The shapes of a backend: what it tells, as far as that may become nodes. Pure."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from nestor.api.objects import Object
from nestor.api.overflowbackend import SHAPE_LIMIT, Shape
from nestor.api.quantities import parse_quantity
from nestor.pods.providers import base

log = logging.getLogger(__name__)

PODS = "pods"


def read_discovered(found: Iterable[base.Shape], before: Sequence[Shape]) -> list[Shape]:
    """What was discovered; what a backend does not say any more of a shape stays as it was. Nonsense is left out."""
    known = {shape.name: shape for shape in before}
    result: dict[str, Shape] = {}
    for item in found:
        old = known.get(item.name)
        values: Object = {
            "name": item.name,
            "capacity": {**(old.capacity if old else {}), **item.capacity},
            "labels": dict(item.labels),
            "taints": [dict(taint) for taint in item.taints] if item.taints is not None else (old.taints if old else []),
            "machines": item.machines,
        }
        try:
            if any(parse_quantity(str(amount)) < 0 for amount in values["capacity"].values()):
                raise ValueError("an amount is negative")
            result[item.name] = Shape.model_validate(values)
        except ValueError as error:
            why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            log.warning("shape '%.40s' of the backend is left out: %.200s", item.name, why)
    return sorted(result.values(), key=lambda shape: shape.name)[:SHAPE_LIMIT]


def find_capacity(shapes: Iterable[Shape], name: str, pods: int) -> dict[str, str]:
    """What the node of a shape has. A shape that is gone has nothing, so that no further pod goes there."""
    shape = next((item for item in shapes if item.name == name), None)
    if shape is None:
        return {PODS: "0"}
    return {PODS: str(pods)} | {key: str(value) for key, value in shape.capacity.items()}

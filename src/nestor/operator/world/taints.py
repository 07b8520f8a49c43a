"""The taints of backends' nodes, as their OverflowBackends say: pods that may go there tolerate them without further words."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pydantic import ValidationError

from nestor.api.objects import Object, spec_of
from nestor.api.overflowbackend import NodeTemplate, Taint

log = logging.getLogger(__name__)

Taints = dict[str, tuple[Taint, ...]]
"""By the name of the backend."""


def read_taints(backends: Iterable[Object]) -> Taints:
    """Those of all backends that can be read."""
    found = ((item["metadata"]["name"], read_backend(item)) for item in backends)
    return {name: taints for name, taints in found if taints is not None}


def read_backend(backend: Object) -> tuple[Taint, ...] | None:
    """Those of one backend; None if it cannot be read."""
    name = backend["metadata"]["name"]
    try:
        return tuple(NodeTemplate.model_validate(spec_of(backend).get("node") or {}).list_taints(name))
    except ValidationError as error:
        log.debug("the taints of backend '%s' cannot be read: %s", name, error)
        return None

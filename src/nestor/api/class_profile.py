"""What a class comes to: what it says itself, over what its profile says for the rest. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nestor.api.nestedclass import NestedClassSpec

PROFILES: Final[Mapping[str, dict[str, Any]]] = {
    "Evaluation": {},  # what the fields say themselves
    "Tenants": {
        "maxJobsPerNamespace": 20,
        "maxActiveDeadlineSeconds": 7 * 24 * 3600,
        "namespace": {"quota": {"cpu": 8, "memory": "32Gi"}},
        "network": {"unenforced": "Refuse"},
        "images": {"alwaysPull": True},
    },
    "Trusted": {
        "maxJobsPerNamespace": 200,
        "namespace": {"podSecurity": "Privileged", "quota": {"storage": "1Ti"}},
        "network": {"privateRanges": [], "unenforced": "Accept"},
    },
}


def resolve(spec: Mapping[str, Any], versions: Sequence[str] | None = None) -> NestedClassSpec:
    """The whole class. `versions`: those that the operator has, the highest last; None if that is not known."""
    found = NestedClassSpec.model_validate(_merge(PROFILES.get(spec.get("profile", "Tenants"), {}), spec))
    if versions is None:
        return found
    offered = [item for item in found.cluster.versions or reversed(versions) if item in versions]
    return found.model_copy(update={"cluster": found.cluster.model_copy(update={"versions": offered})})


def write(spec: NestedClassSpec) -> dict[str, Any]:
    """For the status of the class. Without empty maps: server-side apply would leave null where their last key goes."""
    found: dict[str, Any] = _trim(spec.model_dump(by_alias=True, exclude_none=True))
    return found


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Maps are merged key by key; all else is replaced."""
    both = {key: _merge(base[key], over[key]) for key in base.keys() & over.keys() if _are_maps(base[key], over[key])}
    return {**base, **over, **both}


def _are_maps(*values: object) -> bool:
    return all(isinstance(value, Mapping) for value in values)


def _trim(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _trim(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item != {}}
    return [_trim(item) for item in value] if isinstance(value, list) else value

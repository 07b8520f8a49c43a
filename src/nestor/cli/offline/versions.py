"""The Kubernetes version that a job gets from its class, where the class is in one of the files. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from nestor.api.appdef_versions import find_offer
from nestor.api.nestedclass import ClusterPolicy, NestedClassSpec
from nestor.cli.offline.faults import Fault

Classes = Mapping[str, ClusterPolicy]
"""What the classes of the checked files say of clusters, by the classes' names."""


def read_classes(contents: Iterable[Any]) -> dict[str, ClusterPolicy]:
    """The NestedClasses among documents; one with a fault is left out, because its own check names it."""
    found: dict[str, ClusterPolicy] = {}
    for content in contents:
        if not isinstance(content, dict):
            continue
        if content.get("kind") == "List" and isinstance(content.get("items"), list):
            found |= read_classes(content["items"])
        elif content.get("kind") == "NestedClass" and isinstance(meta := content.get("metadata"), dict):
            try:
                found[str(meta.get("name"))] = NestedClassSpec.model_validate(content.get("spec")).cluster
            except ValidationError:
                continue
    return found


def check_version(spec: dict[str, Any], appdefs: str | None, classes: Classes) -> tuple[list[Fault], list[str]]:
    """Faults and warnings about the version of a NestedAppJob or NestedCluster; `appdefs`: the version that its AppDef names."""
    name = spec.get("className", "default")
    if (policy := classes.get(name)) is None:
        return [], []
    offered, own = [entry.version for entry in policy.versions], spec.get("kubernetesVersion")
    where = "spec.kubernetesVersion" if own else "spec.app.appDef"
    wanted = own or appdefs
    if not wanted or wanted in offered:
        return [], []
    offer = None if own or policy.app_def_version == "Exact" else find_offer(wanted, offered)
    if offer is not None:
        return [], [f"{offer.note} (class '{name}')"]
    said = f"Kubernetes version '{wanted}' is not offered by class '{name}'; available: {', '.join(offered)}"
    return [Fault(where, said)], []

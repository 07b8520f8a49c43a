"""The Kubernetes version that a job gets from its class, where the class is known. Pure."""

from __future__ import annotations

from typing import Any

from nestor.api.appdef_versions import find_offer
from nestor.cli.offline.faults import Fault
from nestor.cli.offline.known import Known


def check_version(content: dict[str, Any], appdefs: str | None, known: Known) -> tuple[list[Fault], list[str]]:
    """Faults and warnings about the version of a NestedAppJob; `appdefs`: the version that its AppDef names."""
    name, policy = known.find_class(content)
    if policy is None:
        return [], []
    offered, own = [entry.version for entry in policy.cluster.versions], content["spec"].get("kubernetesVersion")
    where = "spec.kubernetesVersion" if own else "spec.app.appDef"
    wanted = own or appdefs
    if not wanted or wanted in offered:
        return [], []
    offer = None if own or policy.cluster.app_def_version == "Exact" else find_offer(wanted, offered)
    if offer is not None:
        return [], [f"{offer.note} (class '{name}')"]
    said = f"Kubernetes version '{wanted}' is not offered by class '{name}'; available: {', '.join(offered)}"
    return [Fault(where, said)], []

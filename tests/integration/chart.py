"""The chart as helm renders it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import yaml

from nestor.kube import Api, Kind, kinds
from tests.integration import apiserver

_GROUP = "admissionregistration.k8s.io"
POLICY = Kind(_GROUP, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False)
POLICY_BINDING = Kind(_GROUP, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False)
CHART = Path(__file__).parents[2] / "charts/nestor"


async def install_roles(api: Api, *settings: str) -> None:
    """Its roles and bindings, what they cannot say, and the namespace that it is installed in. `settings`: the chart's values."""
    await api.apply(kinds.NAMESPACE, {"metadata": {"name": "nestor-system"}})
    for document in await render(*settings):
        for kind in (kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING, kinds.ROLE, kinds.ROLE_BINDING, POLICY, POLICY_BINDING):
            if document["kind"] == kind.name:
                await api.apply(kind, document)


async def install_syncer_roles(api: Api) -> None:
    """Those of the syncer alone, without bindings: users of the same control plane have no rights but those of their tests."""
    found = [item for item in await render() if item["kind"] == "ClusterRole" and "syncer" in item["metadata"]["name"]]
    assert len(found) == 2
    for role in found:
        await api.apply(kinds.CLUSTER_ROLE, role)


async def render(*settings: str) -> list[dict[str, Any]]:
    """All its objects, with the values that have no default, and those in `settings`."""
    command = [str(apiserver.binary("helm")), "template", "nestor", str(CHART), "--namespace", "nestor-system"]
    values = ",".join(("image.repository=x", *settings))
    process = await asyncio.create_subprocess_exec(*command, "--set", values, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return [document for document in yaml.safe_load_all(output) if document]

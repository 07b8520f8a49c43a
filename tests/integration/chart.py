"""The chart as helm renders it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import yaml

from nestor.kube import Api, Kind, kinds
from tests.integration import apiserver

ALLOW_PRIVILEGED = ("--set", "operator.allowPrivileged=true")
_GROUP = "admissionregistration.k8s.io"
POLICY = Kind(_GROUP, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False)
POLICY_BINDING = Kind(_GROUP, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False)
CHART = Path(__file__).parents[2] / "charts/nestor"


async def install_roles(api: Api, *arguments: str) -> None:
    """Its roles and bindings, what they cannot say, and the namespace that it is installed in. `arguments`: of helm."""
    await api.apply(kinds.NAMESPACE, {"metadata": {"name": "nestor-system"}})
    for document in await render(*arguments):
        for kind in (kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING, kinds.ROLE, kinds.ROLE_BINDING, POLICY, POLICY_BINDING):
            if document["kind"] == kind.name:
                await api.apply(kind, document)


async def install_syncer_roles(api: Api) -> None:
    """Those of the syncer alone, and what it is held to. No bindings of roles: each test gives its users what they need."""
    documents = await render()
    for kind, count in ((kinds.CLUSTER_ROLE, 2), (POLICY, 5), (POLICY_BINDING, 5)):
        found = [item for item in documents if item["kind"] == kind.name and "nestor-syncer" in item["metadata"]["name"]]
        assert len(found) == count, kind.name
        for item in found:
            await api.apply(kind, item)


async def render(*arguments: str) -> list[dict[str, Any]]:
    """All its objects, with the values that have no default. `arguments`: of helm."""
    command = [str(apiserver.binary("helm")), "template", "nestor", str(CHART), "--namespace", "nestor-system"]
    process = await asyncio.create_subprocess_exec(
        *command, "--set", "image.repository=x", *arguments, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return [document for document in yaml.safe_load_all(output) if document]

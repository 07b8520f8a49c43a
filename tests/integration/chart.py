"""The chart as helm renders it."""

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
_OUTPUTS: dict[tuple[str, ...], tuple[int, str]] = {}


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


async def helm(*arguments: str) -> tuple[int, str]:
    """Exit code and output of `helm template` with these arguments; kept, because it takes a fifth of a second."""
    if arguments not in _OUTPUTS:
        command = [str(apiserver.binary("helm")), "template", "nestor", str(CHART), "--namespace", "nestor-system", *arguments]
        pipe, both = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=both)
        output, _ = await process.communicate()
        _OUTPUTS[arguments] = process.returncode or 0, output.decode()
    return _OUTPUTS[arguments]


async def render(*arguments: str) -> list[dict[str, Any]]:
    """All its objects, with the values that have no default. `arguments`: of helm."""
    code, output = await helm("--set", "image.repository=registry.test/nestor", *arguments)
    assert code == 0, output
    return [document for document in yaml.load_all(output, yaml.CSafeLoader) if document]

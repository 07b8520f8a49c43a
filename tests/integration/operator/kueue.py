"""Kueue itself, in the version of `devcluster/go/kueue`: its own definitions, and its controller with its webhooks."""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import yaml

from devcluster.build import components, gobuild
from nestor.api.objects import Object
from nestor.api.times import timestamp
from nestor.kube import Api, Kind, kinds
from tests import children
from tests.integration import apiserver
from tests.waiting import eventually, exists, has

VERSION, NAMESPACE = "v1beta1", "kueue-system"
WORKLOAD = replace(kinds.WORKLOAD, version=VERSION)
FLAVOR = replace(kinds.RESOURCE_FLAVOR, version=VERSION)
PRIORITY = replace(kinds.WORKLOAD_PRIORITY, version=VERSION)
CLUSTER_QUEUE = Kind(WORKLOAD.group, VERSION, "clusterqueues", "ClusterQueue", namespaced=False)
LOCAL_QUEUE = Kind(WORKLOAD.group, VERSION, "localqueues", "LocalQueue")
_WEBHOOKS = [
    replace(kinds.MUTATING_WEBHOOK, plural=f"{name.lower()}webhookconfigurations", name=f"{name}WebhookConfiguration")
    for name in ("Mutating", "Validating")
]
_INSTALLED = {
    kind.name: kind
    for kind in (
        kinds.CRD, kinds.SECRET, kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING, kinds.ROLE, kinds.ROLE_BINDING, *_WEBHOOKS,
    )
}  # fmt: skip
"""What is installed of its chart. Its controller is a process; its visibility server, of which nothing is asked, is off."""


def find_module() -> Path:
    """Kueue's source, downloaded if it is not there."""
    return gobuild.module_folder(components.QUEUES, components.KUEUE)


async def define(api: Api) -> None:
    """Have Kueue's kinds, without a controller."""
    for file in sorted((find_module() / "config/components/crd/bases").glob("*.yaml")):
        await _define(api, yaml.load(file.read_text(), yaml.CSafeLoader))


async def _define(api: Api, definition: Object) -> None:
    await api.apply(kinds.CRD, definition)
    await exists(api, kinds.CRD, definition["metadata"]["name"], "", has("Established", "True"))


@contextlib.asynccontextmanager
async def running(plane: apiserver.ControlPlane, api: Api) -> AsyncIterator[None]:
    """Kueue, installed from its chart, for the length of a `with` block."""
    webhooks, health = apiserver.free_ports(2)
    folder = plane.folder / "kueue"
    folder.mkdir()
    config = folder / "config.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "config.kueue.x-k8s.io/v1beta1",
                "kind": "Configuration",
                "namespace": NAMESPACE,
                "integrations": {"externalFrameworks": ["NestedAppJob.v1alpha1.nestor.dev"]},
                "webhook": {"host": "127.0.0.1", "port": webhooks, "certDir": str(folder)},
                "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
                "metrics": {"bindAddress": "0"},
                "leaderElection": {"leaderElect": False},
                "featureGates": {"VisibilityOnDemand": False},
            }
        )
    )
    await _install(api, config, webhooks)
    account = plane.kubeconfig_of(f"system:serviceaccount:{NAMESPACE}:kueue-controller-manager")
    with (folder / "log").open("wb") as log:
        command = (str(apiserver.binary("kueue")), f"--config={config}", "--zap-log-level=2")
        environment = os.environ | {"KUBECONFIG": str(account)}
        async with children.running(*command, env=environment, stdout=log, stderr=log) as process:
            # Its pod would have them as a volume.
            made = await exists(api, kinds.SECRET, "kueue-webhook-server-cert", NAMESPACE, lambda found: found.get("data"))
            for name, content in made["data"].items():
                (folder / name).write_bytes(base64.b64decode(content))

            async def is_ready() -> bool:
                assert process.returncode is None, (folder / "log").read_text()[-5000:]
                with contextlib.suppress(aiohttp.ClientError):
                    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{health}/readyz") as answer:
                        return answer.status == 200
                return False

            await eventually(is_ready)
            yield
            assert process.returncode is None, (folder / "log").read_text()[-5000:]


async def _install(api: Api, config: Path, port: int) -> None:
    """`port`: where its webhooks are on this machine."""
    await api.apply(kinds.NAMESPACE, {"metadata": {"name": NAMESPACE}})
    rendered = [
        str(apiserver.binary("helm")), "template", "kueue", str(find_module() / "charts/kueue"), "--namespace", NAMESPACE,
        "--set-file", f"managerConfig.controllerManagerConfigYaml={config}",
    ]  # fmt: skip
    code, output = await children.run(*rendered, limit=60)
    assert code == 0, output
    for document in filter(None, yaml.load_all(output, yaml.CSafeLoader)):
        for webhook in document.get("webhooks", ()):
            webhook["clientConfig"]["service"]["port"] = port
        if document["kind"] == kinds.CRD.name:
            await _define(api, document)
        elif kind := _INSTALLED.get(document["kind"]):
            await api.apply(kind, document)
    here = {"type": "ExternalName", "externalName": "localhost"}
    await api.apply(kinds.SERVICE, {"metadata": {"name": "kueue-webhook-service", "namespace": NAMESPACE}, "spec": here})


def say(kind: str, status: str, reason: str, message: str = "") -> Object:
    """A condition that Kueue sets."""
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": timestamp()}

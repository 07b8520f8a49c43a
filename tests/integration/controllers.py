"""Others' controllers, each a process beside a control plane: installed from its own chart, with its rights and its webhooks."""

import base64
import contextlib
import datetime
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from devcluster.build import components, gobuild
from devcluster.build.components import Component, required_version
from nestor.api.objects import Object
from nestor.cluster import certificates
from nestor.kube import Api, kinds
from tests import children
from tests.integration import apiserver
from tests.waiting import eventually, exists, has

_WEBHOOKS = [
    replace(kinds.MUTATING_WEBHOOK, plural=f"{name.lower()}webhookconfigurations", name=f"{name}WebhookConfiguration")
    for name in ("Mutating", "Validating")
]
_INSTALLED = {
    kind.name: kind
    for kind in (kinds.SECRET, kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING, kinds.ROLE, kinds.ROLE_BINDING, *_WEBHOOKS)
}
"""What is installed of a chart, besides definitions. The controller is a process."""


@dataclass(frozen=True)
class Controller:
    """Its namespace is `<name>-system`, where all of these look for themselves."""

    component: Component
    module: str
    """The Go module that has its chart, and gives it its version."""
    settings: Mapping[str, Any]
    """Of its configuration, besides where it listens."""
    certifies: bool = False
    """Whether it makes the certificate of its webhooks. Its pod would have that as a volume."""
    told: str = ""
    """The value of its chart that has its configuration, if that needs to know it."""

    @property
    def name(self) -> str:
        """Of the program and the chart."""
        return self.component.name

    @property
    def source(self) -> Path:
        """Its module, downloaded if it is not there."""
        return gobuild.module_folder(self.component, self.module)

    @property
    def version(self) -> str:
        """Such as `v0.10.1`."""
        return required_version((gobuild.MODULES / self.component.module / "go.mod").read_text(), self.module)

    @property
    def namespace(self) -> str:
        """Where its chart is installed."""
        return f"{self.name}-system"

    async def render(self, *arguments: str) -> list[Object]:
        """What its chart makes, its definitions first."""
        chart = [str(self.source / "charts" / self.name), "--namespace", self.namespace]
        command = [str(apiserver.binary("helm")), "template", self.name, *chart, "--include-crds", *arguments]
        code, output = await children.run(*command, limit=60)
        assert code == 0, output
        found = list(filter(None, yaml.load_all(output, yaml.CSafeLoader)))
        return sorted(found, key=lambda item: item["kind"] != kinds.CRD.name)

    @contextlib.asynccontextmanager
    async def running(self, plane: apiserver.ControlPlane, api: Api) -> AsyncIterator[None]:
        """It, installed, for the length of a `with` block."""
        webhooks, health = apiserver.free_ports(2)
        folder = plane.folder / self.name
        folder.mkdir()
        config, log = folder / "config.yaml", folder / "log"
        config.write_text(yaml.safe_dump({"kind": "Configuration", **self.settings, **self._listen(folder, webhooks, health)}))
        account = await self._install(api, config, webhooks, b"" if self.certifies else self._certify(folder))
        environment = os.environ | {"KUBECONFIG": str(plane.kubeconfig_of(account))}
        command = (str(apiserver.binary(self.name)), f"--config={config}", "--zap-log-level=2")
        with log.open("wb") as file:
            async with children.running(*command, env=environment, stdout=file, stderr=file) as process:

                async def is_ready() -> bool:
                    assert process.returncode is None, log.read_text()[-5000:]
                    with contextlib.suppress(aiohttp.ClientError):
                        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{health}/readyz") as answer:
                            return answer.status == 200
                    return False

                if self.certifies:
                    secret = f"{self.name}-webhook-server-cert"
                    made = await exists(api, kinds.SECRET, secret, self.namespace, lambda found: found.get("data"))
                    for name, content in made["data"].items():
                        (folder / name).write_bytes(base64.b64decode(content))
                await eventually(is_ready)
                assert self.version in log.read_text(), "it says so when it starts"
                print(f"{self.name} {self.version} runs")
                yield
                assert process.returncode is None, log.read_text()[-5000:]

    async def _install(self, api: Api, config: Path, port: int, authority: bytes) -> str:
        """The account that it has. `port`: where its webhooks are on this machine."""
        account = f"system:serviceaccount:{self.namespace}"
        await api.apply(kinds.NAMESPACE, {"metadata": {"name": self.namespace}})
        service = {"name": f"{self.name}-webhook-service", "namespace": self.namespace}
        here = {"type": "ExternalName", "externalName": "localhost"}
        await api.apply(kinds.SERVICE, {"metadata": service, "spec": here})
        for document in await self.render(*(["--set-file", f"{self.told}={config}"] if self.told else [])):
            for webhook in document.get("webhooks", ()):
                service = webhook["clientConfig"]["service"]
                service["port"] = port
                if authority:
                    url = f"https://127.0.0.1:{port}{service['path']}"
                    webhook["clientConfig"] = {"url": url, "caBundle": base64.b64encode(authority).decode()}
            if document["kind"] == kinds.CRD.name:
                await define(api, document)
            elif document["kind"] == kinds.SERVICE_ACCOUNT.name:
                account += f":{document['metadata']['name']}"
            elif kind := _INSTALLED.get(document["kind"]):
                await api.apply(kind, document)
        return account

    def _listen(self, folder: Path, webhooks: int, health: int) -> Object:
        return {
            "webhook": {"host": "127.0.0.1", "port": webhooks, "certDir": str(folder)},
            "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
            "metrics": {"bindAddress": "0"},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": self.certifies},
        }

    def _certify(self, folder: Path) -> bytes:
        """Write a certificate for its webhooks; the authority to trust."""
        now = datetime.datetime.now(datetime.UTC)
        authority = certificates.new_authority("webhooks", now)
        leaf = certificates.new_leaf(authority, "webhooks", now, hosts=["127.0.0.1"])
        (folder / "tls.crt").write_bytes(leaf.certificate)
        (folder / "tls.key").write_bytes(leaf.key)
        return authority.certificate


JOBSETS = Controller(components.SETS, components.JOBSET, {"apiVersion": "config.jobset.x-k8s.io/v1alpha1"})


async def define(api: Api, definition: Object) -> None:
    """Have a kind."""
    await api.apply(kinds.CRD, definition)
    await exists(api, kinds.CRD, definition["metadata"]["name"], "", has("Established", "True"))

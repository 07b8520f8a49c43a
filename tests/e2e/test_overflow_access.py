"""A backend that lets in nobody without certificate and token: both are in Secrets, and the token is replaced while it works."""

import base64
import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devcluster.cluster import PluginInfo
from nestor.api.objects import Object, status_of
from nestor.kube import Api, kinds
from tests.e2e import overflow
from tests.e2e.conftest import kubectl
from tests.e2e.overflow import SYSTEM, pod
from tests.waiting import wait_for

pytestmark = [pytest.mark.xdist_group("plugin"), pytest.mark.long]


@contextlib.asynccontextmanager
async def secret(api: Api, name: str, data: dict[str, bytes], kind: str = "Opaque") -> AsyncIterator[None]:
    """A Secret of the operator's namespace."""
    await api.apply(kinds.SECRET, build_secret(name, data) | {"type": kind})
    try:
        yield
    finally:
        await api.delete(kinds.SECRET, name, SYSTEM)


def build_secret(name: str, data: dict[str, bytes]) -> Object:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": SYSTEM}, "data": encoded}


async def run_there(api: Api, kubeconfig: Path, name: str, namespace: str, node: str) -> None:
    """Have a pod run to its end at the backend, and read its log."""
    tolerations = [{"key": "virtual-kubelet.io/provider", "operator": "Exists"}]
    there: Object = {"nodeSelector": {"kubernetes.io/hostname": node}, "tolerations": tolerations}
    made = json.loads(pod(name, f"echo {name}", automountServiceAccountToken=False, **there))
    made["metadata"]["namespace"] = namespace
    await api.create(kinds.POD, made)

    def has_ended(found: Object | None) -> bool:
        return status_of(found).get("phase") == "Succeeded"

    await wait_for(api, kinds.POD, name, namespace, has_ended)
    assert await kubectl(kubeconfig, "logs", "-n", namespace, name) == f"{name}\n"
    await kubectl(kubeconfig, "delete", "pod", "-n", namespace, name)


async def test_credentials_are_shown_and_replaced(api: Api, kubeconfig: Path, plugin: PluginInfo, namespace: str) -> None:
    name, files = f"overflow-{uuid.uuid4().hex[:6]}", {path.name: path.read_bytes() for path in plugin.pki.iterdir()}
    access = {
        "url": plugin.server_tls_url,
        "tokenRef": {"name": name, "key": "token"},
        "tls": {"caRef": {"name": name, "key": "ca.crt"}, "clientCertificateSecretName": f"{name}-client"},
        "statusPeriodSeconds": 1,
    }
    client = {"tls.crt": files["client.crt"], "tls.key": files["client.key"]}
    plugin.client.switch(auth="bearer", tokens=["first"])
    async with (
        secret(api, name, {"token": b"first", "ca.crt": files["ca.crt"]}),
        secret(api, f"{name}-client", client, "kubernetes.io/tls"),
        overflow.backend(api, name, overflow.interlink(plugin, interlink=access)),
    ):
        await run_there(api, kubeconfig, "before", namespace, name)
        await api.apply(kinds.SECRET, build_secret(name, {"token": b"second", "ca.crt": files["ca.crt"]}) | {"type": "Opaque"})
        plugin.client.switch(tokens=["second"])
        await run_there(api, kubeconfig, "after", namespace, name)

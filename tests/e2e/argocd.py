"""The real Argo CD in the embedded cluster, from its own manifest; a Git repository on the machine; and what tests ask of both.

The conftest makes the fixtures known. What stands in for Argo CD's images is said in `devcluster.build.argocd`.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
import yaml

from devcluster.build import argocd as builds
from devcluster.build import cache
from devcluster.cluster import settings
from devcluster.progress import Console
from nestor.api import labels
from nestor.api.objects import Object, status_of
from nestor.kube import Api, Kind, kinds
from tests.argocd_lua import FILE as CUSTOMIZATIONS
from tests.e2e import gitserver
from tests.e2e.conftest import IS_EMBEDDED, Cluster, kubectl, push_images
from tests.e2e.gitserver import Repository
from tests.waiting import wait_for

NAMESPACE = "argocd"
APPLICATION = Kind("argoproj.io", "v1alpha1", "applications", "Application")
APPLICATION_SET = Kind("argoproj.io", "v1alpha1", "applicationsets", "ApplicationSet")
PROJECT = Kind("argoproj.io", "v1alpha1", "appprojects", "AppProject")
LEFT_OUT = ("argocd-dex-server", "argocd-notifications-controller")
"""Deployments that no test needs."""
HERE = "https://kubernetes.default.svc"
FINALIZER = "resources-finalizer.argocd.argoproj.io"
PARTS = (
    "deployment/argocd-repo-server", "deployment/argocd-server", "deployment/argocd-redis",
    "deployment/argocd-applicationset-controller", "statefulset/argocd-application-controller",
)  # fmt: skip


@dataclass
class ArgoCD:
    """One Argo CD, by the host's API and its own."""

    api: Api
    session: aiohttp.ClientSession
    url: str

    async def until(self, name: str, *, health: str = "", sync: str = "") -> Object:
        """Await an Application in this state."""

        def is_so(found: Object | None) -> bool:
            status = status_of(found)
            seen = {key: (status.get(key) or {}).get("status") for key in ("health", "sync")}
            return all(seen[key] == wanted for key, wanted in (("health", health), ("sync", sync)) if wanted)

        return await self._wait(name, is_so)

    async def _wait(self, name: str, is_met: Callable[[Object | None], bool]) -> Object:
        found = await wait_for(self.api, APPLICATION, name, NAMESPACE, is_met)
        assert found is not None
        return found

    async def refresh(self, name: str) -> None:
        """Have Argo CD look at Git and at the cluster now, and await that it has."""
        annotations = {"argocd.argoproj.io/refresh": "hard"}
        await self.api.patch(APPLICATION, name, NAMESPACE, {"metadata": {"annotations": annotations}})

        def has_looked(found: Object | None) -> bool:
            return bool(found and "argocd.argoproj.io/refresh" not in (found["metadata"].get("annotations") or {}))

        await self._wait(name, has_looked)

    async def list_actions(self, application: str, kind: str, name: str, namespace: str) -> dict[str, bool]:
        """The actions that Argo CD offers for a resource, and whether each can be chosen."""
        query = _name_resource(kind, name, namespace)
        async with self.session.get(f"{self.url}/api/v1/applications/{application}/resource/actions", params=query) as answer:
            found = await answer.json()
            assert answer.status == 200, found
        return {item["name"]: not item.get("disabled", False) for item in found["actions"]}

    async def run_action(self, application: str, kind: str, name: str, namespace: str, action: str) -> None:
        """Choose an action, as its page does."""
        query = {**_name_resource(kind, name, namespace), "action": action}
        url = f"{self.url}/api/v1/applications/{application}/resource/actions/v2"
        async with self.session.post(url, json=query | {"name": application}) as answer:
            assert answer.status == 200, await answer.text()


def _name_resource(kind: str, name: str, namespace: str) -> dict[str, str]:
    return {"namespace": namespace, "resourceName": name, "version": "v1alpha1", "kind": kind, "group": "nestor.dev"}


def build_application(name: str, url: str, path: str, namespace: str, **spec: Any) -> Object:
    """An Application that follows a folder of a repository by itself."""
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "finalizers": [FINALIZER]},
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "path": path, "targetRevision": "main"},
            "destination": {"server": HERE, "namespace": namespace},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
            **spec,
        },
    }


def _push_images() -> None:
    push_images(builds.ensure_images(cache.default(), Console()))


def read_manifest() -> list[Object]:
    """Argo CD's own, without what no test needs, with Nestor's customizations, and without TLS of its own behind the Ingress."""
    found = [item for item in yaml.safe_load_all(builds.find_manifest().read_text()) if item]
    kept = [item for item in found if item["kind"] != "Deployment" or item["metadata"]["name"] not in LEFT_OUT]
    data = {
        "argocd-cm": yaml.safe_load(CUSTOMIZATIONS.read_text())["data"],
        "argocd-cmd-params-cm": {"server.insecure": "true", "controller.resource.health.persist": "true"},
    }
    for item in kept:
        if item["kind"] == "ConfigMap" and (more := data.get(item["metadata"]["name"])):
            item["data"] = (item.get("data") or {}) | more
    return kept


async def _install(api: Api, cluster: Cluster) -> None:
    meta = {"name": NAMESPACE, "labels": {labels.ARGOCD_CLUSTERS: "allowed"}}
    await api.apply(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    text = yaml.safe_dump_all(read_manifest())
    await kubectl(cluster.kubeconfig, "apply", "-n", NAMESPACE, "--server-side", "--force-conflicts", "-f", "-", stdin=text)
    backend = {"service": {"name": "argocd-server", "port": {"number": 80}}}
    rule = {"host": f"argocd.{cluster.domain}", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    spec = {"ingressClassName": settings.INGRESS_CLASS, "rules": [rule]}
    await api.apply(kinds.INGRESS, {"metadata": {"name": "argocd-server", "namespace": NAMESPACE}, "spec": spec})
    for part in PARTS:
        await kubectl(cluster.kubeconfig, "rollout", "status", "-n", NAMESPACE, part)


async def _log_in(api: Api, session: aiohttp.ClientSession, url: str) -> None:
    secret = await wait_for(api, kinds.SECRET, "argocd-initial-admin-secret", NAMESPACE, bool)
    assert secret is not None
    password = base64.b64decode(secret["data"]["password"]).decode()

    async with asyncio.timeout(30):
        while True:
            async with session.post(f"{url}/api/v1/session", json={"username": "admin", "password": password}) as answer:
                if answer.status == 200:
                    session.headers["Cookie"] = f"argocd.token={json.loads(await answer.text())['token']}"
                    return
            await asyncio.sleep(0.2)


@pytest.fixture(scope="session")
async def argocd(cluster: Cluster, api: Api) -> AsyncIterator[ArgoCD]:
    """Argo CD, installed once per run; it goes with the cluster."""
    if not IS_EMBEDDED:
        pytest.skip("images of Argo CD are built for the embedded cluster alone")
    await asyncio.to_thread(_push_images)
    await _install(api, cluster)
    headers = {"Host": f"argocd.{cluster.domain}"}
    # The Ingress controller closes idle connections when any Ingress changes; a request other than GET is not tried again.
    connector, timeout = aiohttp.TCPConnector(force_close=True), aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(headers=headers, connector=connector, timeout=timeout) as session:
        url = f"http://{cluster.address}:{cluster.http_port}"
        await _log_in(api, session, url)
        yield ArgoCD(api, session, url)


@pytest.fixture(scope="module")
async def repository(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Repository]:
    """A Git repository at the machine's end of the cluster's link."""
    async with gitserver.serving(tmp_path_factory.mktemp("preview"), settings.MACHINE_IP) as found:
        yield found


def dump(*documents: Object) -> str:
    """A file of a repository."""
    return yaml.safe_dump_all(documents)

"""Argo CD as a job: the AppDef tutorial's second example, its manifest as it is published, at the job's URL."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web as server
from aiohttp.test_utils import TestServer

from devcluster.build import argocd as builds
from devcluster.cluster import settings
from nestor.api import conditions
from nestor.kube import Api, kinds
from tests.e2e.argocd import ArgoCD
from tests.e2e.conftest import Web, apply, class_like_default, example, kubectl, nested_kubeconfig
from tests.waiting import job_with

pytestmark = [pytest.mark.xdist_group("argocd"), pytest.mark.long]

PATH = "/argoproj/argo-cd/stable/manifests/install.yaml"
INSECURE = '{"data": {"server.insecure": "true"}}'


@pytest.fixture
async def manifest_url(argocd: ArgoCD) -> AsyncIterator[str]:
    """Where the tests have what the tutorial's URL leads to."""
    path, application = builds.find_manifest(), server.Application()

    async def give(_: server.Request) -> server.FileResponse:
        return server.FileResponse(path)

    application.router.add_get(PATH, give)
    async with TestServer(application, host=settings.MACHINE_IP) as found:
        yield str(found.make_url(PATH))


async def test_the_manifest_as_published_answers_at_the_jobs_url(
    api: Api, namespace: str, web: Web, manifest_url: str, tmp_path: Path
) -> None:
    # The web server of the tests has a private address.
    async with class_like_default(api, "gitops", network={"privateRanges": []}) as class_name:
        (document,) = example("05-manifest-by-url", "argo-cd", namespace)
        document["spec"]["className"] = class_name
        command = document["spec"]["app"]["appDef"]["commands"]["Start"]["nested_kubernetes"]
        [step] = command["templates"]
        command["templates"] = [{"name": step["name"], "type": "kubectl", "format": "url", "path": manifest_url}]
        await apply(api, [document])
        job = await job_with(api, "argo-cd", namespace, conditions.READY, "True")
        inside = await nested_kubeconfig(api, job, tmp_path)
        host = job["status"]["url"].split("/")[2].split(":")[0]
        # Its server knows nothing of the TLS in front of it, and sends browsers to HTTPS, as Argo CD's own documentation says.
        redirect = await web.answer(f"http://{host}/api/version", status=307)
        assert redirect.headers["Location"].split("/")[2].split(":")[0] == host
        await kubectl(inside, "patch", "configmap", "argocd-cmd-params-cm", "--type=merge", "-p", INSECURE)
        await kubectl(inside, "rollout", "restart", "deployment", "argocd-server")
        await kubectl(inside, "rollout", "status", "deployment", "argocd-server", "--timeout=90s", limit=120)
        # For a moment, the pod from before may be asked, which sends away to where nobody listens.
        answer = await web.answer(f"http://{host}/api/version", status=200, follow=False)
        assert json.loads(answer.text)["Version"].partition("+")[0] == builds.version()
        await api.delete(kinds.NESTED_APP_JOB, "argo-cd", namespace)

"""Argo CD as a job: the AppDef tutorial's second example, its manifest as it is published, at the job's URL."""

import base64
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
from tests.e2e.argocd import ArgoCD, dump
from tests.e2e.conftest import Web, apply, class_like_default, example, kubectl, nested_kubeconfig
from tests.e2e.gitserver import Repository
from tests.waiting import job_with

pytestmark = [pytest.mark.xdist_group("argocd"), pytest.mark.long]

PATH = "/argoproj/argo-cd/stable/manifests/install.yaml"
EXAMPLE_APPS = "https://github.com/argoproj/argocd-example-apps.git"
PAGE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}, "data": {"by": "git"}}


@pytest.fixture
async def manifest_url(argocd: ArgoCD) -> AsyncIterator[str]:
    """Where the tests have what the tutorial's URL leads to."""
    path, application = builds.find_manifest(), server.Application()

    async def give(_: server.Request) -> server.FileResponse:
        return server.FileResponse(path)

    application.router.add_get(PATH, give)
    async with TestServer(application, host=settings.MACHINE_IP) as found:
        yield str(found.make_url(PATH))


async def test_the_manifest_as_published_answers_at_the_jobs_url_and_deploys(
    api: Api, namespace: str, web: Web, manifest_url: str, repository: Repository, tmp_path: Path
) -> None:
    await repository.commit({"guestbook/page.yaml": dump(PAGE)})
    # The web servers of the tests have private addresses.
    async with class_like_default(api, "gitops", network={"privateRanges": []}) as class_name:
        (document,) = example("05-manifest-by-url", "argo-cd", namespace)
        document["spec"]["className"] = class_name
        _, manifest, deploy = document["spec"]["app"]["appDef"]["commands"]["Start"]["nested_kubernetes"]["templates"]
        manifest["path"] = manifest_url
        script = base64.b64decode(deploy["cmd"]).decode()
        assert EXAMPLE_APPS in script
        deploy["cmd"] = base64.b64encode(script.replace(EXAMPLE_APPS, f"{repository.url}/tests/preview.git").encode()).decode()
        await apply(api, [document])
        job = await job_with(api, "argo-cd", namespace, conditions.READY, "True")
        # It speaks HTTPS itself, as its Service's port says.
        answer = await web.answer(f"{job['status']['url']}api/version", status=200, follow=False)
        assert json.loads(answer.text)["Version"].partition("+")[0] == builds.version()
        inside = await nested_kubeconfig(api, job, tmp_path)
        await kubectl(inside, "wait", "--for=create", "configmap/page", "-n", "default")
        await api.delete(kinds.NESTED_APP_JOB, "argo-cd", namespace)

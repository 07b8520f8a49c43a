"""A preview per pull request, as the example has it: a job that comes, changes and goes with it, and nothing else."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from nestor.api import conditions, labels
from nestor.api.objects import Object, status_of
from nestor.kube import Api, kinds
from tests.e2e.argocd import APPLICATION, APPLICATION_SET, HERE, NAMESPACE, PROJECT, ArgoCD, build_application, dump
from tests.e2e.conftest import ROOT, Web, kubectl
from tests.e2e.gitserver import Repository
from tests.waiting import gone, job_with, wait_for, wait_for_none

pytestmark = [pytest.mark.xdist_group("argocd"), pytest.mark.long]

EXAMPLE = ROOT / "examples" / "18-preview-per-pull-request"
JOB = "preview/templates/preview.yaml"
CHART = {
    f"preview/{path.relative_to(EXAMPLE / 'preview')}": path.read_text()
    for path in sorted((EXAMPLE / "preview").rglob("*"))
    if path.is_file()
}


@pytest.fixture(scope="module")
async def charted(repository: Repository) -> Repository:
    """A repository whose main branch has the example's chart."""
    await repository.commit(CHART)
    return repository


def read_example(name: str) -> Object:
    """One of the files that an admin applies."""
    found: Object = yaml.safe_load((EXAMPLE / "argocd" / name).read_text())
    return found


def build_project(repository: Repository, namespace: str) -> Object:
    """The example's, for the test's repository and namespace."""
    spec = read_example("project.yaml")["spec"]
    own = {"sourceRepos": [f"{repository.url}/tests/preview.git"], "destinations": [{"server": HERE, "namespace": namespace}]}
    return {"metadata": {"name": namespace, "namespace": NAMESPACE}, "spec": spec | own}


def build_set(repository: Repository, namespace: str) -> Object:
    """The example's, for the repository and the pull requests that the test serves."""
    found = read_example("applicationset.yaml")
    [generator] = found["spec"]["generators"]
    pulls = generator["pullRequest"]
    pulls["github"] = {"owner": "tests", "repo": "preview", "api": f"{repository.url}/", "labels": pulls["github"]["labels"]}
    pulls["requeueAfterSeconds"] = 2
    spec = found["spec"]["template"]["spec"]
    spec["project"] = namespace
    spec["source"]["repoURL"] = f"{repository.url}/tests/preview.git"
    spec["destination"]["namespace"] = namespace
    return {"metadata": {"name": namespace, "namespace": NAMESPACE}, "spec": found["spec"]}


def is_up_to_date(found: Object | None) -> bool:
    """Whether Argo CD has made the set's Applications."""
    told = {item["type"]: item["status"] for item in status_of(found).get("conditions") or ()}
    return told.get("ResourcesUpToDate") == "True"


@contextlib.asynccontextmanager
async def previewing(
    api: Api, repository: Repository, namespace: str, kubeconfig: Path, *applications: str
) -> AsyncIterator[None]:
    """The example's project and set at work. Awaits in the end that these Applications are gone."""
    await api.apply(PROJECT, build_project(repository, namespace))
    await api.apply(APPLICATION_SET, build_set(repository, namespace))
    try:
        await wait_for(api, APPLICATION_SET, namespace, NAMESPACE, is_up_to_date)
        yield
    finally:
        # What it has to say is shown if the test fails.
        print(await kubectl(kubeconfig, "-n", NAMESPACE, "logs", "deployment/argocd-applicationset-controller", "--tail=50"))
        repository.pulls.clear()
        await api.delete(APPLICATION_SET, namespace, NAMESPACE)
        for name in applications:
            await gone(api, APPLICATION, name, NAMESPACE)
        await api.delete(PROJECT, namespace, NAMESPACE)  # last: without it, Argo CD deletes nothing


async def test_each_open_pull_request_has_a_preview_that_follows_it(
    api: Api, argocd: ArgoCD, charted: Repository, namespace: str, web: Web, kubeconfig: Path
) -> None:
    first = await charted.commit({"news.txt": "one"}, "feature", "main")
    charted.open_pull(12, "feature", first, "preview")
    charted.open_pull(13, "other", first)
    async with previewing(api, charted, namespace, kubeconfig, "preview-12"):
        await argocd.until("preview-12", health="Healthy", sync="Synced")
        job = await job_with(api, "pr-12", namespace, conditions.READY, "True")
        assert f"Preview of commit {first[:7]}" in await web.page(job["status"]["url"])
        assert await api.find(kinds.NESTED_APP_JOB, "pr-13", namespace) is None

        second = await charted.commit({"news.txt": "two"}, "feature", "feature")
        charted.open_pull(12, "feature", second, "preview")

        await web.page(job["status"]["url"], has=f"Preview of commit {second[:7]}")
        assert (await api.get(kinds.NESTED_APP_JOB, "pr-12", namespace))["metadata"]["uid"] == job["metadata"]["uid"]

        charted.close_pull(12)
        await gone(api, APPLICATION, "preview-12", NAMESPACE)
        assert await api.find(kinds.NESTED_APP_JOB, "pr-12", namespace) is None
        await wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_uid=job["metadata"]["uid"]))


async def test_a_pull_request_makes_nobody_an_admin_and_chooses_no_class(
    api: Api, argocd: ArgoCD, charted: Repository, namespace: str, kubeconfig: Path
) -> None:
    stolen = f"stolen-{namespace}"
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": stolen},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    other = CHART[JOB].replace("\nspec:\n", "\nspec:\n  className: another\n", 1)
    assert other != CHART[JOB]
    head = await charted.commit({"preview/templates/binding.yaml": dump(binding), JOB: other}, "hostile", "main")
    charted.open_pull(14, "hostile", head, "preview")
    async with previewing(api, charted, namespace, kubeconfig, "preview-14"):
        # The chart is the main branch's, so the preview is one like any other.
        application = await argocd.until("preview-14", health="Healthy", sync="Synced")
        assert [item["kind"] for item in application["status"]["resources"]] == ["NestedAppJob"]
        job = await api.get(kinds.NESTED_APP_JOB, "pr-14", namespace)
        assert "className" not in job["spec"]
        assert await api.find(kinds.CLUSTER_ROLE_BINDING, stolen) is None
        await _try_as_before(api, charted, namespace, stolen)


async def _try_as_before(api: Api, repository: Repository, namespace: str, stolen: str) -> None:
    """An Application that does follow the pull request's own commit: the project refuses all of it."""
    url, name = f"{repository.url}/tests/preview.git", f"follows-{namespace}"
    helm = {"parameters": [{"name": "number", "value": "15", "forceString": True}]}
    source = {"repoURL": url, "path": "preview", "targetRevision": "hostile", "helm": helm}
    # Argo CD deletes nothing while it tries again, for minutes.
    policy = {"automated": {"prune": True, "selfHeal": True}, "retry": {"limit": 0}}
    await api.apply(
        APPLICATION, build_application(name, url, "preview", namespace, project=namespace, source=source, syncPolicy=policy)
    )
    try:

        def is_refused(found: Object | None) -> bool:
            status = status_of(found)
            said = json.dumps(status.get("operationState") or {})
            is_told = f"rbac.authorization.k8s.io:ClusterRoleBinding is not permitted in project {namespace}" in said
            return is_told and status["sync"]["status"] == "OutOfSync"

        await wait_for(api, APPLICATION, name, NAMESPACE, is_refused)
        assert await api.find(kinds.CLUSTER_ROLE_BINDING, stolen) is None
        assert await api.find(kinds.NESTED_APP_JOB, "pr-15", namespace) is None
    finally:
        await api.delete(APPLICATION, name, NAMESPACE)
        await gone(api, APPLICATION, name, NAMESPACE)

"""A preview per pull request, as the example has it: a job that comes, changes and goes with its pull request."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from nestor.objects import Object, status_of
from tests.e2e.argocd import APPLICATION, APPLICATION_SET, NAMESPACE, ArgoCD
from tests.e2e.conftest import ROOT, Web, kubectl
from tests.e2e.gitserver import Repository
from tests.waiting import eventually, job_with, wait_for, wait_for_none

pytestmark = [pytest.mark.xdist_group("argocd"), pytest.mark.long]

EXAMPLE = ROOT / "examples" / "18-preview-per-pull-request"
CHART = {
    f"preview/{path.relative_to(EXAMPLE / 'preview')}": path.read_text()
    for path in sorted((EXAMPLE / "preview").rglob("*"))
    if path.is_file()
}


def build_set(repository: Repository, namespace: str) -> Object:
    """The example's, for the repository and the pull requests that the test serves."""
    found: Object = yaml.safe_load((EXAMPLE / "argocd" / "applicationset.yaml").read_text())
    [generator] = found["spec"]["generators"]
    pulls = generator["pullRequest"]
    pulls["github"] = {"owner": "tests", "repo": "preview", "api": f"{repository.url}/", "labels": pulls["github"]["labels"]}
    pulls["requeueAfterSeconds"] = 2
    spec = found["spec"]["template"]["spec"]
    spec["source"]["repoURL"] = f"{repository.url}/tests/preview.git"
    spec["destination"]["namespace"] = namespace
    return {"metadata": {"name": namespace, "namespace": NAMESPACE}, "spec": found["spec"]}


def is_up_to_date(found: Object | None) -> bool:
    """Whether Argo CD has made the set's Applications."""
    told = {item["type"]: item["status"] for item in status_of(found).get("conditions") or ()}
    return told.get("ResourcesUpToDate") == "True"


async def test_each_open_pull_request_has_a_preview_that_follows_it(
    api: Api, argocd: ArgoCD, repository: Repository, namespace: str, web: Web, kubeconfig: Path
) -> None:
    await repository.commit(CHART)
    first = await repository.commit({"news.txt": "one"}, "feature")
    repository.open_pull(12, "feature", first, "preview")
    repository.open_pull(13, "other", first)
    await api.apply(APPLICATION_SET, build_set(repository, namespace))
    try:
        await wait_for(api, APPLICATION_SET, namespace, NAMESPACE, is_up_to_date)
        await argocd.until("preview-12", health="Healthy", sync="Synced")
        job = await job_with(api, "pr-12", namespace, conditions.READY, "True")
        assert f"Preview of commit {first[:7]}" in await web.page(job["status"]["url"])
        assert await api.find(kinds.NESTED_APP_JOB, "pr-13", namespace) is None

        second = await repository.commit({"news.txt": "two"}, "feature")
        repository.open_pull(12, "feature", second, "preview")

        async def has_followed() -> bool:
            return f"Preview of commit {second[:7]}" in await web.page(job["status"]["url"])

        await eventually(has_followed, limit=60)
        assert (await api.get(kinds.NESTED_APP_JOB, "pr-12", namespace))["metadata"]["uid"] == job["metadata"]["uid"]

        repository.close_pull(12)
        await wait_for(api, APPLICATION, "preview-12", NAMESPACE, lambda found: found is None, limit=90)
        assert await api.find(kinds.NESTED_APP_JOB, "pr-12", namespace) is None
        await wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_uid=job["metadata"]["uid"]))
    finally:
        # What it has to say is shown if the test fails.
        print(await kubectl(kubeconfig, "-n", NAMESPACE, "logs", "deployment/argocd-applicationset-controller", "--tail=50"))
        await api.delete(APPLICATION_SET, namespace, NAMESPACE)
        await wait_for(api, APPLICATION, "preview-12", NAMESPACE, lambda found: found is None, limit=90)

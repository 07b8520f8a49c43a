"""The nested clusters of jobs as clusters of the host's Argo CD: an ApplicationSet installs into every one of them."""

import asyncio
from pathlib import Path

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object, labels_of, spec_of
from nestor.kube import Api, kinds
from tests.e2e.argocd import APPLICATION, APPLICATION_SET, NAMESPACE, ArgoCD, dump
from tests.e2e.conftest import (
    NOTHING,
    apply,
    class_like_default,
    inline_job,
    kubectl,
    kubectl_says,
    nested_kubeconfig,
    try_kubectl,
    workload,
)
from tests.e2e.gitserver import Repository
from tests.waiting import gone, job_with, wait_for_none

pytestmark = [pytest.mark.xdist_group("argocd"), pytest.mark.long]

GREETING = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "greeting"}, "data": {"by": "Argo CD"}}


def build_set(name: str, class_name: str, url: str) -> Object:
    """Installs the folder `tools` into the cluster of every job of a class."""
    generator = {"clusters": {"selector": {"matchLabels": {labels.CLASS: class_name}}}}
    template = {
        "metadata": {"name": "tools-{{.name}}"},
        "spec": {
            "project": "default",
            "source": {"repoURL": f"{url}/tests/preview.git", "path": "tools", "targetRevision": "main"},
            "destination": {"server": "{{.server}}", "namespace": "default"},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
        },
    }
    spec = {"goTemplate": True, "generators": [generator], "template": template}
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


async def list_clusters(api: Api, class_name: str) -> list[str]:
    """The jobs of a class whose clusters Argo CD knows."""
    found = await api.list(kinds.SECRET, NAMESPACE, labels=f"argocd.argoproj.io/secret-type=cluster,{labels.CLASS}={class_name}")
    return sorted(labels_of(item)[labels.JOB] for item in found)


async def test_an_application_set_installs_into_the_cluster_of_every_job_of_the_class(
    api: Api, argocd: ArgoCD, repository: Repository, namespace: str, tmp_path: Path
) -> None:
    await repository.commit({"tools/greeting.yaml": dump(GREETING), "tools/tool.yaml": dump(workload("Deployment", "tool"))})
    async with class_like_default(api, "gitops", argoCD={"namespace": NAMESPACE, "project": "default"}) as class_name:
        await api.apply(APPLICATION_SET, build_set(class_name, class_name, repository.url))
        try:
            for name in ("one", "two"):
                documents = inline_job(name, namespace, {"nothing.yaml": NOTHING})
                documents[-1]["spec"]["className"] = class_name
                await apply(api, documents)

            async def install(name: str) -> Path:
                application = await argocd.until(f"tools-{namespace}.{name}", health="Healthy", sync="Synced")
                assert spec_of(application)["destination"]["server"].startswith(f"https://{name}-k3s.nestor-")
                job = await job_with(api, name, namespace, conditions.READY, "True")
                inside = await nested_kubeconfig(api, job, tmp_path)
                assert await kubectl(inside, "get", "configmap", "greeting", "-o", "jsonpath={.data.by}") == "Argo CD"
                assert await kubectl(inside, "get", "deployment", "tool", "-o", "jsonpath={.status.readyReplicas}") == "1"
                return inside

            inside, _ = await asyncio.gather(install("one"), install("two"))
            assert await list_clusters(api, class_name) == ["one", "two"]

            # Argo CD keeps it as Git has it, with rights that end at the namespace.
            await kubectl(inside, "patch", "configmap", "greeting", "--type=merge", "-p", '{"data": {"by": "the tenant"}}')
            await kubectl_says(inside, "get", "configmap", "greeting", "-o", "jsonpath={.data.by}", text="Argo CD")
            can = ("auth", "can-i", "--as=nestor:argocd")
            assert (await try_kubectl(inside, *can, "create", "deployments", "-n", "default"))[1].strip() == "yes"
            assert (await try_kubectl(inside, *can, "list", "secrets", "-n", "kube-system"))[1].strip() == "no"

            await api.delete(kinds.NESTED_APP_JOB, "two", namespace)
            await gone(api, APPLICATION, f"tools-{namespace}.two", NAMESPACE)
            await gone(api, kinds.NESTED_APP_JOB, "two", namespace)
            assert await list_clusters(api, class_name) == ["one"]
        finally:
            await api.delete(APPLICATION_SET, class_name, NAMESPACE)
            for name in ("one", "two"):
                await gone(api, APPLICATION, f"tools-{namespace}.{name}", NAMESPACE)
            for name in ("one", "two"):
                await api.delete(kinds.NESTED_APP_JOB, name, namespace)
            await wait_for_none(api, kinds.NESTED_APP_JOB, namespace)

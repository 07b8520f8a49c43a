"""A class, an application and jobs by GitOps: the real Argo CD applies, watches, heals and prunes them."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object, annotations_of, status_of
from nestor.kube import Api, kinds
from tests.e2e.argocd import APPLICATION, NAMESPACE, ArgoCD, build_application, dump
from tests.e2e.conftest import fresh_namespace
from tests.e2e.gitserver import Repository
from tests.waiting import gone, job_with, wait_for, wait_for_none

pytestmark = [pytest.mark.xdist_group("argocd"), pytest.mark.long]

SCRIPT = """#!/bin/sh
kubectl create configmap run-$(date +%s%N)
exit $CODE
"""


@dataclass
class Shop:
    """An Application of one class, one application of the catalog and one job."""

    argo: ArgoCD
    repository: Repository
    name: str
    namespace: str

    @property
    def api(self) -> Api:
        """The host's."""
        return self.argo.api

    def build_files(self, policy: Object, **job: Any) -> dict[str, str | None]:
        """What is in Git."""
        first = {"annotations": {"argocd.argoproj.io/sync-wave": "-1"}}
        version = "nestor.dev/v1alpha1"
        steps = [{"name": "work", "type": "custom", "cmd": base64.b64encode(SCRIPT.encode()).decode()}]
        code = {"name": "Exit code", "type": "RANGE", "min": 0, "max": 9, "step": 1, "value": 0, "variable": True}
        command = {
            "path": "/usr/bin/true",
            "name": "Run",
            "parameters": {"CODE": code},
            "nested_kubernetes": {"templates": steps},
        }
        app_def = {"name": "Shop", "appdefversion": 2, "appkind": "kns", "commands": {"Run": command}}
        spec = {"appRef": {"name": self.name}, "className": self.name} | job
        return {
            "shop/class.yaml": dump(
                {"apiVersion": version, "kind": "NestedClass", "metadata": {"name": self.name} | first, "spec": policy}
            ),
            "shop/app.yaml": dump(
                {"apiVersion": version, "kind": "NestedApp", "metadata": {"name": self.name} | first, "spec": {"appDef": app_def}}
            ),
            "shop/job.yaml": dump({"apiVersion": version, "kind": "NestedAppJob", "metadata": {"name": "shop"}, "spec": spec}),
        }

    async def push(self, **job: Any) -> None:
        """Have the job in Git like this, and tell Argo CD, as a webhook would."""
        policy = (await self.api.get(kinds.NESTED_CLASS, "default"))["spec"]
        await self.repository.commit(self.build_files(policy, **job))
        await self.argo.refresh(self.name)

    async def job(self) -> Object:
        """The job as it is."""
        return await self.api.get(kinds.NESTED_APP_JOB, "shop", self.namespace)

    async def act(self, action: str) -> None:
        """Choose an action of the job."""
        await self.argo.run_action(self.name, "NestedAppJob", "shop", self.namespace, action)

    async def until(self, health: str, *, sync: str = "Synced") -> Object:
        """Await the Application in this state."""
        return await self.argo.until(self.name, health=health, sync=sync)


@pytest.fixture(scope="module")
async def shop(argocd: ArgoCD, repository: Repository, api: Api, used_namespaces: list[str]) -> AsyncIterator[Shop]:
    """An Application that has just been made. The tests of this file go on with it one after the other."""
    async with fresh_namespace(api, used_namespaces) as namespace:
        made = Shop(argocd, repository, namespace.replace("team", "shop"), namespace)
        policy = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
        await repository.commit(made.build_files(policy))
        await api.apply(APPLICATION, build_application(made.name, f"{repository.url}/tests/preview.git", "shop", namespace))
        yield made
        await api.delete(APPLICATION, made.name, NAMESPACE)
        await gone(api, APPLICATION, made.name, NAMESPACE)


async def test_it_is_progressing_until_the_job_is_ready_and_then_without_a_difference(shop: Shop) -> None:
    await shop.until("Progressing")
    assert not conditions.is_true(status_of(await shop.job()).get("conditions"), conditions.READY)
    await shop.until("Healthy")
    assert conditions.is_true(status_of(await shop.job()).get("conditions"), conditions.READY)
    await shop.argo.refresh(shop.name)
    await shop.until("Healthy")
    # The same by the API server's own verdict, which fills in defaults.
    compare = {"metadata": {"annotations": {"argocd.argoproj.io/compare-options": "ServerSideDiff=true"}}}
    await shop.api.patch(APPLICATION, shop.name, NAMESPACE, compare)
    await shop.argo.refresh(shop.name)
    application = await shop.until("Healthy")
    found = {
        item["kind"]: (item["status"], item["health"]["status"])
        for item in application["status"]["resources"]
        if "health" in item
    }
    assert found == {"NestedAppJob": ("Synced", "Healthy"), "NestedApp": ("Synced", "Healthy")}
    assert {item["status"] for item in application["status"]["resources"]} == {"Synced"}
    assert {item["kind"] for item in application["status"]["resources"]} == {"NestedAppJob", "NestedApp", "NestedClass"}


async def test_a_failed_step_is_degraded_until_git_has_another_one(shop: Shop) -> None:
    await shop.push(parameters={"CODE": 3})
    application = await shop.until("Degraded")
    [job] = [item for item in application["status"]["resources"] if item["kind"] == "NestedAppJob"]
    assert "step 1 of 1 'work' failed" in job["health"]["message"] or "step 'work' failed" in job["health"]["message"]
    await shop.push(parameters={"CODE": 0})
    await shop.until("Healthy")


async def test_a_change_by_hand_is_taken_back(shop: Shop) -> None:
    uid = (await shop.job())["metadata"]["uid"]
    await shop.api.patch(kinds.NESTED_APP_JOB, "shop", shop.namespace, {"spec": {"parameters": {"CODE": 5}}})

    def is_healed(found: Object | None) -> bool:
        return bool(found and found["spec"]["parameters"] == {"CODE": 0})

    await wait_for(shop.api, kinds.NESTED_APP_JOB, "shop", shop.namespace, is_healed)
    await shop.until("Healthy")
    await shop.api.delete(kinds.NESTED_APP_JOB, "shop", shop.namespace)

    def is_another(found: Object | None) -> bool:
        return bool(found and found["metadata"]["uid"] != uid)

    await wait_for(shop.api, kinds.NESTED_APP_JOB, "shop", shop.namespace, is_another)
    await shop.until("Healthy")


async def test_a_job_is_suspended_resumed_and_run_again_by_argo_cds_actions(shop: Shop) -> None:
    offered = await shop.argo.list_actions(shop.name, "NestedAppJob", "shop", shop.namespace)
    assert offered == {"suspend": True, "resume": False, "rerun": True}
    await shop.act("suspend")
    await shop.until("Suspended")
    assert (await shop.job())["spec"]["suspend"] is True
    # Git does not say whether it is suspended: that is no difference, and nothing to heal.
    await shop.argo.refresh(shop.name)
    await shop.until("Suspended")
    await shop.act("resume")
    await shop.until("Healthy")
    before = annotations_of(await shop.job()).get(labels.RERUN)
    await shop.act("rerun")

    def has_run(found: Object | None) -> bool:
        wanted = annotations_of(found).get(labels.RERUN)
        return wanted != before and status_of(found).get("rerun") == wanted

    await wait_for(shop.api, kinds.NESTED_APP_JOB, "shop", shop.namespace, has_run)
    await job_with(shop.api, "shop", shop.namespace, conditions.READY, "True")
    await shop.until("Healthy")


async def test_what_git_no_longer_has_is_pruned_to_nothing(shop: Shop) -> None:
    uid = (await shop.job())["metadata"]["uid"]
    await shop.repository.commit(dict.fromkeys(("shop/job.yaml", "shop/app.yaml")))
    await shop.argo.refresh(shop.name)
    await gone(shop.api, kinds.NESTED_APP_JOB, "shop", shop.namespace)
    await wait_for_none(shop.api, kinds.NAMESPACE, "", labels=labels.selector(job_uid=uid))
    await gone(shop.api, kinds.NESTED_APP, shop.name, "")
    application = await shop.until("Healthy")
    assert [item["kind"] for item in application["status"]["resources"]] == ["NestedClass"]

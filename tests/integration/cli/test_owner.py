"""Who made a job is on it, and true: the chart's policy, in a real API server."""

import uuid
from collections.abc import AsyncIterator

import pytest

from nestor.api import labels
from nestor.kube import Api, ApiError, Forbidden, kinds
from tests.integration import apiserver, chart
from tests.integration.cli.conftest import JOBS, ROLE, Object, create, grant
from tests.waiting import eventually

NAME = "nestor-owner"


@pytest.fixture
async def jane(host: Api, control_plane: apiserver.ControlPlane, namespace: str) -> AsyncIterator[Api]:
    """A user who may write jobs, while the policy is in force."""
    for document in await chart.render():
        for kind in (chart.POLICY, chart.POLICY_BINDING):
            if document["kind"] == kind.name and document["metadata"]["name"] == NAME:
                await host.apply(kind, document)
    user = f"jane-{uuid.uuid4().hex[:6]}"
    await grant(host, user, namespace, JOBS)
    async with await Api.connect(str(control_plane.kubeconfig_of(user)), manager="tests") as api:
        await eventually(lambda: refuses(api, namespace))
        yield api
    await host.delete(chart.POLICY_BINDING, NAME)
    await host.delete(chart.POLICY, NAME)


async def refuses(api: Api, namespace: str) -> bool:
    """Whether the policy is in force: API servers notice it a moment late."""
    try:
        await api.delete(kinds.NESTED_APP_JOB, (await make(api, namespace, "somebody else"))["metadata"]["name"], namespace)
    except ApiError as error:
        return isinstance(error, Forbidden) and "created-by" in error.message
    return False


async def make(api: Api, namespace: str, owner: str) -> Object:
    body = {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedAppJob"}
    meta = {"name": f"job-{uuid.uuid4().hex[:6]}", "namespace": namespace, "annotations": {labels.CREATED_BY: owner}}
    return await api.create(kinds.NESTED_APP_JOB, body | {"metadata": meta, "spec": {"app": {"image": "registry.test/shop:1"}}})


async def test_nobody_makes_a_job_in_the_name_of_somebody_else(jane: Api, host: Api, namespace: str) -> None:
    with pytest.raises(Forbidden, match="must be 'jane-"):
        await make(jane, namespace, "john")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    me = (await jane.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", None, review))["status"]["userInfo"][
        "username"
    ]
    job = await make(jane, namespace, me)
    # Whoever may impersonate others, as backups do, restores what they made.
    assert (await make(host, namespace, "john"))["metadata"]["annotations"][labels.CREATED_BY] == "john"
    for owner in ("john", "", None):
        patch = {"metadata": {"annotations": {labels.CREATED_BY: owner}}}
        with pytest.raises(Forbidden, match=f"must be '{me}'"):
            await jane.patch(kinds.NESTED_APP_JOB, job["metadata"]["name"], namespace, patch)
    await jane.patch(kinds.NESTED_APP_JOB, job["metadata"]["name"], namespace, {"spec": {"suspend": True}})


async def test_a_job_of_nobody_stays_so(jane: Api, host: Api, namespace: str) -> None:
    await create(host, namespace)
    with pytest.raises(Forbidden, match="must be ''"):
        await jane.patch(kinds.NESTED_APP_JOB, "shop", namespace, {"metadata": {"annotations": {labels.CREATED_BY: "john"}}})
    await jane.patch(kinds.NESTED_APP_JOB, "shop", namespace, {"spec": {"suspend": True}})


async def test_who_may_impersonate_a_user_may_say_so(
    jane: Api, host: Api, control_plane: apiserver.ControlPlane, namespace: str
) -> None:
    user = f"backup-{uuid.uuid4().hex[:6]}"
    await grant(host, user, namespace, JOBS)
    rules = [{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["john"]}]
    await host.apply(kinds.CLUSTER_ROLE, {"metadata": {"name": user}, "rules": rules})
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": ROLE.group, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": ROLE.group, "kind": "User", "name": user}],
    }
    await host.apply(kinds.CLUSTER_ROLE_BINDING, binding)
    async with await Api.connect(str(control_plane.kubeconfig_of(user)), manager="tests") as backup:
        await eventually(lambda: may(backup, namespace, "john"))
        assert not await may(backup, namespace, "joan")
    await host.delete(kinds.CLUSTER_ROLE_BINDING, user)
    await host.delete(kinds.CLUSTER_ROLE, user)


async def may(api: Api, namespace: str, owner: str) -> bool:
    try:
        await make(api, namespace, owner)
    except Forbidden:
        return False
    return True

"""Whoever may create and label namespaces gets nothing of a job, and loses none of his own."""

from __future__ import annotations

from nestor.api import conditions, labels, names
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.world import Object, build_job
from tests.refusals import until_refused
from tests.waiting import exists, gone, job_with, wait_for


async def make_namespace(api: Api, name: str, own: dict[str, str]) -> Object:
    """A namespace of a tenant."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": own}}
    return await api.create(kinds.NAMESPACE, body)


async def recorded(api: Api, name: str, namespace: str, where: str, *, other_than: Object) -> Object:
    """Await that a job has its own namespace `where`, and not that one, in its status. Returns the namespace."""

    def is_another(found: Object | None) -> bool:
        return bool(found and found["metadata"]["uid"] != other_than["metadata"]["uid"])

    made = await wait_for(api, kinds.NAMESPACE, where, "", is_another)
    assert made is not None

    def is_recorded(found: Object | None) -> bool:
        return bool(found and found.get("status", {}).get("namespaceUID") == made["metadata"]["uid"])

    await wait_for(api, kinds.NESTED_APP_JOB, name, namespace, is_recorded)
    return made


async def test_a_namespace_made_beforehand_under_a_jobs_name_is_not_adopted(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("early", namespace, suspend=True))
    await job_with(api, "early", namespace, conditions.ADMITTED, "True")
    uid = job["metadata"]["uid"]
    where = names.job_namespace("early", namespace, uid)
    trap = await make_namespace(api, where, labels.of_job("early", namespace, uid))
    await api.patch(kinds.NESTED_APP_JOB, "early", namespace, {"spec": {"suspend": False}})
    await recorded(api, "early", namespace, where, other_than=trap)
    await exists(api, kinds.SECRET, "early-pki", where)


async def test_a_restarted_operator_knows_its_namespaces_also_without_the_syncers_binding(
    second_plane: apiserver.ControlPlane, lonely: Api
) -> None:
    async with operator_running(second_plane):
        await lonely.create(kinds.NESTED_APP_JOB, build_job("known", "default"))
        job = await job_with(lonely, "known", "default", conditions.CLUSTER_READY, "False")
        where = job["status"]["namespace"]
        before = await wait_for(
            lonely, kinds.NESTED_APP_JOB, "known", "default", lambda item: bool(item and item["status"].get("namespaceUID"))
        )
        assert before is not None
    await lonely.delete(kinds.ROLE_BINDING, "known-syncer", where)
    async with operator_running(second_plane):
        await exists(lonely, kinds.ROLE_BINDING, "known-syncer", where)
        live = await lonely.get(kinds.NAMESPACE, where)
        assert live["metadata"]["uid"] == before["status"]["namespaceUID"]
        await lonely.delete(kinds.NESTED_APP_JOB, "known", "default")
        await gone(lonely, kinds.NESTED_APP_JOB, "known", "default")


async def test_copied_labels_do_not_get_a_namespace_deleted(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    uid = "5c9e5e6c-0000-4000-8000-000000000000"
    own = labels.of_job("vanished", "default", uid)
    await make_namespace(lonely, "restored", own)
    await make_namespace(lonely, names.job_namespace("vanished", "default", uid), own)
    async with operator_running(second_plane):
        await gone(lonely, kinds.NAMESPACE, names.job_namespace("vanished", "default", uid), "")
        restored = await lonely.get(kinds.NAMESPACE, "restored")
        assert "deletionTimestamp" not in restored["metadata"]
    await lonely.delete(kinds.NAMESPACE, "restored")


async def test_what_a_dead_operator_left_without_a_record_is_made_again(
    second_plane: apiserver.ControlPlane, lonely: Api
) -> None:
    job = await lonely.create(kinds.NESTED_APP_JOB, build_job("lost", "default"))
    uid = job["metadata"]["uid"]
    where, own = names.job_namespace("lost", "default", uid), labels.of_job("lost", "default", uid)
    left = await make_namespace(lonely, where, own)
    await lonely.apply(kinds.NESTED_CLUSTER, {"metadata": {"name": "lost", "namespace": where, "labels": own}, "spec": {}})
    async with operator_running(second_plane):
        made = await recorded(lonely, "lost", "default", where, other_than=left)
        await exists(lonely, kinds.POD, "lost-k3s-0", where)
        assert (await lonely.get(kinds.NAMESPACE, where))["metadata"]["uid"] == made["metadata"]["uid"]
        await lonely.delete(kinds.NESTED_APP_JOB, "lost", "default")
        await gone(lonely, kinds.NESTED_APP_JOB, "lost", "default")


async def test_nobody_keeps_a_namespace_of_a_jobs_name_occupied(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    rules = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["*"]}]
    await lonely.apply(kinds.CLUSTER_ROLE, {"metadata": {"name": "self-service"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "self-service"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "squatter"}]
    await lonely.apply(kinds.CLUSTER_ROLE_BINDING, {"metadata": {"name": "self-service"}, "roleRef": role, "subjects": subjects})
    uid = "5c9e5e6c-0000-4000-8000-000000000001"
    where = names.job_namespace("victim", "default", uid)
    async with await Api.connect(str(second_plane.kubeconfig_of("squatter")), manager="user") as squatter:
        for own in ({}, labels.of_job("victim", "default", uid)):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": where, "labels": own}}
            await until_refused(squatter, kinds.NAMESPACE, body, "has the name of a job's own namespace")
        for name in ("nestor-tools", "team-0123abcd"):
            await make_namespace(squatter, name, {})
            await squatter.delete(kinds.NAMESPACE, name)

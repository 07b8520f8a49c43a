"""Whoever may create and label namespaces gets nothing of a job, and loses none of his own."""

from nestor.api import conditions, labels, names
from nestor.kube import Api, kinds
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import Object, build_job
from tests.refusals import until_refused
from tests.waiting import another, exists, job_with


async def make_namespace(api: Api, name: str, own: dict[str, str]) -> Object:
    """A namespace of a tenant."""
    body = {"metadata": {"name": name, "labels": own}}
    return await api.create(kinds.NAMESPACE, body)


async def recorded(api: Api, name: str, namespace: str, where: str, *, other_than: Object) -> Object:
    """Await that a job has its own namespace `where`, and not that one, in its status. Returns the namespace."""
    made = await another(api, kinds.NAMESPACE, where, "", than=other_than)
    await exists(
        api,
        kinds.NESTED_APP_JOB,
        name,
        namespace,
        lambda found: found.get("status", {}).get("namespaceUID") == made["metadata"]["uid"],
    )
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


async def test_nobody_keeps_a_namespace_of_a_jobs_name_occupied(second_plane: apiserver.ControlPlane, lonely: Api) -> None:
    rules = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["*"]}]
    await lonely.apply(kinds.CLUSTER_ROLE, {"metadata": {"name": "self-service"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "self-service"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "squatter"}]
    await lonely.apply(kinds.CLUSTER_ROLE_BINDING, {"metadata": {"name": "self-service"}, "roleRef": role, "subjects": subjects})
    uid = "5c9e5e6c-0000-4000-8000-000000000001"
    where = names.job_namespace("victim", "default", uid)
    async with await Api.connect(str(second_plane.kubeconfig_of("squatter")), manager="user") as squatter:
        pooled = names.pool_namespace("default", "0123abcd")
        for name, own in ((where, {}), (where, labels.of_job("victim", "default", uid)), (pooled, {labels.POOL: "x"})):
            body = {"metadata": {"name": name, "labels": own}}
            await until_refused(squatter, kinds.NAMESPACE, body, "has the name of a job's own namespace")
        for name in ("nestor-tools", "team-0123abcd"):
            await make_namespace(squatter, name, {})
            await squatter.delete(kinds.NAMESPACE, name)

"""What a class says reaches the objects of its jobs, and changes of a job reach its cluster."""

import base64
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.objects import status_of
from nestor.kube import Api, Forbidden, Invalid, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import (
    OWN_DEFAULTS,
    Object,
    be_target,
    build_class,
    build_job,
    host_namespace,
    message_of,
    runner_of,
)
from tests.waiting import exists, job_with, wait_for

GPU = {"cpu": 1, "nvidia.com/gpu": 1}


@pytest.fixture
async def policy(api: Api, namespace: str) -> AsyncIterator[Any]:
    """Makes a class for one test; returns its name."""
    name = f"class-{namespace}"

    async def make(**spec: Any) -> str:
        body = build_class(name)
        for part, content in spec.items():
            body["spec"][part] = body["spec"].get(part, {}) | content
        await api.apply(kinds.NESTED_CLASS, body)
        return name

    yield make
    await api.delete(kinds.NESTED_CLASS, name)


async def test_quota_and_defaults_leave_room_for_the_clusters_own_pods(
    operator: Operator, api: Api, namespace: str, policy: Any
) -> None:
    name = await policy(namespace={"quota": {"requests.cpu": "1", "pods": "5"}, "defaultResources": {"requests": {"cpu": "10m"}}})
    job = await api.create(kinds.NESTED_APP_JOB, build_job("small", namespace, className=name))
    where = await host_namespace(api, job)
    await exists(api, kinds.POD, "small-k3s-0", where)
    quota = await exists(api, kinds.RESOURCE_QUOTA, "nestor", where)
    assert quota["spec"]["hard"] == OWN_DEFAULTS | {"requests.cpu": "1502m", "pods": "7"}
    limits = await api.get(kinds.LIMIT_RANGE, "nestor", where)
    assert limits["spec"]["limits"][0]["defaultRequest"] == {"cpu": "10m", "ephemeral-storage": "0"}


async def test_without_a_word_in_the_class_a_job_cannot_use_up_what_all_share(
    operator: Operator, api: Api, namespace: str
) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("plain", namespace))
    where = await host_namespace(api, job)
    quota = await exists(api, kinds.RESOURCE_QUOTA, "nestor", where, lambda found: found.get("status"))
    assert quota["spec"]["hard"] == OWN_DEFAULTS
    limits = await api.get(kinds.LIMIT_RANGE, "nestor", where)
    assert limits["spec"]["limits"][0]["default"] == {"ephemeral-storage": "10Gi"}
    await runner_of(api, "plain", where)
    ports = {"ports": [{"port": 80}]}
    for kind in ("NodePort", "LoadBalancer"):
        body = {"metadata": {"name": "x", "namespace": where}, "spec": ports | {"type": kind}}
        with pytest.raises(Forbidden, match="exceeded quota"):
            await api.create(kinds.SERVICE, body)

    async def fill() -> None:
        for number in range(int(OWN_DEFAULTS["services"])):
            await api.create(kinds.SERVICE, {"metadata": {"name": f"s{number}", "namespace": where}, "spec": ports})

    with pytest.raises(Forbidden, match="exceeded quota"):
        await fill()


async def test_a_namespace_has_as_many_jobs_as_its_class_allows_and_the_next_one_follows(
    operator: Operator, api: Api, namespace: str, policy: Any
) -> None:
    name = await policy()
    for job in ("one", "two"):
        await api.create(kinds.NESTED_APP_JOB, build_job(job, namespace, className=name))
        await job_with(api, job, namespace, conditions.ADMITTED, "True")
    await api.patch(kinds.NESTED_CLASS, name, None, {"spec": {"maxJobsPerNamespace": 1}})
    await operator.heard(api)
    await api.create(kinds.NESTED_APP_JOB, build_job("three", namespace, className=name))
    waiting = await job_with(api, "three", namespace, conditions.ADMITTED, "False", conditions.TOO_MANY_JOBS)
    assert message_of(waiting, conditions.ADMITTED).startswith(
        f"class '{name}' allows 1 job per namespace, and namespace '{namespace}' has reached that"
    )
    assert "namespace" not in waiting["status"]
    for job in ("one", "two"):
        still = await api.get(kinds.NESTED_APP_JOB, job, namespace)
        assert conditions.is_true(still["status"]["conditions"], conditions.ADMITTED)
        await api.delete(kinds.NESTED_APP_JOB, job, namespace)
    await job_with(api, "three", namespace, conditions.ADMITTED, "True")


async def test_what_the_class_no_longer_says_is_taken_away(operator: Operator, api: Api, namespace: str, policy: Any) -> None:
    name = await policy(
        namespace={"quota": {"pods": "5"}, "defaultResources": {"requests": {"cpu": "10m"}}},
        expose={"annotations": {"team.example/keep": "a", "team.example/drop": "b"}},
    )
    job = await api.create(kinds.NESTED_APP_JOB, build_job("less", namespace, className=name))
    where = await host_namespace(api, job)
    await exists(api, kinds.INGRESS, "less", where)
    await policy(expose={"annotations": {"team.example/keep": "a"}})
    await exists(api, kinds.INGRESS, "less", where, lambda found: found["metadata"]["annotations"] == {"team.example/keep": "a"})
    await exists(api, kinds.RESOURCE_QUOTA, "nestor", where, lambda found: found["spec"]["hard"] == OWN_DEFAULTS)
    plain = {"ephemeral-storage": "0"}
    await exists(api, kinds.LIMIT_RANGE, "nestor", where, lambda found: found["spec"]["limits"][0]["defaultRequest"] == plain)


async def test_where_pods_run_reaches_the_syncer_and_follows_class_and_job(
    operator: Operator, api: Api, namespace: str, policy: Any
) -> None:
    machine = {"name": "n4", "nodeSelector": {"pool": "n4"}, "quota": {"requests.nvidia.com/gpu": "1"}}
    name = await policy(placement={"nodeSelector": {"site": "a"}, "machines": [machine]})
    job = await api.create(kinds.NESTED_APP_JOB, build_job("placed", namespace, className=name, machine="n4"))
    where = await host_namespace(api, job)

    def selects(**labels: str) -> Callable[[Any], bool]:
        def check(found: Any) -> bool:
            placement = status_of(found).get("policy", {}).get("placement", {})
            return bool(placement.get("nodeSelector") == labels)

        return check

    await wait_for(api, kinds.NESTED_CLUSTER, "placed", where, selects(site="a", pool="n4"))
    quota = await exists(api, kinds.RESOURCE_QUOTA, "nestor", where)
    assert quota["spec"]["hard"]["requests.nvidia.com/gpu"] == "1"

    await api.patch(kinds.NESTED_CLASS, name, None, {"spec": {"placement": {"nodeSelector": {"site": "b"}}}})
    await wait_for(api, kinds.NESTED_CLUSTER, "placed", where, selects(site="b", pool="n4"))
    await api.patch(kinds.NESTED_APP_JOB, "placed", namespace, {"spec": {"placement": {"nodeSelector": {"zone": "1"}}}})
    await wait_for(api, kinds.NESTED_CLUSTER, "placed", where, selects(site="b", pool="n4", zone="1"))

    await api.patch(kinds.NESTED_APP_JOB, "placed", namespace, {"spec": {"machine": "n16"}})
    refused = await job_with(api, "placed", namespace, conditions.ADMITTED, "False", conditions.MACHINE_NOT_FOUND)
    assert "available: 'n4'" in message_of(refused, conditions.ADMITTED)
    await api.patch(kinds.NESTED_APP_JOB, "placed", namespace, {"spec": {"machine": "n4"}})
    await job_with(api, "placed", namespace, conditions.ADMITTED, "True")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"placement": {"defaultMachine": "n4"}}, "`defaultMachine` must be one of the machines"),
        ({"placement": {"overflow": {"mode": "Always"}}}, "`overflow.backends` must be set"),
        ({"placement": {"tolerations": ["*=batch"]}}, "must be taints as kubectl writes them"),
        ({"namespace": {"quota": {"limits.nvidia.com/gpu": "1"}}}, "write 'nvidia.com/gpu'"),
        # What a container may have, or has by default, is for K3s' own too: all would get a GPU.
        ({"namespace": {"maxResources": GPU}}, "must be limits of cpu, memory, ephemeral-storage"),
        ({"namespace": {"defaultResources": {"requests": GPU}}}, "must be requests of cpu, memory, ephemeral-storage"),
    ],
)
async def test_a_class_that_no_pod_could_obey_is_not_taken(policy: Any, spec: Object, message: str) -> None:
    with pytest.raises(Invalid, match=re.escape(message)):
        await policy(**spec)


@pytest.mark.slow
async def test_the_classs_tls_secret_is_copied_and_used(operator: Operator, api: Api, namespace: str, policy: Any) -> None:
    name = await policy(expose={"tlsSecretName": f"tls-{namespace}"})
    job = await api.create(kinds.NESTED_APP_JOB, build_job("secure", namespace, className=name))
    where = await host_namespace(api, job)
    refused = await job_with(api, "secure", namespace, conditions.EXPOSED, "False", conditions.TLS_SECRET_NOT_FOUND)
    said = message_of(refused, conditions.EXPOSED)
    assert f"'tls-{namespace}' does not name a Secret of type kubernetes.io/tls in namespace 'nestor-system'" in said
    await operator.heard(api)
    assert await api.find(kinds.INGRESS, "secure", where) is None
    await api.apply(kinds.NAMESPACE, {"metadata": {"name": "nestor-system"}})
    data = {key: base64.b64encode(b"x").decode() for key in ("tls.crt", "tls.key")}
    meta = {"name": f"tls-{namespace}", "namespace": "nestor-system"}
    await api.apply(kinds.SECRET, {"metadata": meta, "type": "kubernetes.io/tls", "data": data})
    job = await job_with(api, "secure", namespace, conditions.EXPOSED, "False", conditions.TARGET_NOT_FOUND)
    assert job["status"]["url"] == f"https://secure-{namespace}.jobs.test:8080/"
    ingress = await api.get(kinds.INGRESS, "secure", where)
    assert ingress["spec"]["tls"] == [{"hosts": [f"secure-{namespace}.jobs.test"], "secretName": "tls"}]
    assert (await api.get(kinds.SECRET, "tls", where))["data"] == data


async def test_a_changed_host_moves_the_url(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("move", namespace))
    await be_target(api, await host_namespace(api, job), job)
    await job_with(api, "move", namespace, conditions.EXPOSED, "True")
    await api.patch(kinds.NESTED_APP_JOB, "move", namespace, {"spec": {"expose": {"host": f"new-{namespace}.jobs.test"}}})
    await exists(
        api,
        kinds.NESTED_APP_JOB,
        "move",
        namespace,
        lambda found: found["status"].get("url") == f"http://new-{namespace}.jobs.test:8080/",
    )
    ingress = await api.get(kinds.INGRESS, "move", await host_namespace(api, job))
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == [f"new-{namespace}.jobs.test"]

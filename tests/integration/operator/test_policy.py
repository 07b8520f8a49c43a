"""What a class says reaches the objects of its jobs, and changes of a job reach its cluster."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.data import read
from nestor.api.placement import Placement
from nestor.kube import Api, Forbidden, Invalid, kinds
from nestor.objects import status_of
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import (
    OWN_DEFAULTS,
    STEP,
    TARGET,
    VERSIONS,
    Object,
    be_target,
    build_class,
    build_job,
    host_namespace,
    message_of,
    plan_hash,
)
from tests.waiting import job_with, wait_for


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
    await wait_for(api, kinds.POD, "small-k3s-0", where, lambda found: found is not None)
    quota = await wait_for(api, kinds.RESOURCE_QUOTA, "nestor", where, bool)
    assert quota is not None
    assert quota["spec"]["hard"] == OWN_DEFAULTS | {"requests.cpu": "1320m", "pods": "7"}
    limits = await api.get(kinds.LIMIT_RANGE, "nestor", where)
    assert limits["spec"]["limits"][0]["defaultRequest"] == {"cpu": "10m", "ephemeral-storage": "0"}


async def test_without_a_word_in_the_class_a_job_cannot_use_up_what_all_share(
    operator: Operator, api: Api, namespace: str
) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("plain", namespace))
    where = await host_namespace(api, job)
    quota = await wait_for(api, kinds.RESOURCE_QUOTA, "nestor", where, lambda found: bool(found and found.get("status")))
    assert quota is not None
    assert quota["spec"]["hard"] == OWN_DEFAULTS
    limits = await api.get(kinds.LIMIT_RANGE, "nestor", where)
    assert limits["spec"]["limits"][0]["default"] == {"ephemeral-storage": "10Gi"}
    for pod in ("plain-k3s-0", "plain-run"):
        await wait_for(api, kinds.POD, pod, where, lambda found: found is not None)
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


async def test_a_class_that_says_nothing_of_it_allows_a_namespace_fifty_jobs(
    operator: Operator, api: Api, namespace: str
) -> None:
    for number in range(50):
        await api.create(kinds.NESTED_APP_JOB, build_job(f"job-{number}", namespace, suspend=True))
    for number in range(50):
        await job_with(api, f"job-{number}", namespace, conditions.ADMITTED, "True")
    await api.create(kinds.NESTED_APP_JOB, build_job("more", namespace, suspend=True))
    job = await job_with(api, "more", namespace, conditions.ADMITTED, "False", conditions.TOO_MANY_JOBS)
    said = f"class 'default' allows 50 jobs per namespace, and namespace '{namespace}' has reached that"
    assert message_of(job, conditions.ADMITTED).startswith(said)


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
    await wait_for(api, kinds.INGRESS, "less", where, lambda found: found is not None)
    await policy(expose={"annotations": {"team.example/keep": "a"}})

    def is_less(found: Object | None) -> bool:
        return bool(found and found["metadata"]["annotations"] == {"team.example/keep": "a"})

    await wait_for(api, kinds.INGRESS, "less", where, is_less)
    await wait_for(
        api, kinds.RESOURCE_QUOTA, "nestor", where, lambda found: bool(found and found["spec"]["hard"] == OWN_DEFAULTS)
    )
    plain = {"ephemeral-storage": "0"}
    await wait_for(
        api,
        kinds.LIMIT_RANGE,
        "nestor",
        where,
        lambda found: bool(found and found["spec"]["limits"][0]["defaultRequest"] == plain),
    )


async def test_pod_security_is_enforced_in_the_jobs_namespace(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("safe", namespace))
    found = await api.get(kinds.NAMESPACE, await host_namespace(api, job))
    assert found["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"


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
    quota = await wait_for(api, kinds.RESOURCE_QUOTA, "nestor", where, bool)
    assert quota is not None
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


async def test_a_job_narrows_what_its_class_says_of_overflow_and_no_more(
    operator: Operator, api: Api, namespace: str, policy: Any
) -> None:
    name = await policy(placement={"overflow": {"backends": [{"name": "hpc"}, {"name": "cloud"}], "backendParallelism": 10}})
    wish = {"mode": "WhenFull", "backends": ["cloud"], "backendParallelism": 4}
    body = build_job("out", namespace, className=name, placement={"overflow": wish})
    job = await api.create(kinds.NESTED_APP_JOB, body)
    where = await host_namespace(api, job)

    def says(mode: str, limit: int) -> Callable[[Any], bool]:
        def check(found: Any) -> bool:
            said = read(Placement, status_of(found).get("policy", {}).get("placement") or {}).overflow
            if said is None or [item.name for item in said.backends] != ["cloud"]:
                return False
            return (said.mode, said.backend_parallelism) == (mode, limit)

        return check

    await wait_for(api, kinds.NESTED_CLUSTER, "out", where, says("WhenFull", 4))
    # A stricter class holds for a job that is there already, which is told.
    await api.patch(
        kinds.NESTED_CLASS, name, None, {"spec": {"placement": {"overflow": {"mode": "Never", "backendParallelism": 2}}}}
    )
    await wait_for(api, kinds.NESTED_CLUSTER, "out", where, says("Never", 2))
    refused = await job_with(api, "out", namespace, conditions.ADMITTED, "False", conditions.PLACEMENT_NOT_ALLOWED)
    assert message_of(refused, conditions.ADMITTED) == (
        "`spec.placement.overflow.mode` may not be 'WhenFull': the class allows 'Never'; "
        f"`spec.placement.overflow.backendParallelism` may not be 4: the class allows at most 2 (class '{name}')"
    )
    fewer = {"mode": None, "backendParallelism": 1}
    await api.patch(kinds.NESTED_APP_JOB, "out", namespace, {"spec": {"placement": {"overflow": fewer}}})
    await wait_for(api, kinds.NESTED_CLUSTER, "out", where, says("Never", 1))
    await job_with(api, "out", namespace, conditions.ADMITTED, "True")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"placement": {"defaultMachine": "n4"}}, "`defaultMachine` must be one of the machines"),
        ({"placement": {"overflow": {"mode": "Always"}}}, "`overflow.backends` must be set"),
        ({"placement": {"tolerations": [{"operator": "Equal"}]}}, "`operator` must be 'Exists' if there is no `key`"),
        ({"namespace": {"quota": {"nvidia.com/gpu": "1"}}}, "write 'requests.nvidia.com/gpu'"),
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


async def test_jobs_keep_their_version_when_the_class_changes(operator: Operator, api: Api, namespace: str, policy: Any) -> None:
    name = await policy()
    job = await api.create(kinds.NESTED_APP_JOB, build_job("steady", namespace, className=name))
    where = await host_namespace(api, job)
    before = await wait_for(api, kinds.STATEFUL_SET, "steady-k3s", where, lambda found: found is not None)
    await job_with(api, "steady", namespace, conditions.ADMITTED, "True")
    higher = [*VERSIONS, {"version": "v1.37", "image": "rancher/k3s:v1.37.0-k3s1"}]
    others = [{"version": "v1.35", "image": "rancher/k3s:v1.35.9-k3s1"}]
    for number, (versions, is_offered) in enumerate(((higher, "True"), (others, "False"))):
        await policy(cluster={"versions": versions})
        await operator.heard(api)
        # Another job shows what the change does: the first one offers v1.37, the second takes it away.
        later = build_job(f"later-{number}", namespace, className=name, kubernetesVersion="v1.37")
        await api.create(kinds.NESTED_APP_JOB, later)
        await job_with(api, f"later-{number}", namespace, conditions.ADMITTED, is_offered)
        await operator.heard(api)
        found = await api.get(kinds.NESTED_APP_JOB, "steady", namespace)
        for condition in found["status"]["conditions"]:
            assert condition["reason"] not in (conditions.VERSION_UNSUPPORTED, conditions.PROVISIONING_FAILED)
        assert (await api.get(kinds.STATEFUL_SET, "steady-k3s", where))["spec"] == (before or {})["spec"]


@pytest.mark.slow
async def test_a_cluster_that_takes_too_long_is_reported_and_not_given_up(
    operator: Operator, api: Api, namespace: str, policy: Any
) -> None:
    name = await policy(cluster={"startTimeoutSeconds": 10})
    await api.create(kinds.NESTED_APP_JOB, build_job("slow", namespace, className=name))
    await job_with(api, "slow", namespace, conditions.CLUSTER_READY, "False", conditions.PROVISIONING)
    job = await job_with(api, "slow", namespace, conditions.CLUSTER_READY, "False", conditions.PROVISIONING_FAILED)
    assert "`startTimeoutSeconds`" in message_of(job, conditions.CLUSTER_READY)


async def test_changed_templates_are_run_by_a_new_runner(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("again", namespace))
    where = await host_namespace(api, job)
    before = await plan_hash(api, "again", where)
    changed = {"targets": [TARGET], "templates": [STEP, STEP | {"name": "second"}]}
    appdef = {"commands": {"Hello": {"nested_kubernetes": changed}}}
    await api.patch(kinds.NESTED_APP_JOB, "again", namespace, {"spec": {"app": {"appDef": appdef}}})

    def is_another(found: Object | None) -> bool:
        return bool(found and found["metadata"]["annotations"]["nestor.dev/plan-hash"] != before)

    await wait_for(api, kinds.POD, "again-run", where, is_another)

    def shows_both_steps(found: Object | None) -> bool:
        return [step["name"] for step in (found or {}).get("status", {}).get("steps", ())] == ["hello", "second"]

    await wait_for(api, kinds.NESTED_APP_JOB, "again", namespace, shows_both_steps)


async def test_a_changed_host_moves_the_url(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job("move", namespace))
    await be_target(api, await host_namespace(api, job), job)
    await job_with(api, "move", namespace, conditions.EXPOSED, "True")
    await api.patch(kinds.NESTED_APP_JOB, "move", namespace, {"spec": {"expose": {"host": f"new-{namespace}.jobs.test"}}})

    def is_moved(found: Object | None) -> bool:
        return bool(found and found["status"].get("url") == f"http://new-{namespace}.jobs.test:8080/")

    await wait_for(api, kinds.NESTED_APP_JOB, "move", namespace, is_moved)
    ingress = await api.get(kinds.INGRESS, "move", await host_namespace(api, job))
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == [f"new-{namespace}.jobs.test"]


def allows(level: str) -> Callable[[Object | None], bool]:
    """A predicate: the cluster's pods are allowed what that Pod Security level allows, and have the default limit."""

    def is_met(found: Object | None) -> bool:
        rest = dict(status_of(found).get("policy") or {})
        opened = [block["cidr"] for block in rest.pop("internet", [])]
        return opened == ["0.0.0.0/0", "::/0"] and rest == {
            "podSecurity": level,
            "alwaysPullImages": False,
            "ephemeralStorageLimit": "10Gi",
        }

    return is_met


async def test_what_the_class_allows_pods_is_told_to_the_syncers_of_jobs(
    operator: Operator, api: Api, namespace: str, policy: Any
) -> None:
    name = await policy()
    job = await api.create(kinds.NESTED_APP_JOB, build_job("told", namespace, className=name))
    where = await host_namespace(api, job)
    await wait_for(api, kinds.NESTED_CLUSTER, "told", where, allows("Baseline"))
    for level in ("Privileged", "Baseline"):
        await policy(namespace={"podSecurity": level})
        await wait_for(api, kinds.NESTED_CLUSTER, "told", where, allows(level))


async def test_a_policy_that_somebody_else_writes_is_written_over(
    operator: Operator, api: Api, namespace: str, policy: Any
) -> None:
    name = await policy()
    job = await api.create(kinds.NESTED_APP_JOB, build_job("mine", namespace, className=name))
    where = await host_namespace(api, job)
    await wait_for(api, kinds.NESTED_CLUSTER, "mine", where, allows("Baseline"))
    wished = {"status": {"policy": {"podSecurity": "Privileged"}}}
    assert allows("Privileged")(await api.patch(kinds.NESTED_CLUSTER, "mine", where, wished, subresource="status"))
    await wait_for(api, kinds.NESTED_CLUSTER, "mine", where, allows("Baseline"))


async def test_a_refused_jobs_pods_are_held_to_the_class_too(operator: Operator, api: Api, namespace: str, policy: Any) -> None:
    name = await policy(namespace={"podSecurity": "Privileged"})
    job = await api.create(kinds.NESTED_APP_JOB, build_job("broken", namespace, className=name))
    where = await host_namespace(api, job)
    await wait_for(api, kinds.NESTED_CLUSTER, "broken", where, allows("Privileged"))
    wished: Object = {"spec": {"app": {"appDef": {"commands": {"Hello": {"nested_kubernetes": {"templates": []}}}}}}}
    await api.patch(kinds.NESTED_APP_JOB, "broken", namespace, wished)
    await job_with(api, "broken", namespace, conditions.ADMITTED, "False", conditions.APPDEF_INVALID)
    await policy(namespace={"podSecurity": "Baseline"})
    await wait_for(api, kinds.NESTED_CLUSTER, "broken", where, allows("Baseline"))

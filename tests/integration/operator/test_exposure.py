"""All targets of a job: their Ingresses, their hosts, and what the job says about each."""

from collections.abc import Callable
from typing import Any

from nestor.api import conditions, labels, names
from nestor.kube import Api, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import STEP, TARGET, Object, be_target, build_class, build_job, host_namespace, message_of
from tests.waiting import eventually, exists, gone, job_with, wait_for_any

API: Object = {"service_name": "api", "service_port": 9090, "service_namespace": "default"}
ALL: Object = {"expose": {"allTargets": True}}


def build_targets(name: str, namespace: str, *targets: Object, **spec: Any) -> Object:
    """A job with these targets, else with a first one and `api`."""
    return build_job(name, namespace, nested={"targets": list(targets or (TARGET, API)), "templates": [STEP]}, **spec)


async def job_whose(api: Api, job: Object, is_met: Callable[[Object], bool]) -> Object:
    """Await a status of a job."""
    meta = job["metadata"]
    return await exists(api, kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], lambda item: is_met(item.get("status") or {}))


def target_of(job: Object, service: str = "api") -> Object:
    """What a job says about one of its targets."""
    found: Object = next(item for item in job["status"]["targets"] if item["serviceName"] == service)
    return found


def ready_targets(status: Object) -> list[str]:
    """The Services that answer."""
    return [item["serviceName"] for item in status.get("targets") or () if item["ready"]]


def mine(job: Object) -> str:
    """Selects the job's own objects."""
    return labels.selector(job_uid=job["metadata"]["uid"])


async def ingress_for(api: Api, job: Object, host: str) -> Object:
    """Await the job's Ingress for a host."""
    where = await host_namespace(api, job)

    def has_host(item: Object) -> bool:
        return [rule["host"] for rule in item["spec"]["rules"]] == [host]

    return await wait_for_any(api, kinds.INGRESS, where, has_host, labels=mine(job))


def opened_to(app: str, port: int) -> tuple[Object, list[Object]]:
    """One port of the pods of one Service."""
    return {"matchLabels": {"app": app}}, [{"protocol": "TCP", "port": port}]


async def list_openings(api: Api, where: str) -> list[tuple[Object, list[Object]]]:
    """Which pods and ports of a job are open to the Ingress controller."""
    found = await api.list(kinds.NETWORK_POLICY, where, labels=labels.selector(component="exposure"))
    specs = [item["spec"] for item in found]
    return sorted(((spec["podSelector"], spec["ingress"][0]["ports"]) for spec in specs), key=str)


async def test_further_targets_are_exposed_as_soon_as_the_job_asks_and_as_long(
    operator: Operator, api: Api, namespace: str
) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_targets("two", namespace))
    where = await host_namespace(api, job)
    await be_target(api, where, job)
    await be_target(api, where, job, service="api", port=9090)
    for service in ("web", "api"):
        selected = {"spec": {"selector": {"app": service}}}
        await api.patch(kinds.SERVICE, names.host_name(service, "default"), where, selected)
    shown = await job_with(api, "two", namespace, conditions.EXPOSED, "True")
    entry = target_of(shown)
    assert (entry["serviceNamespace"], entry["servicePort"], entry["ready"], "url" in entry) == ("default", 9090, False, False)
    assert "unless the job sets `expose.allTargets: true`" in entry["message"]
    assert [item["metadata"]["name"] for item in await api.list(kinds.INGRESS, where)] == ["two"]
    first = opened_to("web", 8080)

    async def are_open(*expected: tuple[Object, list[Object]]) -> bool:
        return await list_openings(api, where) == list(expected)

    await eventually(lambda: are_open(first))

    await api.patch(kinds.NESTED_APP_JOB, "two", namespace, {"spec": ALL})
    shown = await job_whose(api, job, lambda status: ready_targets(status) == ["web", "api"])
    assert target_of(shown)["url"] == f"http://api--two-{namespace}.jobs.test:8080/"
    assert shown["status"]["url"] == f"http://two-{namespace}.jobs.test:8080/"
    further = await ingress_for(api, job, f"api--two-{namespace}.jobs.test")
    assert further["spec"]["ingressClassName"] == "test"
    assert further["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"] == {"number": 9090}
    await eventually(lambda: are_open(opened_to("api", 9090), first))

    await api.patch(kinds.NESTED_APP_JOB, "two", namespace, {"spec": {"expose": {"allTargets": False}}})
    await gone(api, kinds.INGRESS, further["metadata"]["name"], where)
    assert await api.find(kinds.INGRESS, "two", where)
    await eventually(lambda: are_open(first))


async def test_exposed_goes_with_the_endpoints_of_any_target_and_comes_back(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_targets("pair", namespace, **ALL))
    where = await host_namespace(api, job)
    await be_target(api, where, job)
    waiting = await job_whose(api, job, lambda status: ready_targets(status) == ["web"])
    assert not conditions.is_true(waiting["status"]["conditions"], conditions.EXPOSED)
    assert target_of(waiting)["message"].startswith("no Service named 'api' in namespace 'default'")
    await be_target(api, where, job, service="api", port=9090)
    await job_with(api, "pair", namespace, conditions.EXPOSED, "True")

    await be_target(api, where, job, service="api", port=9090, is_ready=False)
    gone = await job_with(api, "pair", namespace, conditions.EXPOSED, "False", conditions.NO_READY_ENDPOINT)
    said = "no pod of Service 'api' in namespace 'default' of the nested cluster is ready"
    assert message_of(gone, conditions.EXPOSED) == target_of(gone)["message"] == said
    assert (ready_targets(gone["status"]), gone["status"]["url"]) == (["web"], f"http://pair-{namespace}.jobs.test:8080/")

    await be_target(api, where, job, service="api", port=9090)
    await job_with(api, "pair", namespace, conditions.EXPOSED, "True")
    await be_target(api, where, job, service="api", port=9999)
    wrong = await job_with(api, "pair", namespace, conditions.EXPOSED, "False", conditions.TARGET_NOT_FOUND)
    assert "has no TCP port 9090; its ports: 9999" in message_of(wrong, conditions.EXPOSED)


async def test_a_host_of_somebody_else_is_kept_from_that_target_alone(operator: Operator, api: Api, namespace: str) -> None:
    host = f"api--partly-{namespace}.jobs.test"
    backend = {"service": {"name": "portal", "port": {"number": 80}}}
    rule = {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    await api.apply(kinds.INGRESS, {"metadata": {"name": "portal", "namespace": namespace}, "spec": {"rules": [rule]}})
    job = await api.create(kinds.NESTED_APP_JOB, build_targets("partly", namespace, **ALL))
    where = await host_namespace(api, job)
    await be_target(api, where, job)
    await be_target(api, where, job, service="api", port=9090)
    refused = await job_with(api, "partly", namespace, conditions.EXPOSED, "False", conditions.HOSTNAME_CONFLICT)
    said = (
        f"host '{host}' is taken by Ingress 'portal' in namespace '{namespace}'; it is derived from the names of the Service, "
        "the job and its namespace"
    )
    assert message_of(refused, conditions.EXPOSED) == target_of(refused)["message"] == said
    assert "url" not in target_of(refused)
    served = await job_whose(api, job, lambda status: ready_targets(status) == ["web"])
    assert served["status"]["url"] == f"http://partly-{namespace}.jobs.test:8080/"
    assert [item["metadata"]["name"] for item in await api.list(kinds.INGRESS, where)] == ["partly"]
    await api.delete(kinds.INGRESS, "portal", namespace)
    await job_with(api, "partly", namespace, conditions.EXPOSED, "True")


async def test_annotations_are_the_classs_the_backends_and_those_that_jobs_may_set(
    operator: Operator, api: Api, namespace: str
) -> None:
    name, size = f"notes-{namespace}", "nginx.ingress.kubernetes.io/proxy-body-size"
    https = {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}
    rules = {"annotations": {"example.com/auth": "group=$(namespace)"}, "controllerCertificate": True}
    await api.apply(kinds.NESTED_CLASS, build_class(name, **rules))
    targets = (API, {"service_name": "secure", "service_port": 8443, "service_namespace": "default"})
    wish = {"expose": {"allTargets": True, "annotations": {size: "8m"}}}
    job = await api.create(kinds.NESTED_APP_JOB, build_targets("notes", namespace, *targets, className=name, **wish))
    refused = await job_with(api, "notes", namespace, conditions.EXPOSED, "False", conditions.ANNOTATION_NOT_ALLOWED)
    assert "allows none (`expose.allowedAnnotations`)" in message_of(refused, conditions.EXPOSED)
    await api.apply(kinds.NESTED_CLASS, build_class(name, allowedAnnotations=[size], **rules))
    ours = {"example.com/auth": f"group={namespace}", size: "8m"}
    for host in (f"notes-{namespace}.jobs.test", f"secure--notes-{namespace}.jobs.test"):
        ingress = await ingress_for(api, job, host)
        assert ingress["metadata"]["annotations"] == ours
        assert ingress["spec"]["tls"] == [{"hosts": [host]}]
    own = labels.of_job(job["metadata"]["name"], namespace, job["metadata"]["uid"])
    where = await host_namespace(api, job)
    port = {"name": "https", "port": 8443, "targetPort": 8443}
    meta = {"name": names.host_name("secure", "default"), "namespace": where, "labels": own}
    await api.apply(kinds.SERVICE, {"metadata": meta, "spec": {"ports": [port]}})

    def has_protocol(item: Object) -> bool:
        return bool(item["metadata"]["annotations"] == ours | https)

    await wait_for_any(api, kinds.INGRESS, where, has_protocol, labels=mine(job))
    await api.delete(kinds.NESTED_CLASS, name)


async def test_a_target_that_leaves_the_appdef_takes_its_ingress_along(operator: Operator, api: Api, namespace: str) -> None:
    other = API | {"service_name": "other"}
    job = await api.create(kinds.NESTED_APP_JOB, build_targets("shrink", namespace, TARGET, API, other, **ALL))
    kept = await ingress_for(api, job, f"other--shrink-{namespace}.jobs.test")
    left = await ingress_for(api, job, f"api--shrink-{namespace}.jobs.test")
    fewer = {"targets": [TARGET, other], "templates": [STEP]}
    appdef = {"commands": {"Hello": {"nested_kubernetes": fewer}}}
    await api.patch(kinds.NESTED_APP_JOB, "shrink", namespace, {"spec": {"app": {"appDef": appdef}}})
    where = await host_namespace(api, job)
    await gone(api, kinds.INGRESS, left["metadata"]["name"], where)
    shown = await job_whose(api, job, lambda status: len(status.get("targets") or ()) == 2)
    assert [item["serviceName"] for item in shown["status"]["targets"]] == ["web", "other"]
    still = await api.get(kinds.INGRESS, kept["metadata"]["name"], where)
    assert still["metadata"]["uid"] == kept["metadata"]["uid"]

"""Faults as they come about on a host, each with what its user is to read."""

from dataclasses import dataclass
from typing import Any

from nestor.api import conditions, labels, times
from nestor.api.objects import status_of
from nestor.kube import Api, kinds
from tests import refusals
from tests.describing import Fault
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import (
    Object,
    be_ready_server,
    be_syncer,
    be_target,
    build_class,
    build_job,
    host_namespace,
    run_of,
    set_pod_status,
    waiting,
)
from tests.waiting import exists, has, job_with, wait_for


@dataclass
class Site:
    """Where a fault is made: a namespace of its user's, and a class that nobody else has."""

    operator: Operator
    api: Api
    namespace: str
    name: str
    class_name: str

    async def run(self, *, nested: Object | None = None, **spec: Any) -> str:
        """Create the job; returns its own namespace."""
        job = await self.api.create(
            kinds.NESTED_APP_JOB, build_job(self.name, self.namespace, nested=nested, className=self.class_name, **spec)
        )
        return await host_namespace(self.api, job)

    async def refuse(self, **spec: Any) -> None:
        """Create a job that gets no namespace."""
        body = build_job(self.name, self.namespace, **({"className": self.class_name} | spec))
        await self.api.create(kinds.NESTED_APP_JOB, body)

    async def say(self, **spec: Any) -> Object:
        """Have the class say that, and the operator know it; returns it."""
        found = await self.api.patch(kinds.NESTED_CLASS, self.class_name, None, {"spec": spec})
        await self.operator.heard(self.api)
        return found

    async def fail_step(self, message: str) -> None:
        """The cluster is ready; its only step fails at the last attempt."""
        where = await self.run()
        run = await run_of(
            self.api, self.name, where, "Failed", state="Failed", attempt=3, maxAttempts=3, exitCode=1, message=message
        )
        await be_ready_server(self.api, self.name, where, run=run)

    async def apply_all(self, **spec: Any) -> str:
        """The cluster is ready, and all steps are applied."""
        where = await self.run(**spec)
        await be_ready_server(self.api, self.name, where)
        run = await run_of(self.api, self.name, where, "Succeeded")
        await be_ready_server(self.api, self.name, where, run=run, pods={"running": 0, "waiting": 1})
        return where

    async def add_pod(self, where: str, name: str, node: str | None = None, **status: Any) -> None:
        """A pod of the application, as the syncer would make it."""
        job = await self.api.get(kinds.NESTED_APP_JOB, self.name, self.namespace)
        own = labels.of_job(self.name, self.namespace, job["metadata"]["uid"])
        meta: Object = {
            "name": f"{name}-x-default-x-app",
            "namespace": where,
            "labels": own | {labels.COMPONENT: labels.COMPONENT_APP},
            "annotations": {labels.NESTED_NAME: name, labels.NESTED_NAMESPACE: "default"},
        }
        spec: Object = {"containers": [{"name": "app", "image": "x"}]} | ({"nodeName": node} if node else {})
        body = {"metadata": meta, "spec": spec}
        await self.api.create(kinds.POD, body)
        await self.api.patch(kinds.POD, meta["name"], where, {"status": status}, subresource="status")


async def miss_class(site: Site) -> None:
    await site.refuse(className="gold")


async def exceed_quota(site: Site) -> None:
    where = await site.run()
    hard = {"metadata": {"name": "admins", "namespace": where}, "spec": {"hard": {"count/pods": "0"}}}
    await site.api.create(kinds.RESOURCE_QUOTA, hard)
    await wait_for(site.api, kinds.RESOURCE_QUOTA, "admins", where, lambda found: "used" in status_of(found))
    await site.api.delete(kinds.POD, f"{site.name}-k3s-0", where, grace_seconds=0)  # if it was there before


async def pull_nothing(site: Site) -> None:
    where = await site.run()
    await set_pod_status(site.api, f"{site.name}-k3s-0", where, waiting("k3s", "ErrImagePull", "manifest unknown"))


async def break_template(site: Site) -> None:
    await site.fail_step('error: no matches for kind "Unknown" in version "example.com/v1"')


async def exceed_time(site: Site) -> None:
    await site.fail_step("kubectl: timed out after 300 s")


async def be_refused_by_webhook(site: Site) -> None:
    await site.fail_step('admission webhook "policy.example.com" denied the request: no team label')


async def miss_service(site: Site) -> None:
    await site.apply_all()


async def take_host(site: Site) -> None:
    backend = {"service": {"name": "portal", "port": {"number": 80}}}
    rule = {"host": f"{site.name}.jobs.test", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    body = {"metadata": {"name": "portal", "namespace": site.namespace}}
    await site.api.create(kinds.INGRESS, body | {"spec": {"rules": [rule]}})
    await site.run(expose={"host": f"{site.name}.jobs.test"})


async def have_no_nodes(site: Site) -> None:
    await site.say(placement={"machines": [{"name": "n4", "nodeSelector": {"pool": "n4"}}]})
    where = await site.apply_all(machine="n4")
    job = await site.api.get(kinds.NESTED_APP_JOB, site.name, site.namespace)
    await be_target(site.api, where, job, is_ready=False)
    said = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    await site.add_pod(where, "web-0", phase="Pending", conditions=[scheduled])


async def lose_backend(site: Site) -> None:
    meta: Object = {"name": f"{site.name}-far", "labels": {labels.BACKEND: "far", labels.MANAGED_BY: "nestor"}}
    taint = {"key": "nestor.dev/backend", "value": "far", "effect": "NoSchedule"}
    await site.api.create(kinds.NODE, {"metadata": meta, "spec": {"taints": [taint]}})
    said = {"type": "Ready", "status": "False", "reason": "BackendDown", "message": "the backend does not answer: refused"}
    said |= {"lastHeartbeatTime": times.timestamp(), "lastTransitionTime": times.timestamp()}
    await site.api.patch(kinds.NODE, meta["name"], None, {"status": {"conditions": [said]}}, subresource="status")
    where = await site.apply_all()
    job = await site.api.get(kinds.NESTED_APP_JOB, site.name, site.namespace)
    await be_target(site.api, where, job, is_ready=False)
    await site.add_pod(where, "train", node=str(meta["name"]), phase="Pending")


async def want_walls(site: Site) -> None:
    said = await site.say(network={"unenforced": "Refuse"})
    generation = said["metadata"]["generation"]
    told = has(conditions.NETWORK_ENFORCED, "False", conditions.NETWORK_NOT_ENFORCED, generation=generation)
    await wait_for(site.api, kinds.NESTED_CLASS, site.class_name, "", told)
    await site.refuse()


async def miss_parameter(site: Site) -> None:
    body = build_job(site.name, site.namespace, className=site.class_name)
    command = body["spec"]["app"]["appDef"]["commands"]["Hello"]
    command["parameters"] = {"REPLICAS": {"name": "Replicas", "type": "INT", "min": 1, "max": 9, "required": True}}
    await site.api.create(kinds.NESTED_APP_JOB, body | {"spec": body["spec"] | {"parameters": {"REPLICAS": 12}}})


async def crash(site: Site) -> None:
    where = await site.run()
    status = waiting("k3s", "CrashLoopBackOff", "back-off 20s restarting failed container=k3s")
    status["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 2, "reason": "Error"}}
    await be_syncer(site.api, site.name, where)
    await set_pod_status(site.api, f"{site.name}-k3s-0", where, status)


async def starve(site: Site) -> None:
    where = await site.run()
    status = waiting("syncer", "CrashLoopBackOff", "back-off 20s restarting failed container=syncer")
    status["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    await be_syncer(site.api, site.name, where)
    await set_pod_status(site.api, f"{site.name}-k3s-0", where, status)


async def fill_queue(site: Site) -> None:
    await site.say(queue={"maxJobs": 1})
    first = build_job(f"{site.name}-first", site.namespace, className=site.class_name)
    await site.api.create(kinds.NESTED_APP_JOB, first)
    await job_with(site.api, f"{site.name}-first", site.namespace, conditions.ADMITTED, "True")
    await site.refuse()


async def pass_deadline(site: Site) -> None:
    await site.run(activeDeadlineSeconds=1)


async def refuse_on_host(site: Site) -> None:
    """A policy engine of the host's."""
    meta = {"name": f"{site.name}-k3s-0", "namespace": site.namespace}
    body = {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await refusals.refuse(site.api, site.name, kinds.POD, body, "images must be signed")
    await site.run()


FAULTS: tuple[Fault[Site], ...] = (
    Fault("class", miss_class, "ClassNotFound", "no NestedClass named 'gold'", "available: ", "existing class", "ClassNotFound"),
    Fault("parameter", miss_parameter, "ParametersInvalid", "REPLICAS", "parameters", "correct `spec.parameters`",
          "ParametersInvalid"),
    Fault("walls", want_walls, "NetworkNotEnforced", "does not enforce NetworkPolicies", "class 'walls-",
          "install a network plugin"),
    Fault("queue", fill_queue, "Queued", "jobs running: 1 of 1", "class 'queue-", "raise the limits of the class's `queue`"),
    Fault("quota", exceed_quota, "ProvisioningFailed", "exceeded quota: admins", "pod 'quota-k3s-0'",
          "an admin can change the class"),
    Fault("policy", refuse_on_host, "ProvisioningFailed", "images must be signed", "pod 'policy-k3s-0'",
          "an admin can change the class"),
    Fault("pull", pull_nothing, "ImagePullFailed", "ErrImagePull: manifest unknown", "pod 'pull-k3s-0', container 'k3s'",
          "pull secret", "ImagePullFailed"),
    Fault("crash", crash, "ServerNotReady", "ended with exit code 2", "pod 'crash-k3s-0', container 'k3s'", "look at the logs"),
    Fault("starve", starve, "ServerOutOfMemory", "exceeded its memory limit and was killed (OOMKilled)",
          "pod 'starve-k3s-0', container 'syncer'", "delete large ConfigMaps, large Secrets and finished pods",
          "ServerOutOfMemory"),
    Fault("template", break_template, "StepFailed", "no matches for kind", "step 1 of 1 'hello'", "correct the template",
          "StepFailed"),
    Fault("slow", exceed_time, "StepFailed", "timed out after 300 s", "step 1 of 1 'hello'", "correct the template",
          "StepFailed"),
    Fault("webhook", be_refused_by_webhook, "StepFailed", "policy.example.com", "step 1 of 1 'hello'", "correct the template",
          "StepFailed"),
    Fault("service", miss_service, "TargetNotFound", "no Service named 'web'", "namespace 'default'", "must name a Service"),
    Fault("host", take_host, "HostnameConflict", "is taken by Ingress 'portal'", "host 'host.jobs.test'", "expose.host",
          "HostnameConflict"),
    Fault("nodes", have_no_nodes, "NoReadyEndpoint", "didn't match Pod's node affinity", "pod 'web-0' in namespace 'default'",
          "look at"),
    Fault("backend", lose_backend, "NoReadyEndpoint", "the backend does not answer", "of backend 'far'", "look at"),
    Fault("deadline", pass_deadline, "DeadlineExceeded", "ran longer than its `activeDeadlineSeconds` of 1 s",
          "Completion Time", "create it again with a larger", "DeadlineExceeded"),
)  # fmt: skip
"""Those whose reason is `Ready`'s, or of a condition that holds it up."""


async def clean(site: Site) -> None:
    """What a fault leaves that does not go with its job."""
    await refusals.allow(site.api, site.name)
    await site.api.delete(kinds.NODE, f"{site.name}-far")
    await site.api.delete(kinds.NESTED_CLASS, site.class_name)


async def open_site(operator: Operator, api: Api, namespace: str, name: str) -> Site:
    """One with a class of its own."""
    made = Site(operator, api, namespace, name, f"{name}-{namespace}")
    await api.apply(kinds.NESTED_CLASS, build_class(made.class_name))
    await exists(api, kinds.NESTED_CLASS, made.class_name, "")
    return made

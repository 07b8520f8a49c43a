"""Jobs in all their states, as an API server returns them."""

import datetime
from typing import Any

from nestor.api import conditions

Object = dict[str, Any]
NOW = datetime.datetime(2026, 11, 21, 12, 0, 0, tzinfo=datetime.UTC)


def ago(seconds: float) -> str:
    """A time of Kubernetes, that many seconds before NOW."""
    return (NOW - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(kind: str, status: str, reason: str, message: str = "") -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(60)}


def step(name: str, state: str = "Succeeded", kind: str = "kubectl", **more: Any) -> Object:
    times: Object = {} if state == "Pending" else {"startTime": ago(30), "attempt": 1}
    times |= {"completionTime": ago(28)} if state in ("Succeeded", "Failed") else {}
    return {"name": name, "type": kind, "state": state, "attempt": 0, "maxAttempts": 1, "message": ""} | times | more


def build_job(*found: Object, spec: Object | None = None, name: str = "shop", **status: Any) -> Object:
    """A job of an app image with these conditions and this status."""
    app = {"image": "registry.test/shop:1", "appDef": {"name": "Shop", "commands": {}}}
    return {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "uid": "u1",
            "generation": 1,
            "creationTimestamp": ago(95),
            "resourceVersion": "7",
        },
        "spec": {"className": "default"} | (spec if spec is not None else {"app": app}),
        "status": {"conditions": list(found)} | status if found or status else {},
    }


ADMITTED = condition(conditions.ADMITTED, "True", "Accepted", "class, version, command and AppDef accepted")
CLUSTER = condition(conditions.CLUSTER_READY, "True", "Provisioned", "v1.36.2+k3s1 answers")
APPLIED = condition(conditions.STEPS_APPLIED, "True", "AllStepsApplied", "2 of 2 steps applied")
EXPOSED = condition(conditions.EXPOSED, "True", "IngressReady", "http://shop-team-a.apps.test/ leads to 1 ready endpoint")
READY = condition(conditions.READY, "True", "AppReady", "http://shop-team-a.apps.test/")
RUNNING = condition(conditions.SUCCEEDED, "Unknown", "Running", "it runs")

BASE: Object = {
    "namespace": "nestor-team-a-shop-1a2b3c4d",
    "kubernetesVersion": "v1.36.2+k3s1",
    "command": "Start",
    "startTime": ago(94),
    "kubeconfigSecretName": "shop-kubeconfig",
    "observedGeneration": 1,
}


def _twice(kind: str, reason: str, message: str) -> list[Object]:
    """A condition that is False, and Ready for the same reason."""
    return [condition(item, "False", reason, message) for item in (kind, conditions.READY)]


def waiting() -> Object:
    """The cluster's image is being pulled."""
    said = "pod 'shop-k3s-0', container 'k3s': ErrImagePull: registry.test: no such host"
    found = _twice(conditions.CLUSTER_READY, conditions.IMAGE_PULL_FAILED, said)
    return build_job(
        ADMITTED,
        found[0],
        condition(conditions.STEPS_APPLIED, "False", "WaitingForCluster", "the steps wait"),
        found[1],
        RUNNING,
        **BASE | {"kubernetesVersion": "v1.36"},
    )


def running() -> Object:
    """The second of three steps is tried for the second time."""
    said = "step 2 of 3 'web' is running, attempt 2 of 11"
    found = _twice(conditions.STEPS_APPLIED, conditions.STEP_RUNNING, said)
    second = step("web", "Running", attempt=2, maxAttempts=11, startTime=ago(12))
    steps = [step("database"), second, step("charts", "Pending", "helm")]
    return build_job(ADMITTED, CLUSTER, *found, RUNNING, steps=steps, **BASE)


def retrying() -> Object:
    """It failed and will be retried; what it said would steer a terminal."""
    job = running()
    job["status"]["steps"][1] |= {
        "state": "Retrying",
        "attempt": 1,
        "exitCode": 1,
        "message": "kubectl exited with code 1: namespace/web\x1b[31m\nerror: no such host",
    }
    job["status"]["conditions"][2] |= {"reason": conditions.STEP_RETRYING, "message": "step 2 of 3 'web' will be retried"}
    job["status"]["conditions"][3] |= {"reason": conditions.STEP_RETRYING, "message": "step 2 of 3 'web' will be retried"}
    return job


def ready() -> Object:
    """Everything is there."""
    steps = [step("database"), step("web", attempt=2, maxAttempts=11, startTime=ago(27), completionTime=ago(12))]
    return build_job(
        ADMITTED,
        CLUSTER,
        APPLIED,
        EXPOSED,
        READY,
        RUNNING,
        steps=steps,
        url="http://shop-team-a.apps.test/",
        pods={"running": 3, "waiting": 0},
        timings={"ready": ago(10)},
        targets=[
            {
                "serviceName": "web",
                "serviceNamespace": "default",
                "servicePort": 80,
                "ready": True,
                "url": "http://shop-team-a.apps.test/",
            },
            {
                "serviceName": "admin",
                "serviceNamespace": "default",
                "servicePort": 8080,
                "ready": False,
                "message": "not exposed",
            },
        ],
        **BASE,
    )


def failed() -> Object:
    """A step has used up its attempts."""
    said = "step 2 of 2 'web' failed, attempt 3 of 3: error: the path \"web.yml\" does not exist"
    found = [
        condition(kind, "False", conditions.STEP_FAILED, said)
        for kind in (conditions.STEPS_APPLIED, conditions.READY, conditions.SUCCEEDED)
    ]
    message = 'applying\nerror: the path "web.yml" does not exist'
    steps = [step("database"), step("web", "Failed", attempt=3, maxAttempts=3, exitCode=1, message=message)]
    return build_job(ADMITTED, CLUSTER, *found, steps=steps, nextStep=conditions.STEP_FAILED.advice, **BASE)


def completed() -> Object:
    """A batch job that has done its work after a restart."""
    end = condition(conditions.SUCCEEDED, "True", "Completed", "Job 'default/train' is complete")
    rest = condition(conditions.READY, "True", "Completed", "Job 'default/train' is complete")
    return build_job(
        ADMITTED,
        CLUSTER,
        APPLIED,
        rest,
        end,
        steps=[step("train"), step("report")],
        restarts=1,
        completionTime=ago(4),
        spec={"appRef": {"name": "training"}, "successPolicy": {"targets": []}, "failurePolicy": {"maxRestarts": 2}},
        **BASE,
    )


def suspended() -> Object:
    """A job that rests."""
    rest = condition(conditions.READY, "False", "Suspended", "its pods have ended, its data is kept")
    return build_job(ADMITTED, rest, RUNNING, spec={"suspend": True, "appRef": {"name": "shop"}}, **BASE)


def created() -> Object:
    """Nobody has reported on it yet."""
    return build_job()


STATES = {
    "created": created,
    "waiting": waiting,
    "running": running,
    "retrying": retrying,
    "ready": ready,
    "failed": failed,
    "completed": completed,
    "suspended": suspended,
}

"""Kubernetes' own Jobs in a nested cluster: their retries, what ends them at once, and ranks that find each other by name."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions
from nestor.api.objects import Object, status_of
from nestor.kube import Api, kinds
from tests.e2e.conftest import apply, example, inline_job, kubectl, nested_kubeconfig
from tests.waiting import job_with

pytestmark = [pytest.mark.xdist_group("batch"), pytest.mark.long]

PYTHON = "docker.io/library/python:3.11-slim-bookworm"
PI = """
def arctan(x, one):
    total = term = one // x
    n, sign = 3, -1
    while term:
        term //= x * x
        total += sign * (term // n)
        n, sign = n + 2, -sign
    return total
one = 10 ** 2010
print("3." + str(4 * (4 * arctan(5, one) - arctan(239, one)) // 10 ** 10)[1:])
"""
UNTIL_FAILED = b"#!/bin/sh\nexec kubectl wait --for=condition=Failed job/stops --timeout=120s\n"
FIRST_FAILS = "test -e /mark/here || { touch /mark/here; exit 1; }"


def job_of(name: str, command: list[str], image: str = PYTHON, policy: str = "Never", **spec: Any) -> str:
    """The manifest of a nested Job with one container."""
    container = {
        "name": "main",
        "image": image,
        "command": command,
        "volumeMounts": [{"name": "mark", "mountPath": "/mark"}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
    }
    pod = {
        "restartPolicy": policy,
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": [{"name": "mark", "emptyDir": {}}],
    }
    meta = {"name": name, "namespace": "default"}
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": {"spec": pod}, **spec}})


async def read_job(inside: Path, name: str) -> Object:
    found: Object = json.loads(await kubectl(inside, "get", "job", name, "-o", "json"))
    return found


async def test_pi_is_computed_a_failed_attempt_is_repeated_and_what_cannot_heal_is_not(
    api: Api, namespace: str, tmp_path: Path
) -> None:
    stops: dict[str, Any] = {
        "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}
    }
    files = {
        "pi.json": job_of("pi", ["python3", "-c", PI], backoffLimit=4),
        "again.json": job_of("again", ["sh", "-c", FIRST_FAILS], policy="OnFailure"),
        "stops.json": job_of("stops", ["sh", "-c", "exit 42"], **stops),
    }
    # Before the others are done, which ends the application: Jobs that are not done by then have no end any more.
    until_failed = {"name": "until-failed", "type": "custom", "cmd": base64.b64encode(UNTIL_FAILED).decode()}
    first, *others = [{"name": name, "type": "kubectl", "path": f"{name}.json"} for name in ("stops", "pi", "again")]
    documents = inline_job("pi", namespace, files, [first, until_failed, *others])
    documents[-1]["spec"] |= {
        "successPolicy": {"targets": [{"kind": "Job", "name": name} for name in ("pi", "again")]},
        "failurePolicy": {"action": "Ignore", "targets": [{"kind": "Job", "name": "stops"}]},
    }
    await apply(api, documents)
    job = await job_with(api, "pi", namespace, conditions.SUCCEEDED, "True")
    inside = await nested_kubeconfig(api, job, tmp_path)
    pi, again, stopped = [await read_job(inside, name) for name in ("pi", "again", "stops")]
    assert (pi["spec"]["backoffLimit"], again["spec"]["backoffLimit"], stopped["spec"]["backoffLimit"]) == (4, 6, 6)
    digits = (await kubectl(inside, "logs", "job/pi")).strip()
    assert (digits[:22], len(digits)) == ("3.14159265358979323846", 2002)
    pods = json.loads(await kubectl(inside, "get", "pods", "-l", "batch.kubernetes.io/job-name=again", "-o", "json"))["items"]
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods] == [1]
    assert (conditions.find(status_of(stopped)["conditions"], "Failed") or {})["reason"] == "PodFailurePolicy"
    assert status_of(stopped)["failed"] == 1, "it is not tried again"


async def test_ranks_train_together_and_a_workflow_waits_for_them(
    api: Api, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    await apply(api, example("19-training", "training", namespace))
    waits = ("wait", "--for=condition=Succeeded", "nestedappjob/training", "-n", namespace)
    assert "condition met" in await kubectl(kubeconfig, *waits)
    job = await api.get(kinds.NESTED_APP_JOB, "training", namespace)
    inside = await nested_kubeconfig(api, job, tmp_path)
    logs = await kubectl(inside, "logs", "-l", "app=train", "--tail=-1", "--max-log-requests=8")
    assert sorted(line for line in logs.splitlines() if line.startswith("rank ")) == [
        f"rank {rank} of 4: y = 3.000 x + 2.000 after 50 rounds" for rank in range(4)
    ]
    assert logs.splitlines().count("4 ranks are here") == 1

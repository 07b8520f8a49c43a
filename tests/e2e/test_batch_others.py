"""Batch programs of others in nested clusters: JobSet's controller, installed by a step, and Open MPI over a headless Service."""

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from devcluster import build
from devcluster.build import assembled, mpi
from devcluster.progress import Console
from nestor.api import labels
from nestor.api.objects import Object, annotations_of, status_of
from nestor.kube import Api, kinds
from tests.e2e.conftest import (
    BUSYBOX,
    IS_EMBEDDED,
    apply,
    class_like_default,
    dump,
    inline_job,
    kubectl,
    nested_kubeconfig,
    push_images,
)
from tests.integration.controllers import JOBSETS
from tests.waiting import exists

pytestmark = [
    pytest.mark.xdist_group("batch"),
    pytest.mark.long,
    pytest.mark.slow,
    pytest.mark.skipif(not IS_EMBEDDED, reason="their images are in the embedded cluster's registry"),
    pytest.mark.timeout(1800),  # with builds, if `make test-full` has not made them
]

RANKS = 3
PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
total, places = world.allreduce(world.rank + 1), world.gather(MPI.Get_processor_name())
if world.rank == 0:
    print(f"{world.size} ranks, sum {total}, on {' '.join(sorted(places))}")
"""
SSH = "-p 2222 -i /keys/id -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
LAUNCH = f"""
if [ $JOB_COMPLETION_INDEX != 0 ]; then
  exec /usr/sbin/sshd -D -e -p 2222 -h /keys/id -o AuthorizedKeysFile=/keys/id.pub -o StrictModes=no -o PermitRootLogin=yes
fi
hosts=$(for rank in $(seq 0 {RANKS - 1}); do echo mpi-$rank.mpi; done)
for host in $hosts; do [ $host = mpi-0.mpi ] || until ssh {SSH} $host true; do sleep 1; done; done
mpirun --version | head -1
mpirun --allow-run-as-root --mca orte_keep_fqdn_hostnames 1 \\
  --host $(echo $hosts | tr ' ' ,) --mca plm_rsh_args "{SSH}" --mca btl_tcp_if_include eth0 \\
  --mca oob_tcp_if_include eth0 python3 -c "$PROGRAM"
"""
MEET = "until nslookup train-leader-0-0.train.default.svc.cluster.local; do sleep 1; done; "
FIRST_FAILS = "[ $ATTEMPT != 0 ] || exit 1; echo attempt $ATTEMPT of $JOB_COMPLETION_INDEX"


def container(image: str, script: str, **more: Any) -> Object:
    """One that runs a script."""
    shell, resources = ("bash" if image == mpi.REFERENCE else "sh"), {"requests": {"cpu": "10m", "memory": "32Mi"}}
    return {"name": "main", "image": image, "command": [shell, "-c", script], "resources": resources, **more}


async def until_completed(api: Api, name: str, namespace: str) -> Object:
    """The job at its end, which is to be a success."""
    job = await exists(api, kinds.NESTED_APP_JOB, name, namespace, lambda found: found.get("status", {}).get("terminalState"))
    assert job["status"]["terminalState"] == "Completed", job["status"]["conditions"]
    return job


def build_jobset() -> Object:
    """A leader and two workers that look for it; the first time, the workers fail."""
    attempt = {
        "name": "ATTEMPT",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"}},
    }
    parts = []
    for name, count, script in (("leader", 1, "sleep 3600"), ("workers", 2, MEET + FIRST_FAILS)):
        pod = {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [container(BUSYBOX, script, env=[attempt])],
        }
        job = {"parallelism": count, "completions": count, "backoffLimit": 0, "template": {"spec": pod}}
        parts.append({"name": name, "template": {"spec": job}})
    success = {"operator": "All", "targetReplicatedJobs": ["workers"]}
    spec = {"replicatedJobs": parts, "successPolicy": success, "failurePolicy": {"maxRestarts": 2}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": spec,
    }


async def test_a_jobset_finds_itself_by_name_restarts_and_completes_the_job(api: Api, namespace: str, tmp_path: Path) -> None:
    push_images(build.ensure(Console(), "jobset"))
    repository, tag = assembled.JOBSET.rsplit(":", 1)
    small = "controller.resources.requests.cpu=50m,controller.resources.limits.memory=256Mi"
    installed = await JOBSETS.render("--set", f"image.repository={repository},image.tag={tag},{small}")
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobset-system"}}
    for document in installed:
        if document["kind"] == kinds.SERVICE.name:
            document["metadata"]["namespace"] = "jobset-system"  # the chart leaves it to helm
    # Its webhooks answer some seconds after they are there.
    files = {"jobset.json": dump(home, *installed), "train.json": json.dumps(build_jobset())}
    steps: list[Object] = [{"name": "jobset", "type": "kubectl", "path": "jobset.json"}]
    steps += [{"name": "train", "type": "kubectl", "path": "train.json", "retry": 60, "retry_sleep": 2}]
    documents = inline_job("train", namespace, files, steps)
    async with class_like_default(api, "gangs", placement={"gang": {}}) as name:
        documents[-1]["spec"] |= {"className": name, "successPolicy": {"targets": [{"kind": "JobSet", "name": "train"}]}}
        await apply(api, documents)
        job = await until_completed(api, "train", namespace)
        inside = await nested_kubeconfig(api, job, tmp_path)
        found = json.loads(await kubectl(inside, "get", "jobset", "train", "-o", "json"))
        assert status_of(found)["restarts"] == 1
        logs = await kubectl(inside, "logs", "-l", "jobset.sigs.k8s.io/replicatedjob-name=workers", "--tail=-1")
        assert sorted(line for line in logs.splitlines() if line.startswith("attempt")) == ["attempt 1 of 0", "attempt 1 of 1"]
        hosts = await api.list(kinds.POD, job["status"]["namespace"], labels=labels.selector(component=labels.COMPONENT_APP))
        gangs = Counter(annotations_of(host).get(labels.GANG_NAME) for host in hosts)
        assert gangs["default/train-1"] == 2, "the leader is gone, as the workers are done"
        print(f"jobset {JOBSETS.version} ran")


async def test_open_mpi_starts_ranks_over_a_headless_service(api: Api, namespace: str, tmp_path: Path) -> None:
    push_images(build.ensure(Console(), "openmpi"))
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    meta = {"name": "mpi", "namespace": "default"}
    data = {"id": base64.b64encode(private).decode(), "id.pub": base64.b64encode(public).decode()}
    mount = {"name": "keys", "mountPath": "/keys"}
    main = container(mpi.REFERENCE, LAUNCH, env=[{"name": "PROGRAM", "value": PROGRAM}], volumeMounts=[mount])
    volumes = [{"name": "keys", "secret": {"secretName": "mpi", "defaultMode": 0o400}}]
    pod = {
        "subdomain": "mpi",
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [main],
        "volumes": volumes,
    }
    spec = {
        "completionMode": "Indexed", "parallelism": RANKS, "completions": RANKS, "backoffLimit": 0,
        "successPolicy": {"rules": [{"succeededIndexes": "0"}]},
        "template": {"metadata": {"labels": {"app": "mpi"}}, "spec": pod},
    }  # fmt: skip
    service = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"app": "mpi"}}
    objects = dump(
        {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data},
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": service},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec},
    )
    documents = inline_job("mpi", namespace, {"mpi.json": objects})
    documents[-1]["spec"]["successPolicy"] = {"targets": [{"kind": "Job", "name": "mpi"}]}
    await apply(api, documents)
    job = await until_completed(api, "mpi", namespace)
    inside = await nested_kubeconfig(api, job, tmp_path)
    logs = await kubectl(inside, "logs", "-l", "batch.kubernetes.io/job-completion-index=0", "--tail=-1")
    print(logs)
    assert "Open MPI" in logs
    assert "3 ranks, sum 6, on mpi-0 mpi-1 mpi-2" in logs.splitlines()

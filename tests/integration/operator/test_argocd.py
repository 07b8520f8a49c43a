"""Jobs as Argo CD sees them: specs that nobody changes, and clusters that it knows where their class says so."""

import asyncio
import base64
import json
import uuid
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509

from devcluster.demo.tools import find_tool
from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests import argocd_lua, children
from tests.integration.operator.conftest import Operator
from tests.integration.operator.lifetime import change, job_saying, rerun, start
from tests.integration.operator.world import TOUCHED, Object, build_class
from tests.waiting import eventually, exists, gone

PREVIEW = Path(__file__).parents[3] / "examples" / "18-preview-per-pull-request"


async def make_namespace(api: Api, name: str = "") -> str:
    """Where an Argo CD would run."""
    name = name or f"argocd-{uuid.uuid4().hex[:6]}"
    meta = {"name": name, "labels": {labels.ARGOCD_CLUSTERS: "allowed"}}
    await api.create(kinds.NAMESPACE, {"metadata": meta})
    return name


async def make_class(api: Api, namespace: str, **argo_cd: Any) -> str:
    """A class whose jobs' clusters the Argo CD in this namespace knows."""
    name = f"known-{uuid.uuid4().hex[:6]}"
    body = build_class(name)
    body["spec"]["argoCD"] = {"namespace": namespace, **argo_cd}
    await api.apply(kinds.NESTED_CLASS, body)
    return name


async def registered(api: Api, where: str, namespace: str) -> Object:
    """Await the Secret of the job whose own namespace is `where`."""
    return await exists(api, kinds.SECRET, where, namespace)


def read(secret: Object) -> dict[str, str]:
    """Its data as text."""
    return {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}


async def test_a_jobs_cluster_is_known_from_when_it_is_ready_until_the_job_goes(
    operator: Operator, api: Api, namespace: str
) -> None:
    argo = await make_namespace(api)
    labeled = {"team": "a", "nestor.dev/job": "other", "argocd.argoproj.io/secret-type": "repository"}
    name = await make_class(api, argo, project="nested", labels=labeled)
    job, where = await start(api, "known", namespace, className=name)
    secret = await registered(api, where, argo)
    own = secret["metadata"]["labels"]
    assert own["argocd.argoproj.io/secret-type"] == "cluster"
    assert (own["team"], own[labels.CLASS], own[labels.JOB], own[labels.JOB_NAMESPACE]) == ("a", name, "known", namespace)
    said = read(secret)
    config = json.loads(said.pop("config"))["tlsClientConfig"]
    assert said == {
        "name": f"{namespace}.known",
        "server": f"https://known-k3s.{where}.svc",
        "project": "nested",
        "namespaces": "default",
        "clusterResources": "false",
    }
    certificate = x509.load_pem_x509_certificate(base64.b64decode(config["certData"]))
    assert certificate.subject.rfc4514_string() == "CN=nestor:argocd"
    keys = await api.get(kinds.SECRET, "known-pki", where)
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(base64.b64decode(keys["data"]["access-ca.crt"])))
    assert (config["caData"], config["serverName"]) == (keys["data"]["server-ca.crt"], "kubernetes")
    [owner] = secret["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Namespace", where)
    cluster = await api.get(kinds.NESTED_CLUSTER, "known", where)
    assert cluster["status"]["policy"]["argoCD"] == {"namespaces": ["default"]}
    await api.patch(kinds.NESTED_APP_JOB, "known", namespace, TOUCHED)
    await operator.heard(api)
    assert (await api.get(kinds.SECRET, where, argo))["metadata"]["resourceVersion"] == secret["metadata"]["resourceVersion"]
    await api.delete(kinds.NESTED_APP_JOB, job["metadata"]["name"], namespace)
    await gone(api, kinds.SECRET, where, argo)


async def test_an_argo_cd_that_is_not_there_is_told_and_the_job_works(operator: Operator, api: Api, namespace: str) -> None:
    name = await make_class(api, "no-such-argocd")
    job, where = await start(api, "untold", namespace, className=name)
    said = await job_saying(api, "untold", namespace, conditions.CLUSTER_READY, "could not register the cluster with Argo CD")
    assert conditions.is_true(said["status"]["conditions"], conditions.CLUSTER_READY)
    assert job["metadata"]["uid"] == said["metadata"]["uid"]
    await make_namespace(api, "no-such-argocd")
    await registered(api, where, "no-such-argocd")


async def test_a_rotation_of_keys_gives_argo_cd_a_new_certificate(operator: Operator, api: Api, namespace: str) -> None:
    argo = await make_namespace(api)
    name = await make_class(api, argo)
    _, where = await start(api, "rotated", namespace, className=name)
    before = read(await registered(api, where, argo))["config"]
    await api.patch(kinds.NESTED_APP_JOB, "rotated", namespace, {"metadata": {"annotations": {labels.ROTATE: "1"}}})
    secret = await exists(api, kinds.SECRET, where, argo, lambda found: read(found)["config"] != before)
    config = json.loads(read(secret)["config"])["tlsClientConfig"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(config["certData"]))
    keys = await api.get(kinds.SECRET, "rotated-pki", where)
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(base64.b64decode(keys["data"]["access-ca.crt"])))


async def test_nestor_writes_nothing_of_a_job_but_its_status_and_a_finalizer(
    operator: Operator, api: Api, namespace: str
) -> None:
    """So what Git says is what is there, for ever."""
    job, _ = await start(api, "kept", namespace)
    await rerun(api, "kept", namespace, "2")
    await change(api, "kept", namespace, suspend=True)
    await exists(api, kinds.NESTED_APP_JOB, "kept", namespace, lambda found: found["status"].get("suspendTime"))
    kept = await api.get(kinds.NESTED_APP_JOB, "kept", namespace)
    assert kept["spec"] == job["spec"] | {"suspend": True}
    managers = {item["manager"]: item for item in kept["metadata"]["managedFields"]}
    [ours] = [item for name, item in managers.items() if name.startswith("nestor") and item.get("subresource") != "status"]
    assert ours["fieldsV1"].keys() == {"f:metadata"}
    assert ours["fieldsV1"]["f:metadata"].keys() <= {"f:finalizers"}


async def test_argo_cd_follows_a_real_job(operator: Operator, api: Api, namespace: str) -> None:
    async def until(status: str) -> Object:
        async def is_so() -> Object | None:
            job = await api.get(kinds.NESTED_APP_JOB, "followed", namespace)
            return job if argocd_lua.health(job)[0] == status else None

        return await eventually(is_so)

    await start(api, "followed", namespace, state="Failed")
    job = await until("Degraded")
    annotations = argocd_lua.run_action(job, "rerun")["metadata"]["annotations"]
    await api.patch(kinds.NESTED_APP_JOB, "followed", namespace, {"metadata": {"annotations": annotations}})
    job = await until("Progressing")
    await api.patch(
        kinds.NESTED_APP_JOB,
        "followed",
        namespace,
        {"spec": {"suspend": argocd_lua.run_action(job, "suspend")["spec"]["suspend"]}},
    )
    await until("Suspended")
    await api.patch(kinds.NESTED_APP_JOB, "followed", namespace, {"spec": {"suspend": False}})
    await until("Progressing")


async def test_the_job_of_the_example_is_what_its_chart_comes_to() -> None:
    """So it stands for what Argo CD makes of pull requests."""
    command = (find_tool("helm"), "template", "preview", str(PREVIEW / "preview"))
    async with children.running(*command, stdout=asyncio.subprocess.PIPE) as process:
        output, _ = await process.communicate()
    assert process.returncode == 0
    assert yaml.safe_load(output) == yaml.safe_load((PREVIEW / "job.yaml").read_text())

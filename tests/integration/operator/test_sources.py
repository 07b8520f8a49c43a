"""Applications from the catalog, and from images with their own AppDef; the tests play kubelet."""

import base64
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, Conflict, Invalid, kinds
from tests import argocd_lua
from tests.integration import apiserver
from tests.integration.operator import kubelet
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.kubelet import Logs
from tests.integration.operator.lifetime import job_saying, rerun
from tests.integration.operator.world import STEP, TARGET, Object, ended, host_namespace, message_of, runner_of, set_pod_status
from tests.waiting import another, exists, gone, has, job_with, wait_for_any, wait_for_none

IMAGE = "registry.test/hello:1"
READER = "hello-reader"


def build_appdef(path: str = "hello.yml") -> Object:
    """hello-world's AppDef, as an image or the catalog has it."""
    nested = {"targets": [TARGET], "templates": [STEP | {"path": path}]}
    commands = {"Hello": {"name": "Say hello", "nested_kubernetes": nested}}
    return {"name": "Hello", "appdefversion": 2, "appkind": "kns", "commands": commands}


def build_job(namespace: str, **spec: Any) -> Object:
    """A job that names its application by `spec`."""
    return {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "metadata": {"name": "hello", "namespace": namespace},
        "spec": spec,
    }


@pytest.fixture
async def app(api: Api) -> AsyncIterator[str]:
    """A name in the catalog, nobody else's; the entry is deleted afterwards."""
    name = f"app-{uuid.uuid4().hex[:6]}"
    yield name
    await api.delete(kinds.NESTED_APP, name)


async def put_app(api: Api, name: str, **spec: Any) -> Object:
    """Write an entry of the catalog."""
    body = {"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedApp", "metadata": {"name": name}, "spec": spec}
    if await api.find(kinds.NESTED_APP, name) is None:
        return await api.create(kinds.NESTED_APP, body)
    while True:
        found = await api.get(kinds.NESTED_APP, name)
        try:
            return await api.replace(kinds.NESTED_APP, body | {"metadata": found["metadata"]})
        except Conflict:  # the operator has written the status meanwhile
            continue


async def app_with(api: Api, name: str, status: str, generation: int) -> Object:
    """Await what the operator says of an entry as it is now."""

    def is_met(found: Object | None) -> bool:
        return has(conditions.ACCEPTED, status)(found) and (found or {})["status"]["observedGeneration"] == generation

    return await exists(api, kinds.NESTED_APP, name, "", is_met)


@pytest.fixture
async def logs(api: Api, tmp_path: Path) -> AsyncIterator[Logs]:
    """The node that the readers' pods are bound to."""
    async with kubelet.running(api, tmp_path) as running:
        yield running


async def reader_of(api: Api, where: str, attempt: int = 1) -> Object:
    """Await the reader's pod of that attempt."""
    return await exists(
        api, kinds.POD, READER, where, lambda pod: pod["metadata"]["annotations"][labels.RUNNER_ATTEMPT] == str(attempt)
    )


async def print_appdef(api: Api, logs: Logs, where: str, output: bytes) -> None:
    """The reader's pod runs and ends well, having printed `output`."""
    await exists(api, kinds.POD, READER, where)
    logs.printed[where, READER] = output
    await kubelet.bind(api, READER, where)
    await set_pod_status(api, READER, where, ended("reader", 0, "Completed"))


async def pin_of(api: Api, where: str) -> Object:
    """What is kept of the job's application."""
    found = await exists(api, kinds.CONFIG_MAP, "hello-app", where)
    content: Object = json.loads(found["data"]["app.json"])
    return content


async def path_in_plan(api: Api, where: str) -> str:
    """The template of the plan's only step."""
    found = await exists(api, kinds.SECRET, "hello-plan", where)
    (step,) = json.loads(base64.b64decode(found["data"]["plan.json"]))["steps"]
    return str(step["path"])


async def test_a_job_waits_for_its_application_and_starts_when_it_appears(
    operator: Operator, api: Api, namespace: str, app: str
) -> None:
    known = await put_app(api, "known-app", image=IMAGE, appDef=build_appdef())
    await app_with(api, "known-app", "True", known["metadata"]["generation"])
    await api.create(kinds.NESTED_APP_JOB, build_job(namespace, appRef={"name": app}))
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "False", conditions.APP_NOT_FOUND)
    assert message_of(job, conditions.READY).startswith(f"no NestedApp named '{app}'; available: ")
    assert "'known-app'" in message_of(job, conditions.READY)
    event = await wait_for_any(api, kinds.EVENT, namespace, lambda event: event["reason"] == conditions.APP_NOT_FOUND)
    assert event["type"] == "Warning"
    await put_app(api, app, image=IMAGE, appDef=build_appdef())
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "True")
    assert await pin_of(api, job["status"]["namespace"]) == {
        "source": f"NestedApp '{app}'",
        "image": IMAGE,
        "appDef": build_appdef(),
    }
    pod = await runner_of(api, "hello", job["status"]["namespace"])
    assert {"name": "app", "image": {"reference": IMAGE, "pullPolicy": "IfNotPresent"}} in pod["spec"]["volumes"]
    await api.delete(kinds.NESTED_APP, "known-app")


async def test_the_catalog_says_what_it_accepts_and_jobs_follow(operator: Operator, api: Api, namespace: str, app: str) -> None:
    made = await put_app(api, app, image=IMAGE, appDef=build_appdef())
    found = await app_with(api, app, "True", made["metadata"]["generation"])
    assert found["status"]["commands"] == [{"id": "Hello", "name": "Say hello", "description": ""}]
    assert found["status"]["title"] == "Hello"
    made = await put_app(api, app, image=IMAGE, appDef=build_appdef("/etc/passwd"), title="Mine")
    found = await app_with(api, app, "False", made["metadata"]["generation"])
    assert "`templates[0].path`" in message_of(found, conditions.ACCEPTED)
    assert "'/etc/passwd' must be relative" in message_of(found, conditions.ACCEPTED)
    assert found["status"]["title"] == "Mine"
    await api.create(kinds.NESTED_APP_JOB, build_job(namespace, appRef={"name": app}))
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "False", conditions.APPDEF_INVALID)
    assert message_of(job, conditions.ADMITTED).startswith(f"NestedApp '{app}': `templates[0].path`")
    made = await put_app(api, app, image=IMAGE)
    found = await app_with(api, app, "True", made["metadata"]["generation"])
    assert "is read from the image when a job runs" in message_of(found, conditions.ACCEPTED)
    assert "commands" not in found["status"]
    await job_with(api, "hello", namespace, conditions.ADMITTED, "Unknown", conditions.READING_APPDEF)


async def test_templates_of_the_catalog_need_their_owners_consent(operator: Operator, api: Api, namespace: str, app: str) -> None:
    files = {"metadata": {"name": "files", "namespace": namespace}, "data": {"hello.yml": "kind: ConfigMap"}}
    await api.apply(kinds.CONFIG_MAP, files)
    templates = {"configMapRef": {"name": "files", "namespace": namespace}}
    await put_app(api, app, templatesFrom=templates, appDef=build_appdef())
    await api.create(kinds.NESTED_APP_JOB, build_job(namespace, appRef={"name": app}))
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "False", conditions.TEMPLATES_NOT_FOUND)
    assert message_of(job, conditions.ADMITTED) == (
        f"NestedApp '{app}': ConfigMap 'files' in namespace '{namespace}' cannot be used by the catalog: it must be in "
        "namespace 'nestor-system', or its owner must set label 'nestor.dev/catalog: \"true\"'"
    )
    consent = {"metadata": {"labels": {labels.CATALOG: "true"}}}
    await api.patch(kinds.CONFIG_MAP, "files", namespace, consent)
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "True")
    where = job["status"]["namespace"]
    copy = await exists(api, kinds.CONFIG_MAP, "hello-templates", where)
    assert copy["data"] == files["data"]
    assert (await pin_of(api, where))["templatesFrom"] == {"name": "files", "namespace": namespace}


async def test_an_images_appdef_is_read_pinned_and_the_reader_goes(
    operator: Operator, api: Api, namespace: str, logs: Logs
) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job(namespace, app={"image": IMAGE}))
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "Unknown", conditions.READING_APPDEF)
    assert message_of(job, conditions.READY) == f"reading the AppDef from image '{IMAGE}'"
    where = await host_namespace(api, job)
    pod = await reader_of(api, where)
    assert pod["spec"]["volumes"] == [{"name": "app", "image": {"reference": IMAGE, "pullPolicy": "IfNotPresent"}}]
    home = await api.get(kinds.NAMESPACE, where)
    assert home["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"
    # Nothing else is made before it is known what for.
    assert await api.find(kinds.NESTED_CLUSTER, "hello", where) is None
    assert await api.find(kinds.STATEFUL_SET, "hello-k3s", where) is None
    await print_appdef(api, logs, where, json.dumps(build_appdef("from-image.yml")).encode() + b"\n")
    await job_with(api, "hello", namespace, conditions.ADMITTED, "True")
    assert await pin_of(api, where) == {"source": f"image '{IMAGE}'", "image": IMAGE, "appDef": build_appdef("from-image.yml")}
    assert await path_in_plan(api, where) == "from-image.yml"
    await gone(api, kinds.POD, READER, where)
    assert logs.queries
    assert {query["limitBytes"] for query in logs.queries} == {str(2**19 + 2)}


async def test_with_its_namespace_a_job_does_not_lose_its_application(
    operator: Operator, api: Api, namespace: str, app: str
) -> None:
    await put_app(api, app, image=IMAGE, appDef=build_appdef("first.yml"))
    await api.create(kinds.NESTED_APP_JOB, build_job(namespace, appRef={"name": app}))
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "True")
    where = job["status"]["namespace"]
    assert await path_in_plan(api, where) == "first.yml"
    await put_app(api, app, image=IMAGE, appDef=build_appdef("second.yml"))
    await runner_of(api, "hello", where)
    before = await api.get(kinds.NAMESPACE, where)
    await api.delete(kinds.NAMESPACE, where)
    for pod in ("hello-k3s-0", "hello-run"):
        await api.delete(kinds.POD, pod, where, grace_seconds=0)
    await another(api, kinds.NAMESPACE, where, "", than=before)
    assert (await pin_of(api, where))["appDef"] == build_appdef("first.yml")
    assert await path_in_plan(api, where) == "first.yml"


async def test_an_image_without_a_usable_appdef_is_refused_with_the_remedy(operator: Operator, api: Api, namespace: str) -> None:
    said = "the image has no file /etc/NAE/AppDef.json"
    job = await api.create(kinds.NESTED_APP_JOB, build_job(namespace, app={"image": IMAGE}))
    where = await host_namespace(api, job)
    status = ended("reader", 10)
    status["containerStatuses"][0]["state"]["terminated"]["message"] = said + "\n"
    await set_pod_status(api, READER, where, status)
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "False", conditions.APPDEF_INVALID)
    message = message_of(job, conditions.READY)
    assert message == (
        f"reading the AppDef from image '{IMAGE}': {said}; push a corrected image under another tag, or set `appDef` "
        "alongside `image`, and create a new job"
    )
    await api.delete(kinds.NESTED_APP_JOB, "hello", namespace)
    await gone(api, kinds.NESTED_APP_JOB, "hello", namespace)
    await gone(api, kinds.NAMESPACE, where, "")
    await gone(api, kinds.CLUSTER_ROLE_BINDING, where, "")


async def test_a_reader_that_ends_without_a_result_is_made_anew(operator: Operator, api: Api, namespace: str, logs: Logs) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job(namespace, app={"image": IMAGE}))
    where = await host_namespace(api, job)
    await set_pod_status(api, READER, where, ended("reader", 137, "OOMKilled"))
    await reader_of(api, where, attempt=2)
    await print_appdef(api, logs, where, b'{"commands": {"Hello": [')
    said = "the output of pod 'hello-reader' is unusable: it is not an AppDef"
    await job_saying(api, "hello", namespace, conditions.ADMITTED, said)
    await reader_of(api, where, attempt=3)
    await print_appdef(api, logs, where, json.dumps(build_appdef()).encode())
    await job_with(api, "hello", namespace, conditions.ADMITTED, "True")


async def test_a_refused_reader_is_told_and_made_when_it_may_be(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job(namespace, app={"image": IMAGE}))
    where = await host_namespace(api, job)
    await reader_of(api, where)
    await api.create(kinds.RESOURCE_QUOTA, {"metadata": {"name": "none", "namespace": where}, "spec": {"hard": {"pods": "0"}}})
    await exists(api, kinds.RESOURCE_QUOTA, "none", where, lambda found: found.get("status", {}).get("used"))
    await api.delete(kinds.POD, READER, where, grace_seconds=0)
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "False", conditions.PROVISIONING_FAILED)
    said = f"reading the AppDef from image '{IMAGE}': the reader's pod '{READER}' is refused: "
    assert message_of(job, conditions.ADMITTED).startswith(said)
    assert "exceeded quota" in message_of(job, conditions.ADMITTED)
    await api.delete(kinds.RESOURCE_QUOTA, "none", where)
    await exists(api, kinds.POD, READER, where)
    await job_with(api, "hello", namespace, conditions.ADMITTED, "Unknown", conditions.READING_APPDEF)


async def test_a_missing_pull_secret_is_told_before_anything_is_pulled(operator: Operator, api: Api, namespace: str) -> None:
    app = {"image": IMAGE, "imagePullSecretName": "mine"}
    job = await api.create(kinds.NESTED_APP_JOB, build_job(namespace, app=app))
    await job_with(api, "hello", namespace, conditions.ADMITTED, "False", conditions.PULL_SECRET_NOT_FOUND)
    where = await host_namespace(api, job)
    assert await api.find(kinds.POD, READER, where) is None
    secret = {
        "metadata": {"name": "mine", "namespace": namespace},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": '{"auths": {}}'},
    }
    await api.apply(kinds.SECRET, secret)
    pod = await reader_of(api, where)
    assert pod["spec"]["imagePullSecrets"] == [{"name": "hello-pull"}]
    assert await api.find(kinds.SECRET, "hello-pull", where)


async def test_an_entrys_secret_needs_an_image(api: Api, app: str) -> None:
    with pytest.raises(Invalid, match="`imagePullSecretName` may be set only together with `image`"):
        await put_app(api, app, imagePullSecretName="shared", appDef=build_appdef())


async def test_a_job_that_begins_suspended_makes_no_pod(operator: Operator, api: Api, namespace: str) -> None:
    job = await api.create(kinds.NESTED_APP_JOB, build_job(namespace, app={"image": IMAGE}, suspend=True))
    await job_with(api, "hello", namespace, conditions.ADMITTED, "Unknown", conditions.SUSPENDED)
    assert await api.list(kinds.NAMESPACE, labels=labels.selector(job_uid=job["metadata"]["uid"])) == []
    await api.patch(kinds.NESTED_APP_JOB, "hello", namespace, {"spec": {"suspend": False}})
    await reader_of(api, await host_namespace(api, job))


async def test_a_warning_is_in_the_condition_and_one_event(operator: Operator, api: Api, namespace: str) -> None:
    content = build_appdef()
    del content["appkind"]
    await api.create(kinds.NESTED_APP_JOB, build_job(namespace, app={"image": IMAGE, "appDef": content}))
    job = await job_with(api, "hello", namespace, conditions.ADMITTED, "True")
    assert "; warning: `appDef.appkind` is not set" in message_of(job, conditions.ADMITTED)
    nested = content["commands"]["Hello"]["nested_kubernetes"]
    nested["kubernetes_version"] = "v1.35"
    await api.patch(kinds.NESTED_APP_JOB, "hello", namespace, {"spec": {"app": {"appDef": content}}})
    said = "version 'v1.35' of the AppDef is ignored"
    await job_saying(api, "hello", namespace, conditions.ADMITTED, said)
    await wait_for_any(api, kinds.EVENT, namespace, lambda event: "'v1.35'" in event["message"])
    events = [event for event in await api.list(kinds.EVENT, namespace) if event["reason"] == "AppDefWarning"]
    assert [("v1.35" in event["message"]) for event in events].count(False) == 1
    assert {event["type"] for event in events} == {"Warning"}


async def test_a_job_keeps_its_inputs_over_restarts_tells_of_changes_and_takes_them_up_in_a_rerun(
    second_plane: apiserver.ControlPlane, lonely: Api
) -> None:
    async def put(text: str) -> None:
        meta = {"name": "inputs", "namespace": "default", "labels": {labels.CATALOG: "true"}}
        await lonely.apply(kinds.CONFIG_MAP, {"metadata": meta, "data": {"hello.yml": text}})
        await lonely.apply(kinds.SECRET, {"metadata": meta, "type": "Opaque", "stringData": {"PASSWORD": text}})

    async def put_shop(path: str) -> None:
        content = build_appdef(path)
        content["commands"]["Hello"]["parameters"] = {"PASSWORD": {"variable": True}}
        await put_app(lonely, "shop", templatesFrom={"configMapRef": {"name": "inputs", "namespace": "default"}}, appDef=content)

    async def read_taken(where: str) -> tuple[str, str, str]:
        files, plan = (
            await lonely.get(kinds.CONFIG_MAP, "hello-templates", where),
            await exists(lonely, kinds.SECRET, "hello-plan", where),
        )
        found = json.loads(base64.b64decode(plan["data"]["plan.json"]))
        return files["data"]["hello.yml"], found["environment"]["PASSWORD"], found["steps"][0]["path"]

    await put("first")
    await put_shop("first.yml")
    body = build_job("default", appRef={"name": "shop"}, parametersFrom={"secretRef": {"name": "inputs"}})
    async with operator_running(second_plane):
        await lonely.create(kinds.NESTED_APP_JOB, body)
        await job_with(lonely, "hello", "default", conditions.ADMITTED, "True", conditions.ADMITTED_REASON)
        await put_shop("second.yml")
        await job_saying(lonely, "hello", "default", conditions.ADMITTED, "later changes to NestedApp 'shop' are not in use: ")
        await wait_for_any(lonely, kinds.EVENT, "default", lambda event: event["reason"] == conditions.INPUTS_CHANGED)
    await put("second")
    async with operator_running(second_plane):
        said = "later changes to ConfigMap 'inputs', Secret 'inputs', NestedApp 'shop' are not in use: "
        job = await job_saying(lonely, "hello", "default", conditions.ADMITTED, said)
        assert said in argocd_lua.health(job)[1]
        where = job["status"]["namespace"]
        assert await read_taken(where) == ("first", "first", "first.yml")
        await rerun(lonely, "hello", "default", "2")
        await exists(lonely, kinds.NESTED_APP_JOB, "hello", "default", lambda found: found["status"].get("rerun") == "2")
        await job_with(lonely, "hello", "default", conditions.ADMITTED, "True", conditions.ADMITTED_REASON)
        assert await read_taken(where) == ("second", "second", "second.yml")
        await lonely.delete(kinds.NESTED_APP_JOB, "hello", "default")
        await wait_for_none(lonely, kinds.NESTED_APP_JOB, "default")
    await lonely.delete(kinds.NESTED_APP, "shop")

"""AppDefs that no author writes: each is refused with a message, and other jobs do not notice."""

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from nestor.api import conditions, labels
from nestor.kube import Api, kinds
from tests.integration.operator.conftest import Operator
from tests.integration.operator.world import STEP, Object, build_job, message_of, runner_of
from tests.waiting import exists, job_with, wait_for_any

MOST_PASSES = 8
REFUSED_BY_SCHEMA = "(the API server's own schema is first)"


def nest(depth: int, *, is_list: bool = False) -> Any:
    """A value in so many lists or dictionaries."""
    value: Any = 1
    for _ in range(depth):
        value = [value] if is_list else {"a": value}
    return value


def command(**nested: Any) -> Object:
    """An AppDef with one command."""
    return {"commands": {"Hello": {"nested_kubernetes": {"templates": [STEP], **nested}}}}


LONG, HUGE = "x" * 200_000, "x" * 1_000_000
TOO_LARGE = "bytes as JSON; at most 262144 are accepted"
HOSTILE: dict[str, tuple[Any, str]] = {
    "deep-100": (command() | {"x": nest(100)}, "`appDef.x.a.a.a.a.a.a.a…` must not be nested deeper than 64 levels"),
    "deep-900": (command() | {"x": nest(900)}, "must not be nested deeper"),
    "deep-lists": (command() | {"x": nest(3000, is_list=True)}, "must not be nested deeper"),
    "deep-4000": (command() | {"x": nest(4000)}, "must not be nested deeper"),
    "number": (5, REFUSED_BY_SCHEMA),
    "list": ([command()], REFUSED_BY_SCHEMA),
    "keys": ({f"k{number}": 1 for number in range(65)}, REFUSED_BY_SCHEMA),
    "no-commands": ({}, "`appDef.commands` must be set"),
    "commands-list": ({"commands": ["Hello"]}, "`appDef.commands` must be a dictionary"),
    "commands-null": ({"commands": None}, "`appDef.commands`"),
    "command-text": ({"commands": {"Hello": "run"}}, "`appDef.commands.Hello` must be a dictionary"),
    "nested-list": ({"commands": {"Hello": {"nested_kubernetes": [1]}}}, "`appDef.commands.Hello.nested_kubernetes` must be"),
    "templates-dict": (command(templates={"a": STEP}), "templates` must be a list"),
    "step-number": (command(templates=[7]), "templates[0]` must be a dictionary"),
    "targets-text": (command(targets="web:80"), "targets` must be a list"),
    "port-huge": (command(targets=[{"service_name": "a", "service_port": 2**62, "service_namespace": "b"}]), "service_port`"),
    "version-text": (command() | {"appdefversion": "two"}, "`appDef.appdefversion`"),
    "retry-huge": (command(templates=[STEP | {"retry": 2**62}]), "`templates[0].retry` must be an integer from 0 to 10000"),
    "retry-half": (command(templates=[STEP | {"retry": 1.5}]), "`templates[0].retry` must be an integer"),
    "retry-true": (command(templates=[STEP | {"retry": True}]), "`templates[0].retry` must be an integer"),
    "nul-name": (command(templates=[STEP | {"name": "a\0b"}]), "`templates[0].name`"),
    "nul-path": (command(templates=[STEP | {"path": "a\0b"}]), "`templates[0].path`"),
    "line-name": (command(templates=[STEP | {"name": "a\nb"}]), "`templates[0].name`"),
    "long-name": (command(templates=[STEP | {"name": LONG}]), "`templates[0].name`"),
    "long-path": (command(templates=[STEP | {"path": LONG}]), "`templates[0].path`"),
    "long-kind": (command(templates=[STEP | {"type": LONG}]), "`templates[0].type`"),
    "long-key": ({"commands": {LONG: {"nested_kubernetes": {"templates": "x"}}}}, "`appDef.commands` must have ids of"),
    "huge-name": (command(templates=[STEP | {"name": HUGE}]), TOO_LARGE),
    "links-out": (command(templates=[STEP | {"path": "a/../../b"}]), "must not contain '..'"),
    "bad-base64": (command(templates=[{"name": "a", "type": "custom", "cmd": "%%%"}]), "`templates[0]"),
    "empty-script": (command(templates=[{"name": "a", "type": "custom", "cmd": ""}]), "`templates[0]"),
    "many-steps": (command(templates=[STEP | {"name": f"s{number}"} for number in range(3000)]), "must have at most"),
    "right-to-left": ({"commands": {"\u202eoll\u0000eH": {"nested_kubernetes": {}}}}, "templates` must be set"),
}


PARAMETERS: dict[str, tuple[Any, str]] = {
    "deep-parameters": ({"a": nest(2000)}, "must not be nested deeper"),
    "long-parameters": ({"a": LONG}, "`spec.parameters` may not be set: the command has no parameters"),
    "huge-parameters": ({"a": HUGE}, TOO_LARGE),
    "nul-parameters": ({"a\0\u202e": "\0"}, "`spec.parameters` may not be set"),
    "listed-parameters": ([1], REFUSED_BY_SCHEMA),
}


async def post(api: Api, namespace: str, body: str) -> int:
    """Create a job from text, as hostile clients do; returns the API server's answer."""
    url, headers = api.host + kinds.NESTED_APP_JOB.path(namespace), {"Content-Type": "application/json"}
    data = io.BytesIO(body.encode())
    async with aiohttp.ClientSession() as session, session.post(url, data=data, ssl=api.ssl_context, headers=headers) as answer:
        return answer.status


async def find_surprise(api: Api, namespace: str, name: str) -> str | None:
    """Write one of the AppDefs or parameters; returns what is not as it should be of the answer."""
    body = build_job(name, namespace)
    if name in HOSTILE:
        body["spec"]["app"]["appDef"], said = HOSTILE[name]
    else:
        body["spec"]["parameters"], said = PARAMETERS[name]
    status = await post(api, namespace, json.dumps(body))
    if status == 422:
        return None if said == REFUSED_BY_SCHEMA else "refused by the schema"
    if status != 201:
        return f"HTTP {status}"
    try:
        job = await job_with(api, name, namespace, conditions.ADMITTED, "False")
    except AssertionError as error:
        return str(error)[:2000]
    message = message_of(job, conditions.ADMITTED)
    if said in message and len(message) <= 2000 and message_of(job, conditions.READY) == message:
        return None
    return message


def peak_memory(operator: Operator) -> int:
    """The most MiB that the operator ever had."""
    status = Path(f"/proc/{operator.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) // 1024


@pytest.mark.slow
async def test_each_is_refused_with_a_message_and_a_good_job_proceeds_meanwhile(
    operator: Operator, api: Api, namespace: str
) -> None:
    async def write_all() -> dict[str, str]:
        names = [*HOSTILE, *PARAMETERS]
        found = await asyncio.gather(*(find_surprise(api, namespace, name) for name in names))
        return {name: surprise for name, surprise in zip(names, found, strict=True) if surprise}

    writing = asyncio.create_task(write_all())
    await wait_for_any(api, kinds.NESTED_APP_JOB, namespace, lambda found: True)
    await api.create(kinds.NESTED_APP_JOB, build_job("good", namespace))
    job = await job_with(api, "good", namespace, conditions.ADMITTED, "True")
    await runner_of(api, "good", job["status"]["namespace"])
    assert await writing == {}
    assert await operator.health("healthz") == 200
    # The chart gives it 512 MiB.
    assert peak_memory(operator) < 384
    # Once as it came, then for our own writes: what is refused is not looked at again and again.
    passes = operator.count_passes(kinds.NESTED_APP_JOB, namespace)
    assert {name: passes[name] for name in (*HOSTILE, *PARAMETERS) if passes[name] > MOST_PASSES} == {}


def build_gang_pod(name: str, namespace: str, size: int) -> Object:
    """A pod of a user with the labels of a gang's, and of so many bytes."""
    marks = {labels.MANAGED_BY: "nestor", labels.CLUSTER: "own", labels.GANG: "x"}
    notes = {labels.GANG_NAME: "y" * 10_000, labels.GANG_SIZE: "1"}
    terms = [{"matchExpressions": [{"key": f"k{number}", "operator": "Exists"}]} for number in range(size // 100)]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    env = [{"name": f"a{number}"} for number in range(size // 40)]
    spec: Object = {
        "containers": [{"name": "c", "image": "example/web:1", "env": env}],
        "schedulingGates": [{"name": labels.GANG}],
    }
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": marks, "annotations": notes},
        "spec": spec | ({"affinity": affinity} if terms else {}),
    }


@pytest.mark.slow
async def test_pods_that_look_like_those_of_a_gang_end_nobody(operator: Operator, api: Api, namespace: str) -> None:
    kind = kinds.NESTED_CLUSTER
    cluster = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": "own", "namespace": namespace}}
    await api.create(kind, cluster | {"spec": {"className": "default"}})
    await exists(api, kinds.SERVICE_ACCOUNT, "default", namespace)
    for number in range(12):
        await api.create(kinds.POD, build_gang_pod(f"large-{number}", namespace, 800_000))
    await api.create(kinds.POD, build_gang_pod("small", namespace, 0))
    await api.create(kinds.NESTED_APP_JOB, build_job("good", namespace))
    job = await job_with(api, "good", namespace, conditions.ADMITTED, "True")
    await runner_of(api, "good", job["status"]["namespace"])
    assert await operator.health("healthz") == 200
    assert peak_memory(operator) < 384

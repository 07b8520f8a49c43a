"""The three applications of the KNS tutorial, unchanged in shape, from their AppDef to what the runner does."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.appdef import choose_command, read_appdef
from nestor.apps import steps
from nestor.apps.runner.attempt import Attempt
from nestor.apps.runner.command import Outcome
from nestor.apps.runner.run import Runner
from nestor.apps.steps import Plan, Run, sources
from tests.unit.apps.runner.test_run import FakeClock
from tests.unit.apps.steps.builders import encode

Object = dict[str, Any]

HELLO: list[Object] = [{"name": "google-sample", "type": "kubectl", "path": "google-sample.yml"}]
ARGO_URL = "https://raw.githubusercontent.com/argoproj/argo-cd/stable/manifests/install.yaml"
ARGO: list[Object] = [{"name": "allinone", "type": "kubectl", "path": ARGO_URL, "format": "url"}]
SCRIPT = """#!/bin/bash
#

set -x

git clone https://git.example.com/models/server && cd server

cat <<EOF > values.yaml
models:
  small-cpu:
    enabled: true
    minReplicas: 1
  other-cpu:
    enabled: true
EOF

helm upgrade --install server ./charts/server \\
    -f ./values.yaml \\
    --wait --timeout 10m
"""
MODELS: list[Object] = [{"name": "helmdeploy", "type": "custom", "cmd": encode(SCRIPT)}]


def appdef(templates: list[Object], **nested: Any) -> Object:
    return {
        "name": "Hello World",
        "description": "Hello world app for KNS.",
        "author": "somebody",
        "licensed": False,
        "appdefversion": 2,
        "appkind": "kns",
        "classifications": ["Uncategorized"],
        "machines": ["*"],
        "vault-types": ["FILE", "BLOCK", "BLOCK_ARRAY", "OBJECT"],
        "image": {"type": "image/png", "data": ""},
        "commands": {
            "Hello": {
                "path": "/usr/bin/true",
                "name": "Start nested http server",
                "description": "Say hello world.",
                "parameters": {},
                "nested_kubernetes": {
                    "targets": [{"service_name": "web", "service_port": 8080, "service_namespace": "default"}],
                    "templates": templates,
                    **nested,
                },
            }
        },
    }


def plan_of(content: Object) -> Plan:
    chosen = choose_command(read_appdef(content), None)
    assert chosen.warnings == steps.list_warnings(chosen.nested.model_dump(), chosen.where) == []
    checked = steps.check_parameters(chosen.command.parameters, None)
    assert checked.warnings == ()
    return steps.build_plan(
        chosen.nested.model_dump(),
        "base",
        parameters=checked.values,
        environment=checked.environment,
        facts={"name": "hello", "namespace": "team-a"},
    )


def test_hello_world_applies_its_file_once() -> None:
    [step] = plan_of(appdef(HELLO)).steps
    assert (step.name, step.type, step.path, step.format) == ("google-sample", "kubectl", "google-sample.yml", "file")
    assert (step.max_attempts, step.render, step.namespace, step.server_side) == (1, False, None, False)


def test_argo_cd_is_one_url_without_a_file() -> None:
    [step] = plan_of(appdef(ARGO)).steps
    assert (step.name, step.type, step.path, step.format, step.sha256) == ("allinone", "kubectl", ARGO_URL, "url", None)


def test_kubeai_is_a_script_that_may_wait_ten_minutes_for_helm() -> None:
    [step] = plan_of(appdef(MODELS)).steps
    assert (step.name, step.type, step.path) == ("helmdeploy", "custom", None)
    assert step.cmd is not None
    assert sources.decode_script(step.cmd).decode() == SCRIPT
    assert step.timeout_seconds == 3600 > 10 * 60
    [own] = plan_of(appdef([MODELS[0] | {"timeout_seconds": 900}])).steps
    assert own.timeout_seconds == 900


def test_the_older_tutorials_spelling_and_settings_make_the_same_plan() -> None:
    newer = appdef(HELLO, templates_settings={"global_retry": 20, "global_retry_sleep": 15})
    older = appdef(HELLO, templates_settings={"global_retry": 20, "global_retry_sleep": 15}, kubernetes_version="")
    command = older["commands"]["Hello"]
    command["nestedkubernetes"] = command.pop("nested_kubernetes")
    assert plan_of(older) == plan_of(newer)


class Stage:
    """The runner's own loop, with steps that fail as often as they are told to."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.executed: list[str] = []
        self.clock = FakeClock()

    async def save(self, run: Run) -> None:
        assert run.steps

    async def execute(self, attempt: Attempt) -> Outcome:
        self.executed.append(attempt.step.name)
        self.failures -= 1
        return Outcome(1, "error: not yet") if self.failures >= 0 else Outcome(0, "")

    async def run(self, plan: Plan) -> Run:
        return await Runner(plan, self.save, self.execute, self.clock, lambda _: None).run(None)


GLOBAL = {"global_retry": 20, "global_retry_sleep": 15}
OWN = {"retry": 10, "retry_sleep": 30}


@pytest.mark.parametrize(
    ("settings", "own", "attempts", "sleep"),
    [
        (GLOBAL, {}, 21, 15),
        (GLOBAL, OWN, 11, 30),
        ({}, OWN, 11, 30),
        (GLOBAL, {"retry": 10}, 11, 15),
        (GLOBAL, {"retry_sleep": 30}, 21, 30),
        ({}, {}, 1, 0),
    ],
)
async def test_the_tutorials_retries_are_so_many_and_so_far_apart(
    settings: Object, own: Object, attempts: int, sleep: int
) -> None:
    plan = plan_of(appdef([HELLO[0] | own, {"name": "next", "type": "kubectl", "path": "next.yml"}], templates_settings=settings))
    spent = Stage(failures=1000)
    run = await spent.run(plan)
    assert (run.state, spent.executed) == ("Failed", ["google-sample"] * attempts)
    assert spent.clock.slept == [sleep] * (attempts - 1)
    assert (run.steps[0].attempt, run.steps[0].max_attempts, run.steps[1].state) == (attempts, attempts, "Pending")

    last = Stage(failures=attempts - 1)
    assert (await last.run(plan)).state == "Succeeded"
    assert last.executed == ["google-sample"] * attempts + ["next"]
    assert last.clock.slept == [sleep] * (attempts - 1)

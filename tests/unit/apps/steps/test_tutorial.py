"""The three applications of the KNS tutorial, unchanged in shape, from their AppDef to their plan."""

from __future__ import annotations

from typing import Any

from nestor.api.appdef import choose_command, read_appdef
from nestor.apps import steps
from nestor.apps.steps import Plan, sources
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

"""The three applications of the KNS tutorial, unchanged in shape, from their AppDef to their plan."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.appdef import choose_command, read_appdef
from nestor.apps import steps
from nestor.apps.steps import Plan, sources
from tests.unit.api.test_appdef import NESTED, appdef
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


def plan_of(templates: list[Object]) -> Plan:
    chosen = choose_command(read_appdef(appdef(NESTED | {"templates": templates})), None)
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


@pytest.mark.parametrize(
    ("templates", "said"),
    [
        (HELLO, ("google-sample", "kubectl", "google-sample.yml", "file")),
        (ARGO, ("allinone", "kubectl", ARGO_URL, "url")),  # one URL without a file
    ],
)
def test_hello_world_and_argo_cd_apply_one_manifest_once(templates: list[Object], said: tuple[str, ...]) -> None:
    [step] = plan_of(templates).steps
    assert (step.name, step.type, step.path, step.format) == said
    assert (step.max_attempts, step.render, step.namespace, step.server_side, step.sha256) == (1, False, None, False, None)


def test_kubeai_is_a_script_that_may_wait_ten_minutes_for_helm() -> None:
    [step] = plan_of(MODELS).steps
    assert (step.name, step.type, step.path) == ("helmdeploy", "custom", None)
    assert step.cmd is not None
    assert sources.decode_script(step.cmd).decode() == SCRIPT
    assert step.timeout_seconds == 3600 > 10 * 60
    [own] = plan_of([MODELS[0] | {"timeout_seconds": 900}]).steps
    assert own.timeout_seconds == 900

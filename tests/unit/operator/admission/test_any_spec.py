"""Whatever a user writes: a plan, or a refusal that names the field; never anything else."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nestor.api import conditions
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.apps.steps import Plan
from nestor.operator.admission.app_source import KEY, AppSource, digest_snapshot, dump_snapshot, parse_snapshot
from nestor.operator.admission.catalog import build_status
from nestor.operator.admission.identity import Denial, Refused
from tests.unit.operator.builders import STEPS, TARGET, Object, build_app, build_job, build_policy, resolve

CLASSES = {"default": build_policy()}
SETTINGS = settings(max_examples=100)
GOOD: Object = {
    "name": "Hello",
    "appdefversion": 2,
    "appkind": "kns",
    "licensed": False,
    "machines": ["*"],
    "image": {"type": "image/png", "data": ""},
    "commands": {
        "Hello": {
            "path": "/usr/bin/true",
            "name": "Start",
            "parameters": {
                "size": {"type": "RANGE", "value": 1, "min": 0, "max": 5, "step": 1, "variable": True},
                "mode": {"type": "selection", "values": ["a", "b"]},
            },
            "nested_kubernetes": {
                "kubernetes_version": "v1.36",
                "targets": [TARGET],
                "templates_settings": {"global_retry": 2, "global_retry_sleep": 1},
                "templates": [
                    *STEPS,
                    {"name": "script", "type": "custom", "cmd": "IyEvYmluL3NoCmVjaG8gaGkK", "timeout_seconds": 5, "render": True},
                    {"name": "chart", "type": "helm", "path": "chart", "values": {"a": [1]}, "values_files": ["v.yml"]},
                    {
                        "name": "remote",
                        "type": "kubectl",
                        "format": "url",
                        "path": "https://example.com/a.yml",
                        "sha256": "0" * 64,
                    },
                    {"name": "overlay", "type": "kustomize", "path": "overlay"},
                ],
            },
        }
    },
}
OTHER_REASONS = (
    conditions.COMMAND_NOT_FOUND,
    conditions.VERSION_UNSUPPORTED,
    conditions.CLASS_NOT_FOUND,
    conditions.READING_APPDEF,
    conditions.APP_NOT_FOUND,
)
"""Refusals whose message is about a name, which is in it."""
WORDS = st.sampled_from(["", "..", "kubectl", "https://a", "-1"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), WORDS)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=12
)


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [path, *(place for key in keys for place in list_paths(value[key], (*path, key)))]


@st.composite
def spoilt(draw: st.DrawFn, good: Object) -> Any:
    """A good value, with something else in up to three places."""
    content: Any = {"root": copy.deepcopy(good)}
    for _ in range(draw(st.integers(1, 3))):
        path = ("root", *draw(st.sampled_from(list_paths(content["root"]))))
        holder = content
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = draw(JSON)
    return content["root"]


def check(job: Object) -> None:
    """A plan that can be read again, or a refusal in words."""
    plan = plan_of(job)
    if isinstance(plan, Plan):
        assert Plan.model_validate_json(plan.to_json()) == plan
        return
    assert plan.reason in OTHER_REASONS or "`" in plan.message
    assert plan.message.encode()


def plan_of(job: Object) -> Plan | Denial:
    """What a job comes to."""
    try:
        return resolve(job, CLASSES).build_plan("image:x", 0)
    except Refused as refused:
        return refused.denial


SPEC: Object = {
    "app": {"image": "a:1", "appDef": GOOD, "templatesFrom": {"configMapRef": {"name": "a"}}},
    "command": "Hello",
    "parameters": {"size": 3, "mode": "b"},
    "className": "default",
    "kubernetesVersion": "v1.36",
    "suspend": False,
    "expose": {"host": "a.jobs.test", "allTargets": True},
    "activeDeadlineSeconds": 1,
    "ttlSecondsAfterFinished": 1,
    "successPolicy": {"targets": [{"kind": "Job", "name": "a"}]},
    "failurePolicy": {"action": "Restart"},
}


def test_the_good_one_makes_a_plan() -> None:
    assert len(resolve(build_job() | {"spec": SPEC}, CLASSES).build_plan("x", 0).steps) == 6


@settings(max_examples=300)
@given(spoilt(SPEC) | spoilt(GOOD).map(lambda appdef: SPEC | {"app": {"image": "a:1", "appDef": appdef}}))
def test_any_spec(spec: Any) -> None:
    """Older CRDs let in what the newest does not; the API server lets in nothing that is no dictionary."""
    if isinstance(spec, dict):
        check(build_job() | {"spec": spec})


@SETTINGS
@given(spoilt(build_app("a", appDef=GOOD)["spec"]))
def test_any_entry_of_the_catalog_gets_a_status(spec: Any) -> None:
    if not isinstance(spec, dict):  # as the API server has it
        return
    status = build_status({"metadata": {"name": "a", "generation": 1}, "spec": spec}, "2026-01-01T00:00:00Z")
    (accepted,) = status["conditions"]
    assert accepted["status"] in ("True", "False")
    assert accepted["status"] == "True" or "`" in accepted["message"]


@SETTINGS
@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_any_pin_is_read_as_it_was_written(appdef: Object) -> None:
    source = AppSource(app_def=appdef, image="a:1", origin="image 'a:1'")
    spec = NestedAppJobSpec.model_validate({"app": {"image": "a:1"}})
    stored = dump_snapshot(source)
    found = parse_snapshot({"data": {KEY: stored}}, spec, digest_snapshot(stored))
    assert repr(found) == repr(source)

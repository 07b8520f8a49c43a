"""A step's hash says whether it is to be run again, a plan's whether its runner is to be replaced."""

from typing import Any

import pytest

from nestor.apps.steps import Remote
from tests.unit.apps.steps.builders import Object, build, chart, encode, read, script, template


@pytest.mark.parametrize(
    ("step", "change"),
    [
        (template(), {"path": "other.yml"}),
        (template(), {"type": "kustomize"}),
        (template(), {"namespace": "web"}),
        (template(), {"server_side": True}),
        (template(), {"render": True}),
        (template(path="https://x.test/a", format="url"), {"sha256": "f" * 64}),
        (script(), {"cmd": encode("#!/bin/sh\nfalse\n")}),
        (chart(), {"values": {"a": 1}}),
        (chart(), {"values_files": ["a.yml"]}),
        (chart(), {"release": "other"}),
        (chart(), {"wait": False}),
        (chart(), {"path": None, "chart": "oci://x.test/web"}),
        (chart(path=None, chart="oci://x.test/web"), {"version": "1.2.3"}),
    ],
)
def test_what_a_step_does_changes_its_hash_and_the_plans(step: Object, change: Object) -> None:
    assert read(step | change).hash != read(step).hash
    assert build(step | change).hash != build(step).hash


@pytest.mark.parametrize("change", [{"retry": 9}, {"retry_sleep": 9}, {"timeout_seconds": 9}, {"name": "other"}])
@pytest.mark.parametrize("step", [template(), script()])
def test_names_and_limits_change_the_plans_hash_alone(step: Object, change: Object) -> None:
    assert read(step | change).hash == read(step).hash
    assert build(step | change).hash != build(step).hash


@pytest.mark.parametrize("change", [{"comment": "x", "cmd": "", "wait": 3}, {"retry": 0}, {"namespace": ""}, {"format": "file"}])
def test_what_means_nothing_changes_no_hash(change: Object) -> None:
    assert build(template(**change)).hash == build(template()).hash


def test_the_order_of_keys_means_nothing() -> None:
    assert build(dict(reversed(chart(values={"a": 1, "b": 2}).items()))) == build(chart(values={"b": 2, "a": 1}))


def test_the_base_changes_the_plans_hash_alone() -> None:
    assert build(template(), base="other").hash != build(template()).hash
    assert build(template(), base="other").steps == build(template()).steps
    assert build(template(), base="other").base == "other"


@pytest.mark.parametrize(
    ("step", "more", "changes"),
    [
        (template(), {"parameters": {"a": 1}}, False),
        (template(render=True), {"parameters": {"a": 1}}, True),
        (template(render=True), {"facts": {"url": "http://x"}}, True),
        (template(), {"facts": {"url": "http://x"}}, False),
        (template(render=True), {"environment": {"A": "1"}}, False),
        (script(), {"environment": {"A": "1"}}, True),
        (script(), {"parameters": {"a": 1}}, False),
        (chart(), {"environment": {"A": "1"}, "parameters": {"a": 1}}, False),
    ],
)
def test_parameters_count_for_the_steps_that_see_them(step: Object, more: dict[str, Any], changes: bool) -> None:
    before, after = build(step), build(step, **more)
    assert (before.steps[0].hash != after.steps[0].hash) is changes
    assert (before.hash != after.hash) is changes


@pytest.mark.parametrize(
    ("step", "changes"),
    [
        (template(), False),
        (script(), False),
        (chart(), False),
        (template(path="https://x.test/a", format="url"), True),
        (chart(path=None, chart="oci://x.test/web"), True),
        (template(type="kustomize", path="over"), True),  # it may name bases that are elsewhere
    ],
)
@pytest.mark.parametrize("policy", [Remote(allowed_hosts=("x.test",)), Remote(max_bytes=5)])
def test_what_the_class_says_about_urls_counts_for_plans_that_may_fetch(step: Object, changes: bool, policy: Remote) -> None:
    assert (build(step, remote=policy).hash != build(step).hash) is changes
    assert build(step, remote=policy).steps[0].hash == read(step).hash
    assert build(step, remote=policy).remote == policy


def test_a_host_cluster_that_moves_its_api_changes_no_hash() -> None:
    step, policy = template(path="https://x.test/a", format="url"), Remote(denied_addresses=("10.0.0.1",))
    assert build(step, remote=policy).hash == build(step).hash
    assert build(step, remote=policy).remote == policy


def test_hashes_stay_what_they_are_in_later_versions() -> None:
    """Another hash of the same step would run the steps of all running jobs again when Nestor is upgraded."""
    plan = build(
        template(),
        script(),
        chart(values={"b": 1, "a": [2]}),
        template(name="r", render=True),
        parameters={"size": 3},
        environment={"SIZE": "3"},
        facts={"name": "hello"},
    )
    assert [step.hash for step in plan.steps] == ["1fa748d324dacd1c", "cccf6fe03e0ce45a", "0cbb21b51c07443a", "27b97cbf9d17b2cd"]
    assert build(template(type="kustomize", path="over")).hash == "39f0a537da958eb5", "a plan's, under no policy"

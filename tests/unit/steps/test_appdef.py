from __future__ import annotations

from typing import Any

import pytest

from nestor import steps

Object = dict[str, Any]


def template(**changes: Any) -> Object:
    return {"name": "install", "type": "kubectl", "path": "web.yml", **changes}


def nested(*templates: Any, **settings: Any) -> Object:
    return {"templates": list(templates) or [template()], "templates_settings": settings}


def faults(nested_kubernetes: Object) -> list[str]:
    with pytest.raises(steps.PlanError) as refused:
        steps.build_plan(nested_kubernetes, "sources")
    return refused.value.messages


@pytest.mark.parametrize(
    ("settings", "own", "retry", "sleep"),
    [
        ({}, {}, 0, 5),
        ({"global_retry": 20}, {}, 20, 5),
        ({"global_retry_sleep": 15}, {}, 0, 15),
        ({"global_retry": 20, "global_retry_sleep": 15}, {}, 20, 15),
        ({"global_retry": 20, "global_retry_sleep": 15}, {"retry": 10}, 10, 15),
        ({"global_retry": 20, "global_retry_sleep": 15}, {"retry_sleep": 30}, 20, 30),
        ({"global_retry": 20, "global_retry_sleep": 15}, {"retry": 10, "retry_sleep": 30}, 10, 30),
        ({"global_retry": 20, "global_retry_sleep": 15}, {"retry": 0, "retry_sleep": 0}, 0, 0),
        ({"global_retry": 20}, {"retry": None}, 20, 5),
        ({}, {"retry": 3}, 3, 5),
    ],
)
def test_a_steps_own_value_wins_each_of_the_two_on_its_own(settings: Object, own: Object, retry: int, sleep: int) -> None:
    step = steps.build_plan(nested(template(**own), **settings), "sources").steps[0]
    assert (step.retry, step.max_attempts, step.retry_sleep_seconds) == (retry, retry + 1, sleep)


def test_the_tutorials_appdef_makes_a_plan_in_list_order() -> None:
    plan = steps.build_plan(
        {
            "targets": [{"service_name": "web", "service_port": 8080, "service_namespace": "default"}],
            "templates": [template(name="google-sample", path="google-sample.yml"), template(name="next", path="sub/next.yml")],
        },
        "sources",
    )
    assert [(step.name, step.type, step.path) for step in plan.steps] == [
        ("google-sample", "kubectl", "google-sample.yml"), ("next", "kubectl", "sub/next.yml"),
    ]


def test_unknown_keys_are_left_alone() -> None:
    assert steps.build_plan({**nested(template(cmd="", comment="x")), "future": 1}, "sources").steps


def test_the_hash_is_of_the_steps_and_the_sources() -> None:
    first = steps.build_plan(nested(), "sources")
    assert steps.build_plan(nested(), "sources").hash == first.hash
    assert steps.build_plan(nested(), "other").hash != first.hash
    assert steps.build_plan(nested(template(retry=1)), "sources").hash != first.hash


def test_a_plan_survives_its_json() -> None:
    plan = steps.build_plan(nested(template(retry=2)), "sources")
    assert steps.Plan.model_validate_json(plan.to_json()) == plan
    assert '"retrySleepSeconds": 5' in plan.to_json()


@pytest.mark.parametrize("path", [".", "web.yml", "./web.yml", "a/b.yml", "a/", "with space.yml", "..data.yml", "a..b.yml"])
def test_paths_inside_the_folder_are_accepted(path: str) -> None:
    assert steps.build_plan(nested(template(path=path)), "sources").steps[0].path == path


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../../etc/passwd", "'..'"),
        ("a/../../b.yml", "'..'"),
        ("a/..", "'..'"),
        ("/etc/passwd", "leading '/'"),
        ("", "must not be empty"),
        ("  ", "must not be empty"),
        ("a\x00b", "control characters"),
        ("a\nb", "control characters"),
        ("https://example.com/a.yml", "URLs are not supported yet"),
        ("x" * 1025, "1024"),
        (7, "must be a string"),
    ],
)
def test_paths_that_leave_the_folder_are_refused(path: Any, message: str) -> None:
    [fault] = faults(nested(template(path=path)))
    assert fault.startswith("`templates[0].path` ")
    assert message in fault


@pytest.mark.parametrize("kind", ["kustomize", "custom", "helm"])
def test_types_of_later_versions_are_refused_as_such(kind: str) -> None:
    assert faults(nested(template(type=kind))) == [f"`templates[0]`: type '{kind}' is not supported yet, allowed: kubectl"]


def test_a_custom_step_is_not_asked_for_a_path_too() -> None:
    assert faults(nested({"name": "a", "type": "custom", "cmd": "ZWNobw=="})) == [
        "`templates[0]`: type 'custom' is not supported yet, allowed: kubectl",
    ]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"type": "ansible"}, "`templates[0]`: type 'ansible' is unknown, allowed: kubectl"),
        ({"type": None}, "`templates[0].type` must be set, allowed: kubectl"),
        ({"type": ["kubectl"]}, "`templates[0]`: type '['kubectl']' is unknown, allowed: kubectl"),
        (
            {"format": "url", "path": "https://x/a.yml"},
            "`templates[0]`: format 'url' is not supported yet; put the file into /templates of the image",
        ),
        ({"format": "zip"}, "`templates[0]`: format 'zip' is unknown, leave `format` out for a file of the image"),
        ({"path": None}, "`templates[0].path` must be set: the file's path relative to /templates of the image"),
        ({"name": ""}, "`templates[0].name` must be set: it labels the step's log lines and state"),
        ({"name": 3}, "`templates[0].name` must be set: it labels the step's log lines and state"),
        ({"name": "a\nb"}, "`templates[0].name` must be at most 100 printable characters on one line"),
        ({"retry": -1}, "`templates[0].retry` must be an integer from 0 to 10000, not -1"),
        ({"retry": True}, "`templates[0].retry` must be an integer from 0 to 10000, not True"),
        ({"retry": "3"}, "`templates[0].retry` must be an integer from 0 to 10000, not '3'"),
        ({"retry_sleep": 1.5}, "`templates[0].retry_sleep` must be an integer from 0 to 86400, not 1.5"),
        ({"timeout_seconds": 0}, "`templates[0].timeout_seconds` must be an integer from 1 to 86400, not 0"),
    ],
)
def test_a_fault_names_its_field_and_what_is_allowed(changes: Object, fault: str) -> None:
    assert faults(nested(template(**changes))) == [fault]


@pytest.mark.parametrize("templates", [None, [], {}, "web.yml"])
def test_an_appdef_without_templates_is_refused(templates: Any) -> None:
    assert faults({"templates": templates}) == [
        "`templates` must be a list of at least one step, each with `name`, `type` and `path`",
    ]


def test_all_faults_are_told_at_once() -> None:
    found = faults(nested(template(path="/a"), template(type="x"), "text", global_retry=-1))
    assert len(found) == 5
    assert "`templates[1].name` 'install' must be unique, `templates[0]` has it already" in found
    assert "`templates[2]` must be a dictionary with `name`, `type` and `path`" in found


def test_settings_must_be_a_dictionary() -> None:
    assert "`templates_settings` must be a dictionary" in faults({"templates": [template()], "templates_settings": [1]})[0]


def test_there_is_a_limit_of_steps() -> None:
    assert faults(nested(*[template(name=str(number)) for number in range(101)])) == [
        "`templates` must not have more than 100 steps, not 101",
    ]

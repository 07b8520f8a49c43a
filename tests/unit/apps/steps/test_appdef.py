from typing import Any

import pytest

from nestor.apps import steps
from tests.unit.apps.steps.builders import Object, build, chart, faults, faults_of, nested, read, script, template


@pytest.mark.parametrize(
    ("settings", "own", "retry", "sleep"),
    [
        ({}, {}, 0, 5),
        ({}, {"retry": 10, "retry_sleep": 30}, 10, 30),
        ({"global_retry": 20}, {}, 20, 5),
        ({"global_retry": 20, "global_retry_sleep": 15}, {}, 20, 15),
        ({"global_retry": 20, "global_retry_sleep": 15}, {"retry": 10}, 10, 15),
        ({"global_retry": 20, "global_retry_sleep": 15}, {"retry_sleep": 30}, 20, 30),
        ({"global_retry": 20, "global_retry_sleep": 15}, {"retry": 10, "retry_sleep": 30}, 10, 30),
        ({"global_retry": 20, "global_retry_sleep": 15}, {"retry": 0, "retry_sleep": 0}, 0, 0),
        ({"global_retry": 20}, {"retry": None}, 20, 5),
        ({"global_retry": "20", "global_retry_sleep": ""}, {"retry_sleep": "30"}, 20, 30),
    ],
)
@pytest.mark.parametrize("step", [template(), template(type="kustomize", path="."), script(), chart()])
def test_a_steps_own_value_wins_each_of_the_two_on_its_own(
    step: Object, settings: Object, own: Object, retry: int, sleep: int
) -> None:
    [found] = steps.build_plan(nested(step | own, **settings), "base").steps
    assert (found.retry, found.max_attempts, found.retry_sleep_seconds) == (retry, retry + 1, sleep)


@pytest.mark.parametrize(
    ("step", "timeout"),
    [
        (template(), 300),
        (template(type="kustomize"), 300),
        (script(), 3600),
        (chart(), 3600),
        (script(timeout_seconds=7), 7),
        (chart(timeout_seconds="7"), 7),
        (template(timeout_seconds=86_400), 86_400),
    ],
)
def test_scripts_and_charts_may_take_longer_than_kubectl(step: Object, timeout: int) -> None:
    assert read(step).timeout_seconds == timeout


def test_exit_codes_that_are_final_run_no_finished_step_again() -> None:
    with_codes, without = build(script(final_exit_codes=[139, 3, 3])), build(script(final_exit_codes=[]))
    assert with_codes.steps[0].final_exit_codes == (3, 139)
    assert with_codes.steps[0].hash == without.steps[0].hash
    assert with_codes.hash != without.hash == build(script()).hash


@pytest.mark.parametrize("blank", [None, "", " "])
@pytest.mark.parametrize("step", [template(), script(), chart(), template(type="kustomize")])
def test_what_is_blank_is_left_out(step: Object, blank: str | None) -> None:
    words = "format retry retry_sleep timeout_seconds sha256 namespace server_side render chart repo version release values"
    optional = [*words.split(), "values_files", "wait", "create_namespace"]
    assert read(step | dict.fromkeys(optional, blank)) == read(step)
    settings = dict.fromkeys(["global_retry", "global_retry_sleep", "render"], blank)
    assert steps.build_plan(nested(step, **settings), "base") == build(step)


def test_steps_of_one_name_are_told_apart_because_kns_lets_them() -> None:
    plan = build(template(name="deploy"), template(name="deploy-2"), template(name="deploy"), template(name=" deploy "))
    assert [step.name for step in plan.steps] == ["deploy", "deploy-2", "deploy-3", "deploy-4"]


def test_a_plan_survives_its_json() -> None:
    plan = build(
        template(retry=2),
        script(),
        chart(values={"a": [1, None]}),
        parameters={"size": 3},
        environment={"SIZE": "3"},
        facts={"name": "hello"},
    )
    assert steps.Plan.model_validate_json(plan.to_json()) == plan
    assert '"retrySleepSeconds": 5' in plan.to_json()


@pytest.mark.parametrize("path", [".", "web.yml", "./web.yml", "a/b.yml", "a/", "with space.yml", "..data.yml", "a..b.yml"])
@pytest.mark.parametrize("kind", ["kubectl", "kustomize", "helm"])
def test_paths_inside_the_folder_are_accepted(kind: str, path: str) -> None:
    assert read(template(type=kind, path=path)).path == path


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../../etc/passwd", "'../../etc/passwd' must not contain '..'"),
        ("a/../../b.yml", "'..'"),
        ("a/..", "'..'"),
        ("/etc/passwd", "leading '/'"),
        ("a\x00b", "control characters"),
        ("a\nb", "control characters"),
        ("https://example.com/a.yml", "a URL needs `format: url`"),
        ("x" * 1025, "1024"),
        (7, "must be a string"),
    ],
)
@pytest.mark.parametrize("kind", ["kubectl", "kustomize", "helm"])
def test_paths_that_leave_the_folder_are_refused(kind: str, path: Any, message: str) -> None:
    [fault] = faults_of(template(type=kind, path=path))
    assert fault.startswith("`templates[0].path` ")
    assert message in fault


WORDS = "'kubectl', 'kustomize', 'custom' or 'helm'"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"type": "ansible"}, f"type` must be {WORDS}, not 'ansible'"),
        ({"type": "Kubectl"}, f"type` must be {WORDS}, not 'Kubectl'"),
        ({"type": None}, f"type` must be set: {WORDS}"),
        ({"type": ["kubectl"]}, f"type` must be {WORDS}, not ['kubectl']"),
        ({"format": "zip"}, "format` must be 'file' or 'url', not 'zip'"),
        ({"format": ["url"]}, "format` must be 'file' or 'url', not ['url']"),
        ({"path": None}, "path` must be set: the file's path relative to /templates of the image, or a URL with `format: url`"),
        ({"path": "", "type": "kustomize"}, "path` must be set: the folder's path relative to /templates of the image"),
        ({"name": ""}, "name` must be set: it labels the step's log lines and state"),
        ({"name": 3}, "name` must be a string, not 3: put it in quotes"),
        ({"name": "a\nb"}, "name` must be at most 100 printable characters on one line"),
        ({"name": "a" * 101}, "name` must be at most 100 printable characters on one line"),
        ({"retry": -1}, "retry` must be an integer from 0 to 10000, not -1"),
        ({"retry": True}, "retry` must be an integer from 0 to 10000, not True"),
        ({"retry": "often"}, "retry` must be an integer from 0 to 10000, not 'often'"),
        ({"retry": "10001"}, "retry` must be an integer from 0 to 10000, not 10001"),
        ({"retry_sleep": 1.5}, "retry_sleep` must be an integer from 0 to 86400, not 1.5"),
        ({"timeout_seconds": 0}, "timeout_seconds` must be an integer from 1 to 86400, not 0"),
        ({"render": "perhaps"}, "render` must be true or false, not 'perhaps'"),
        ({"render": 1}, "render` must be true or false, not 1"),
        ({"server_side": []}, "server_side` must be true or false, not []"),
        (
            {"namespace": "Team A"},
            "namespace` must be a namespace's name of lower-case letters, digits and '-', at most 63, not 'Team A'",
        ),
        ({"namespace": {}}, "namespace` must be a string, not {}"),
        ({"sha256": "f" * 64}, "sha256` may be set only together with `format: url`: files of the image need no checksum"),
        ({"type": "kustomize", "format": "url"}, "format` may be 'url' only for type 'kubectl'"),
        (
            {"type": "custom", "path": None, "cmd": "Og==", "final_exit_codes": 3},
            "final_exit_codes` must be a list of integers from 1 to 255, not 3",
        ),
        (
            {"type": "custom", "path": None, "cmd": "Og==", "final_exit_codes": [0, True]},
            "final_exit_codes` must be a list of integers from 1 to 255, not [0, True]",
        ),
    ],
)
def test_a_fault_names_its_field_and_what_is_allowed(changes: Object, fault: str) -> None:
    assert faults_of(template(**changes)) == [f"`templates[0].{fault}"]


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        (script(format="url"), "format` may be 'url' only for type 'kubectl'"),
        (chart(format="url"), "format` may be 'url' only for type 'kubectl'"),
        (script(server_side=True), "server_side` may be set only for types 'kubectl' and 'kustomize'"),
        (chart(server_side="true"), "server_side` may be set only for types 'kubectl' and 'kustomize'"),
        (script(namespace="web"), "namespace` may not be set for type 'custom': the script passes it to the tools that it calls"),
    ],
)
def test_keys_that_would_do_nothing_are_refused(step: Object, fault: str) -> None:
    assert faults_of(step) == [f"`templates[0].{fault}"]
    assert read(step | {"format": "", "server_side": False, "namespace": None})


@pytest.mark.parametrize(
    ("settings", "own", "render"),
    [
        ({}, {}, False),
        ({}, {"render": True}, True),
        ({"render": True}, {}, True),
        ({"render": True}, {"render": False}, False),
        ({"render": False}, {"render": "True"}, True),
    ],
)
def test_rendering_is_chosen_for_all_steps_or_for_one(settings: Object, own: Object, render: bool) -> None:
    assert steps.build_plan(nested(template(**own), **settings), "base").steps[0].render is render


@pytest.mark.parametrize("templates", [None, [], {}, "web.yml"])
def test_an_appdef_without_templates_is_refused(templates: Any) -> None:
    assert faults({"templates": templates}) == ["`templates` must be a list of at least one step, each with `name` and `type`"]


def test_all_faults_are_told_at_once() -> None:
    found = faults(
        nested(
            template(path="/a", retry=-1),
            template(type="x", name=""),
            "text",
            script(cmd="%"),
            chart(chart="x", values=1),
            global_retry=-1,
        )
    )
    assert [fault.split("`")[1] for fault in found] == [
        "templates_settings.global_retry",
        "templates[0].retry",
        "templates[0].path",
        "templates[1].name",
        "templates[1].type",
        "templates[2]",
        "templates[3].cmd",
        "templates[4].chart",
        "templates[4].chart",
        "templates[4].values",
    ]


@pytest.mark.parametrize("settings", [[1], "x", 3])
def test_settings_must_be_a_dictionary(settings: Any) -> None:
    assert faults({"templates": [template()], "templates_settings": settings}) == [
        "`templates_settings` must be a dictionary; known keys: `global_retry`, `global_retry_sleep`, `render`"
    ]


def test_there_is_a_limit_of_steps() -> None:
    assert len(build(*[template(name=str(number)) for number in range(100)]).steps) == 100
    assert faults(nested(*[template(name=str(number)) for number in range(101)])) == [
        "`templates` must have at most 100 steps, not 101"
    ]


def test_there_is_a_limit_of_the_plan_because_it_lives_in_a_config_map() -> None:
    big = [script("#" * 200_000, name=str(number)) for number in range(4)]
    [fault] = faults(nested(*big))
    assert fault.startswith("`templates` and parameters make a plan of 1043 KiB, more than 900 KiB: move scripts and values")
    assert len(build(*big[:3]).to_json()) < 900 * 1024


def test_absurd_depth_gives_a_sentence() -> None:
    content: Any = 1
    for _ in range(5000):
        content = {"a": content}
    [fault] = faults(nested(template(more=content)))
    assert fault == "`nested_kubernetes.templates[0].more.a.a.a.a.a…` must not be nested deeper than 64 levels"


WHERE = "appDef.commands.Hello.nested_kubernetes"


def warn(*templates: Any, **settings: Any) -> list[str]:
    return [warning.removeprefix(f"`{WHERE}.") for warning in steps.list_warnings(nested(*templates, **settings), WHERE)]


@pytest.mark.parametrize(
    ("step", "warning"),
    [
        (template(retrys=5), "templates[0].retrys`: unknown key, ignored; did you mean `retry`?"),
        (template(retrySleep=5), "templates[0].retrySleep`: unknown key, ignored; did you mean `retry_sleep`?"),
        (template(timeout=5), "templates[0].timeout`: unknown key, ignored; did you mean `timeout_seconds`?"),
        (template(zebra=5), "templates[0].zebra`: unknown key, ignored"),
        (template(chart="x"), "templates[0].chart` has no effect for type 'kubectl'"),
        (template(type="kustomize", cmd="x"), "templates[0].cmd` has no effect for type 'kustomize'"),
        (script(path="x"), "templates[0].path` has no effect for type 'custom'"),
        (template(final_exit_codes=[3]), "templates[0].final_exit_codes` has no effect for type 'kubectl'"),
        (chart(vals={}), "templates[0].vals`: unknown key, ignored; did you mean `values`?"),
        (chart(cmd=""), "templates[0].cmd` has no effect for type 'helm'"),
        (template(type="shell", scrpt=""), "templates[0].scrpt`: unknown key, ignored"),
        (template(type=["kubectl"], retrys=1), "templates[0].retrys`: unknown key, ignored; did you mean `retry`?"),
    ],
)
def test_a_steps_key_that_nothing_reads_is_named(step: Object, warning: str) -> None:
    assert warn(step) == [warning]


def test_keys_of_the_settings_that_nothing_reads_are_named() -> None:
    assert warn(global_retries=5, retry_sleep=1, zebra=1) == [
        "templates_settings.global_retries`: unknown key, ignored; did you mean `global_retry`?",
        "templates_settings.retry_sleep`: unknown key, ignored; did you mean `global_retry_sleep`?",
        "templates_settings.zebra`: unknown key, ignored",
    ]


@pytest.mark.parametrize("content", [{}, {"templates": 1}, {"templates": ["x"], "templates_settings": [1]}, {"templates": [{}]}])
def test_what_makes_no_plan_makes_no_trouble_when_its_keys_are_read(content: Object) -> None:
    assert steps.list_warnings(content, WHERE) == []
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert steps.list_warnings(content | {"x": deep}, WHERE) == []


def test_every_documented_key_is_known_to_its_type() -> None:
    common = {"retry": 1, "retry_sleep": 1, "timeout_seconds": 5, "render": False}
    applied = {"namespace": "a", "server_side": True}
    url = {"format": "url", "path": "https://example.com/a.yml", "sha256": "0" * 64}
    helm = {"release": "r", "values": {}, "values_files": [], "wait": True, "create_namespace": True, "namespace": "a"}
    remote = {"path": None, "chart": "web", "repo": "https://example.com", "version": "1"}
    several = [
        template(**applied, **url),
        template(type="kustomize", **applied),
        script(final_exit_codes=[3]),
        chart(**helm),
        chart(**remote),
    ]
    numbered = [{**step, **common, "name": f"step-{number}"} for number, step in enumerate(several)]
    assert warn(*numbered, global_retry=1, global_retry_sleep=1, render=True) == []
    assert build(*numbered).steps[4].helm is not None


def test_thousands_of_a_steps_unknown_keys_make_few_sentences() -> None:
    found = warn(*[template(**{f"key-{number}": 1 for number in range(300)}) for _ in range(100)])
    assert len(found) == 11
    assert found[-1] == "29990 more unknown keys of the AppDef, ignored"

"""AppDefs are read as JARVICE documents them, and faults are named."""

from typing import Any

import pytest

from nestor.api.appdef import AppDefError, CommandNotFound, choose_command, list_commands, list_warnings, read_appdef
from nestor.api.appdef_models import NestedKubernetes

Object = dict[str, Any]

NESTED: Object = {
    "targets": [{"service_name": "web", "service_port": 8080, "service_namespace": "default"}],
    "templates": [{"name": "google-sample", "type": "kubectl", "path": "google-sample.yml"}],
}


def command(nested: Any = NESTED, key: str = "nested_kubernetes", **more: Any) -> Object:
    return {"path": "/usr/bin/true", "parameters": {}, "name": "Start nested http server", "description": "…", key: nested} | more


def appdef(nested: Any = NESTED, key: str = "nested_kubernetes", **more: Any) -> Object:
    """The tutorial's hello-world."""
    return {
        "name": "Hello World",
        "description": "Hello world app for KNS.",
        "author": "oxedions",
        "licensed": False,
        "appdefversion": 2,
        "appkind": "kns",
        "classifications": ["Uncategorized"],
        "machines": ["*"],
        "vault-types": ["FILE", "BLOCK", "BLOCK_ARRAY", "OBJECT"],
        "image": {"type": "image/png", "data": ""},
        "commands": {"Hello": command(nested, key)},
    } | more


def nested_of(content: Any) -> NestedKubernetes:
    return choose_command(read_appdef(content), "Hello").nested


def faults_of(content: Any, wanted: str | None = None) -> list[str]:
    with pytest.raises(AppDefError) as refused:
        choose_command(read_appdef(content), wanted)
    return refused.value.messages


@pytest.mark.parametrize("key", ["nested_kubernetes", "nestedkubernetes"])
def test_every_key_of_the_tutorial_is_known(key: str) -> None:
    nested = NESTED | {"kubernetes_version": "v1.30", "templates_settings": {"global_retry": 20}}
    given = appdef(nested, key, image={"type": "image/png", "data": "aWNvbg=="})
    app = read_appdef(given)
    chosen = choose_command(app, None)
    assert (chosen.id, chosen.where, chosen.warnings) == ("Hello", f"appDef.commands.Hello.{key}", [])
    parts = (app, chosen.command, chosen.nested, chosen.nested.targets[0])
    assert [part.model_extra for part in parts] == [{}] * 4
    assert app.classifications == ["Uncategorized"]
    assert chosen.nested.model_dump(exclude_unset=True) == nested
    assert {key: nested, **chosen.command.model_dump(include={"name", "description", "path", "parameters"})} == command(
        nested, key
    )
    commands = {"commands": given["commands"]}
    assert app.model_dump(by_alias=True, exclude={"commands"}, exclude_unset=True) | commands == given


def test_unknown_keys_are_kept() -> None:
    app = read_appdef(appdef({**NESTED, "later": [1]}, new_key={"a": 1}))
    assert app.model_dump()["new_key"] == {"a": 1}
    assert app.model_dump()["vault-types"] == ["FILE", "BLOCK", "BLOCK_ARRAY", "OBJECT"]
    assert choose_command(app, "Hello").nested.model_dump()["later"] == [1]


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_what_is_blank_is_left_out(blank: str | None) -> None:
    nested = NESTED | {"kubernetes_version": blank, "templates_settings": blank, "targets": blank}
    blanks = dict.fromkeys(["appdefversion", "author", "licensed", "image", "name", "description", "machines"], blank)
    app = read_appdef(appdef(nested, **blanks))
    found = choose_command(app, "Hello").nested
    assert (found.kubernetes_version, found.templates_settings, found.targets) == (None, None, [])
    assert (app.appdefversion, app.author, app.licensed, app.image) == (2, None, None, None)


@pytest.mark.parametrize(
    ("written", "version"),
    [("v1.36", "v1.36"), ("1.36", "v1.36"), (" v1.36 ", "v1.36"), ("v1.28.11", "v1.28"), ("v1.30.4+k3s1", "v1.30")],
)
def test_the_version_is_major_and_minor(written: str, version: str) -> None:
    assert nested_of(appdef(NESTED | {"kubernetes_version": written})).kubernetes_version == version


def test_a_command_needs_neither_path_nor_parameters() -> None:
    chosen = choose_command(read_appdef(appdef(commands={"Hello": {"nested_kubernetes": NESTED}})), None)
    assert (chosen.command.path, chosen.command.parameters, chosen.warnings) == (None, None, [])


WHERE = "appDef.commands.Hello.nested_kubernetes"


@pytest.mark.parametrize(
    ("nested", "messages"),
    [
        ({"targets": []}, [f"`{WHERE}.templates` must be set"]),
        ({"templates": "x"}, [f"`{WHERE}.templates` must be a list"]),
        ("x", [f"`{WHERE}` must be a dictionary"]),
        (NESTED | {"templates_settings": [1]}, [f"`{WHERE}.templates_settings` must be a dictionary"]),
        (
            NESTED | {"targets": [{"service_name": "web"}, "x"]},
            [
                f"`{WHERE}.targets[0].service_port` must be set",
                f"`{WHERE}.targets[0].service_namespace` must be set",
                f"`{WHERE}.targets[1]` must be a dictionary",
            ],
        ),
        (
            NESTED | {"targets": [{"service_name": "Web_1", "service_port": "http", "service_namespace": ""}]},
            [
                f"`{WHERE}.targets[0].service_name` must be a Kubernetes name of lower-case letters, digits and '-', at most 63, "
                "not 'Web_1'",
                f"`{WHERE}.targets[0].service_port` must be a port number from 1 to 65535, not 'http'",
                f"`{WHERE}.targets[0].service_namespace` must be a Kubernetes name of lower-case letters, digits and '-', at "
                "most 63, not ''",
            ],
        ),
        (
            NESTED | {"kubernetes_version": "latest"},
            [f"`{WHERE}.kubernetes_version` must be a Kubernetes version as major.minor, for example 'v1.36', not 'latest'"],
        ),
        (
            NESTED | {"kubernetes_version": 1.30},
            [f"`{WHERE}.kubernetes_version` must be a string, not the number 1.3: put it in quotes, for example '1.30'"],
        ),
    ],
)
def test_all_faults_of_a_command_are_named(nested: Any, messages: list[str]) -> None:
    assert faults_of(appdef(nested)) == messages


@pytest.mark.parametrize("port", [0, 65536, True, -1, 80.5, "8080x", None, []])
def test_ports_are_numbers(port: Any) -> None:
    [fault] = faults_of(appdef(NESTED | {"targets": [NESTED["targets"][0] | {"service_port": port}]}))
    assert fault.startswith(f"`{WHERE}.targets[0].service_port` must be a port number from 1 to 65535, not ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "`appDef.commands` must be set"),
        ([], "`appDef` must be a dictionary"),
        (None, "`appDef` must be a dictionary"),
        ({"commands": {}}, "`appDef.commands` must have an entry: the application's entry point by its id"),
        ({"commands": {"": {}}}, "`appDef.commands` must have ids of 1 to 253 characters"),
        ({"commands": {"a": 1}}, "`appDef.commands.a` must be a dictionary"),
        ({"commands": {str(n): {} for n in range(65)}}, "`appDef.commands` must not have more than 64 entries, not 65"),
        (appdef(appdefversion=1), "`appDef.appdefversion` must be 2, the version of the format that is known, not 1"),
        (appdef(appdefversion=True), "`appDef.appdefversion` must be 2, the version of the format that is known, not True"),
        (appdef(licensed="perhaps"), "`appDef.licensed` must be true or false"),
        (appdef(machines=[1]), "`appDef.machines` must be a list of strings, not [1]"),
        (appdef(appkind=["kns"]), "`appDef.appkind` must be a string"),
        (appdef(name=7), "`appDef.name` must be a string, not 7: put it in quotes"),
        (appdef(image="icon.png"), "`appDef.image` must be a dictionary"),
    ],
)
def test_faults_of_the_appdef_are_named(content: Any, message: str) -> None:
    assert faults_of(content) == [message]


@pytest.mark.parametrize("version", [2, 2.0, "2"])
def test_the_version_of_the_format_is_two(version: Any) -> None:
    assert read_appdef(appdef(appdefversion=version)).appdefversion == 2


def test_two_spellings_at_once_must_say_the_same() -> None:
    both = command() | {"nestedkubernetes": NESTED}
    assert nested_of(appdef(commands={"Hello": both})).templates == NESTED["templates"]
    assert faults_of(appdef(commands={"Hello": both | {"nestedkubernetes": {"templates": []}}})) == [
        "`appDef.commands.Hello` may have only one of `nested_kubernetes` and `nestedkubernetes`, which are the same key"
    ]
    assert list_commands(read_appdef(appdef(commands={"Hello": both | {"nested_kubernetes": None}}))) == ["Hello"]


def test_a_command_without_the_kubernetes_part_is_refused_with_the_reason() -> None:
    content = appdef()
    del content["commands"]["Hello"]["nested_kubernetes"]
    assert faults_of(content) == [
        "no command of the AppDef ('Hello') has `nested_kubernetes`, which makes it an app for a nested cluster; without it, it "
        "is a container for JARVICE's own schedulers"
    ]


SHELL: Object = {"path": "/bin/bash", "webshell": True, "parameters": {}}


@pytest.mark.parametrize(
    ("commands", "wanted", "chosen"),
    [
        ({"a": command()}, None, "a"),
        ({"a": command()}, "a", "a"),
        ({"a": command(), "b": command()}, "b", "b"),
        ({"a": SHELL, "b": command(key="nestedkubernetes")}, None, "b"),
        ({"a": {"nested_kubernetes": None}, "b": command()}, None, "b"),
    ],
)
def test_the_command_may_be_left_out_where_one_can_run(commands: Object, wanted: str | None, chosen: str) -> None:
    assert choose_command(read_appdef(appdef(commands=commands)), wanted).id == chosen


@pytest.mark.parametrize(
    ("commands", "wanted", "message"),
    [
        ({"a": command(), "b": command()}, None, "`command` must be set, because the AppDef has several: 'a', 'b'"),
        ({"a": command(), "b": command(), "s": SHELL}, "c", "the AppDef has no command 'c'; available: 'a', 'b'"),
        (
            {"a": command(), "s": SHELL},
            "s",
            "command 's' has no `nested_kubernetes`, which makes it an app for a nested cluster; without it, it is a container "
            "for JARVICE's own schedulers; available: 'a'",
        ),
    ],
)
def test_a_command_that_cannot_be_chosen_is_told_with_those_that_can(commands: Object, wanted: str | None, message: str) -> None:
    with pytest.raises(CommandNotFound) as refused:
        choose_command(read_appdef(appdef(commands=commands)), wanted)
    assert refused.value.messages == [message]


def test_a_broken_command_does_not_hurt_another_one() -> None:
    commands = {"a": command(), "b": command({"templates": 1})}
    assert choose_command(read_appdef(appdef(commands=commands)), "a").id == "a"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (None, "is not set, which JARVICE takes for 'k8s'"),
        ("", "is not set, which JARVICE takes for 'k8s'"),
        ("k8s", "is 'k8s'"),
        ("slurm", "is 'slurm'"),
    ],
)
def test_another_kind_than_kns_is_accepted_with_a_warning(kind: str | None, said: str) -> None:
    assert choose_command(read_appdef(appdef(appkind=kind)), None).warnings == [
        f"`appDef.appkind` {said}: 'kns' is recommended for apps in a nested cluster; it is run all the same"
    ]


def test_keys_of_the_older_tutorial_are_accepted_with_a_warning_where_they_do_nothing() -> None:
    older = {"kubernetes_version": "v1.28.11", "enable_gotty_shell": "true", "ingress_type": "prefix"}
    content = appdef(NESTED | older, "nestedkubernetes")
    kept = nested_of(content)
    assert (kept.ingress_type, kept.enable_gotty_shell, kept.limit_range) == ("prefix", "true", None)
    where = "`appDef.commands.Hello.nestedkubernetes"
    assert choose_command(read_appdef(content), None).warnings == [
        f"{where}.kubernetes_version`: only major.minor of 'v1.28.11' is used, the patch is the class's choice",
        f"{where}.ingress_type` has no effect: every job has its own host name, as with 'subdomain'",
        f"{where}.enable_gotty_shell` has no effect: `nestor shell` opens a shell with the nested cluster's keys",
    ]
    silent = NESTED | {"kubernetes_version": "", "enable_gotty_shell": "false", "ingress_type": "subdomain"}
    assert choose_command(read_appdef(appdef(silent)), None).warnings == []
    assert list_warnings(read_appdef(appdef("nonsense")), "Hello") == []


def nest(depth: int) -> Any:
    content: Any = 1
    for _ in range(depth):
        content = [content]
    return content


def test_absurd_depth_and_size_give_a_sentence() -> None:
    [deep] = faults_of(appdef(extra=nest(100_000)))
    assert deep == "`appDef.extra[0][0][0][0][0][0][0]…` must not be nested deeper than 64 levels"
    assert faults_of(appdef(extra=[0] * 200_000)) == ["`appDef` must not contain more than 100000 values"]
    assert faults_of(appdef(extra="x" * 5_000_000)) == ["`appDef` must not contain more than 4194304 characters"]


def test_many_faults_are_told_in_one_message_of_bounded_length() -> None:
    targets = [{"service_name": "A" * 10_000}] * 60
    with pytest.raises(AppDefError) as refused:
        choose_command(read_appdef(appdef(NESTED | {"targets": targets})), None)
    assert len(refused.value.messages) == 180
    assert str(refused.value).endswith("; and 160 more")
    assert len(str(refused.value)) < 10_000


@pytest.mark.parametrize(
    ("content", "warnings"),
    [
        (appdef(vault_type=[]), ["`appDef.vault_type`: unknown key, ignored; did you mean `vault-types`?"]),
        (appdef(Licensed=True), ["`appDef.Licensed`: unknown key, ignored; did you mean `licensed`?"]),
        (appdef(zebra=1), ["`appDef.zebra`: unknown key, ignored"]),
        (appdef(image={"dat": ""}), ["`appDef.image.dat`: unknown key, ignored; did you mean `data`?"]),
        (
            appdef(commands={"Hello": command(desription="x")}),
            ["`appDef.commands.Hello.desription`: unknown key, ignored; did you mean `description`?"],
        ),
        (
            appdef(NESTED | {"target": [], "templates_setting": {}, "version": "v1.30", "templatesSettings": {}}),
            [
                f"`{WHERE}.target`: unknown key, ignored; did you mean `targets`?",
                f"`{WHERE}.templates_setting`: unknown key, ignored; did you mean `templates_settings`?",
                f"`{WHERE}.version`: unknown key, ignored; did you mean `kubernetes_version`?",
                f"`{WHERE}.templatesSettings`: unknown key, ignored; did you mean `templates_settings`?",
            ],
        ),
        (
            appdef(NESTED | {"targets": NESTED["targets"] + [NESTED["targets"][0] | {"port": 80}]}),
            [f"`{WHERE}.targets[1].port`: unknown key, ignored; did you mean `service_port`?"],
        ),
        (
            appdef(NESTED | {"tagets": []}, "nestedkubernetes"),
            ["`appDef.commands.Hello.nestedkubernetes.tagets`: unknown key, ignored; did you mean `targets`?"],
        ),
    ],
)
def test_a_misspelt_key_is_named_with_the_nearest_known_one(content: Object, warnings: list[str]) -> None:
    assert choose_command(read_appdef(content), None).warnings == warnings


def test_unknown_keys_of_a_hostile_appdef_make_few_and_short_sentences() -> None:
    keys = {f"{'k' * 100_000}{number}": number for number in range(20)} | {f"key-`{number}\n": 1 for number in range(5000)}
    warnings = choose_command(read_appdef(appdef(NESTED | keys)), None).warnings
    assert len(warnings) == 11
    assert warnings[-1] == "5010 more unknown keys of the AppDef, ignored"
    assert all(len(warning) < 300 and warning.isprintable() for warning in warnings)


@pytest.mark.parametrize(
    ("keys", "field"),
    [
        ({"machines": ["n0", "n1"]}, None),
        ({"machines": ["*", "n0"]}, None),
        ({"machines": "*"}, None),
        ({"machines": []}, None),
        ({"machines": [""]}, None),
        ({"licensed": True}, "licensed`"),
        ({"licensed": "true"}, "licensed`"),
    ],
)
def test_what_means_something_to_jarvice_alone_says_so(keys: Object, field: str | None) -> None:
    warnings = choose_command(read_appdef(appdef(**keys)), None).warnings
    if field is None:
        assert warnings == []
    else:
        [warning] = warnings
        assert warning.startswith(f"`appDef.{field} has no effect: ")


@pytest.mark.parametrize(
    ("machines", "found"),
    [(["n0", " nc* ", ""], ("n0", "nc*")), ("n0", ("n0",)), (["*", "n0"], ("*", "n0")), ([], ()), ([""], ()), (None, ())],
)
def test_the_machines_that_an_application_takes(machines: Any, found: tuple[str, ...]) -> None:
    """Whether that has an effect is up to the job's class."""
    assert choose_command(read_appdef(appdef(machines=machines)), None).machines == found


def test_kns_own_limits_say_that_the_class_decides() -> None:
    limits = {"limit_range": {"cpu": "2"}}
    assert choose_command(read_appdef(appdef(NESTED | limits)), None).warnings == [
        f"`{WHERE}.limit_range` has no effect: the job's class sets the limits of the nested cluster's pods"
    ]
    assert choose_command(read_appdef(appdef(NESTED | {"limit_range": ""})), None).warnings == []

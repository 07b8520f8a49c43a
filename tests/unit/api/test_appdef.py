"""AppDefs are read as JARVICE documents them, and faults are named."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.appdef import read_appdef, read_command

NESTED: dict[str, Any] = {
    "targets": [{"service_name": "web", "service_port": 8080, "service_namespace": "default"}],
    "templates": [{"name": "google-sample", "type": "kubectl", "path": "google-sample.yml"}],
}


def appdef(nested: dict[str, Any] | None = None, key: str = "nested_kubernetes", **more: Any) -> dict[str, Any]:
    """The tutorial's hello-world."""
    return {
        "name": "Hello World", "description": "Hello world app for KNS.", "author": "oxedions", "licensed": False,
        "appdefversion": 2, "appkind": "kns", "classifications": ["Uncategorized"], "machines": ["*"],
        "vault-types": ["FILE", "BLOCK", "BLOCK_ARRAY", "OBJECT"], "image": {"type": "image/png", "data": ""},
        "commands": {"Hello": {
            "path": "/usr/bin/true", "parameters": {}, "name": "Start nested http server", "description": "…",
            key: NESTED if nested is None else nested,
        }},
    } | more


@pytest.mark.parametrize("key", ["nested_kubernetes", "nestedkubernetes"])
def test_both_spellings_are_read(key: str) -> None:
    nested = read_command(read_appdef(appdef(key=key)), "Hello")
    assert nested.targets[0].service_name == "web"
    assert nested.targets[0].service_port == 8080
    assert nested.templates[0]["path"] == "google-sample.yml"
    assert nested.kubernetes_version is None


def test_unknown_keys_are_kept() -> None:
    app = read_appdef(appdef(new_key={"a": 1}))
    assert app.model_dump()["new_key"] == {"a": 1}
    assert app.model_dump()["vault-types"] == ["FILE", "BLOCK", "BLOCK_ARRAY", "OBJECT"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (appdef({"targets": []}), "`appDef.commands.Hello.nested_kubernetes.templates` must be set"),
        (appdef({"templates": [], "targets": [{"service_name": "web"}]}),
         "`appDef.commands.Hello.nested_kubernetes.targets[0].service_port` must be set"),
        (appdef({"templates": "x"}), "templates`: input should be a valid list"),
    ],
)
def test_faults_of_a_command_are_named(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="appDef") as refused:
        read_command(read_appdef(content), "Hello")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "`appDef.commands` must be set"),
        ({"commands": {}}, "`appDef.commands`"),
        (appdef(appdefversion=1), "`appDef.appdefversion`: input should be greater than or equal to 2"),
    ],
)
def test_faults_of_the_appdef_are_named(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="appDef") as refused:
        read_appdef(content)
    assert message in str(refused.value)


def test_a_command_without_the_kubernetes_part_is_refused() -> None:
    content = appdef()
    del content["commands"]["Hello"]["nested_kubernetes"]
    with pytest.raises(ValueError, match="nested_kubernetes` must be set"):
        read_command(read_appdef(content), "Hello")

"""What users type becomes objects; AppDefs stay as they are, whatever is in them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nestor.clients.cli import manifests
from nestor.clients.cli.commands import convert, sources
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.offline.check import check_one
from nestor.clients.cli.offline.documents import read
from nestor.clients.cli.output import dump_yaml
from tests.unit.clients.cli.objects import APPDEF, JSON, job


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("registry.test/team/Shop:1.2", "shop"),
        ("shop", "shop"),
        ("shop@sha256:0123", "shop"),
        ("Web & DB", "web-db"),
        ("3d", "app-3d"),
        ("", "app"),
        ("---", "app"),
        ("a" * 80, "a" * 46),
        ("localhost:5000/x/my_app:v1", "my-app"),
    ],
)
def test_names_of_jobs(text: str, expected: str) -> None:
    assert manifests.base_name(text) == expected


@given(st.text())
def test_names_are_always_valid(text: str) -> None:
    assert not check_one(job(name=manifests.base_name(text) + "-a1b2c")).faults


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("a=1", 1),
        ("a=1.5", 1.5),
        ("a=-2", -2),
        ("a=true", True),
        ("a=yes", "yes"),
        ("a=", ""),
        ("a=x=y", "x=y"),
        ("a=[1, b]", [1, "b"]),
        ("a='1'", "1"),
        ('a="true"', "true"),
        ("a=007", "007"),
        ("a=1e3", "1e3"),
        ("a=v1.36", "v1.36"),
        ("a=[", "["),
        ("a=[1", "[1"),
        ("a=null", "null"),
        ("a={x: 1}", "{x: 1}"),
    ],
)
def test_parameters(item: str, expected: Any) -> None:
    assert manifests.parse_parameters([item]) == {"a": expected}


@pytest.mark.parametrize("item", ["a", "=1", " =1", ""])
def test_what_is_no_parameter(item: str) -> None:
    with pytest.raises(Failure, match="NAME=VALUE") as caught:
        manifests.parse_parameters([item])
    assert caught.value.code == Code.USAGE


def test_a_job_of_the_catalog() -> None:
    wishes = Wishes(
        command="Start",
        class_name="big",
        machine="n4",
        version="v1.36",
        host="a.test",
        all_targets=True,
        parameters={"a": 1},
        parameters_from="s",
    )
    assert sources.build_job("shop", None, wishes, "0123456789")[0] == {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "metadata": {"name": "shop-01234"},
        "spec": {
            "appRef": {"name": "shop"},
            "command": "Start",
            "className": "big",
            "machine": "n4",
            "kubernetesVersion": "v1.36",
            "parameters": {"a": 1},
            "parametersFrom": {"secretRef": {"name": "s"}},
            "expose": {"host": "a.test", "allTargets": True},
        },
    }


def test_a_job_of_an_image() -> None:
    made, _ = sources.build_job("registry.test/shop:1", None, Wishes(name="mine"), "0123456789")
    assert made["metadata"] == {"name": "mine"}
    assert made["spec"] == {"app": {"image": "registry.test/shop:1"}}


def test_a_job_of_a_file_with_an_appdef(tmp_path: Path) -> None:
    file = tmp_path / "AppDef.json"
    file.write_text(json.dumps(APPDEF))
    made, _ = sources.build_job("registry.test/x:1", file, Wishes(), "0123456789")
    assert made["metadata"] == {"name": "shop-01234"}
    assert made["spec"] == {"app": {"image": "registry.test/x:1", "appDef": APPDEF}}
    made, _ = sources.build_job(None, file, Wishes(config_map="files"), "0123456789")
    assert made["spec"] == {"app": {"templatesFrom": {"configMapRef": {"name": "files"}}, "appDef": APPDEF}}


@pytest.mark.parametrize(
    ("what", "content", "wishes"),
    [
        ("shop", APPDEF, Wishes()),
        ("a/b", APPDEF, Wishes(config_map="x")),
        ("a/b", job(), Wishes()),
        ("shop", job(), Wishes()),
        (None, job(), Wishes(config_map="x")),
        ("shop", None, Wishes(config_map="x")),
    ],
)
def test_what_does_not_go_together(what: str | None, content: Any, wishes: Wishes, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(json.dumps(content))
    with pytest.raises(Failure) as caught:
        sources.build_job(what, file if content else None, wishes, "0")
    assert caught.value.code == Code.USAGE


def test_a_job_of_a_file_with_a_job_keeps_what_is_not_overridden(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job({"appRef": {"name": "a"}, "parameters": {"x": 1, "y": 2}, "expose": {"host": "a.test"}})))
    made, _ = sources.build_job(None, file, Wishes(name="mine", parameters={"y": 3}, all_targets=True), "0")
    assert made["metadata"]["name"] == "mine"
    assert made["spec"] == {
        "appRef": {"name": "a"},
        "parameters": {"x": 1, "y": 3},
        "expose": {"host": "a.test", "allTargets": True},
    }


@pytest.mark.parametrize(
    "text",
    [
        "a: 1",
        "a: 1\n---\nb: 2",
        "kind: ConfigMap",
        "[]",
        "",
        "kind: NestedAppJob",
        "{kind: NestedAppJob, metadata: {}, spec: {expose: x}}",
    ],
)
def test_files_that_are_neither(text: str, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    with pytest.raises(Failure) as caught:
        sources.build_job(None, file, Wishes(), "0")
    assert caught.value.code == Code.USAGE


@given(JSON)
def test_yaml_reads_back_as_it_was_by_every_reader(content: Any) -> None:
    text = dump_yaml({"a": content})
    assert yaml.safe_load(text) == {"a": content}
    (document,) = read(text, "file")
    assert document.content == {"a": content}


@pytest.mark.parametrize(
    "text", ["1e3", "0x1F", "017", "yes", "NO", "1:30", "2020-01-01", "~", "", "null", "- a", "a: b", "a #b", "*a", " a"]
)
def test_ambiguous_strings_are_quoted(text: str) -> None:
    assert dump_yaml({"a": text}) == f'a: "{text}"\n'


def test_scripts_stay_readable() -> None:
    assert dump_yaml({"a": "one\ntwo\n"}) == "a: |\n  one\n  two\n"


@pytest.mark.parametrize("kind", list(convert.KindOption))
def test_an_appdef_is_kept_to_the_letter(kind: convert.KindOption) -> None:
    nested = {"templates": [{"path": "a.yml", "type": "kubectl", "name": "a", "later": None}], "x": 1.0}
    appdef = {"zeta": {"no": "yes"}, "commands": {"Start": {"nestedkubernetes": nested}}, "appdefversion": 2}
    made = convert.build(appdef, kind, Wishes(image="x"))
    kept = (made["spec"].get("app") or made["spec"])["appDef"]
    assert json.dumps(kept) == json.dumps(appdef)
    assert not check_one(made).faults

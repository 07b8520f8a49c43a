"""Offline validation: files are read within bounds, faults name file, document and field."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestor.api import labels
from nestor.api.crd import RESOURCES
from nestor.clients.cli.exits import Failure
from nestor.clients.cli.offline import rules
from nestor.clients.cli.offline.admission import read_known
from nestor.clients.cli.offline.check import check, check_one
from nestor.clients.cli.offline.documents import Document, read
from nestor.clients.cli.offline.rules import root_schema
from tests.unit.clients.cli.objects import APPDEF, GOOD, JSON, TABLE, job, resource

Object = dict[str, Any]


@pytest.mark.parametrize(("body", "part"), [pytest.param(body, part, id=name) for name, body, part in TABLE])
def test_verdicts_and_what_they_say(body: Object, part: str) -> None:
    faults = [str(fault) for fault in check_one(body).faults]
    assert bool(faults) == (part != GOOD), faults
    assert any(part in fault for fault in faults) or not part, faults


def list_rules(schema: Object) -> list[str]:
    inner = [*(schema.get("properties") or {}).values()]
    inner += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    return [item["rule"] for item in schema.get(rules.VALIDATIONS) or ()] + [rule for item in inner for rule in list_rules(item)]


@pytest.mark.parametrize("kind", [resource.kind for resource in RESOURCES])
def test_every_rule_of_the_crds_is_known_to_the_cel_library(kind: str) -> None:
    found = set(list_rules(root_schema(kind)))
    assert found
    for rule in found:
        functions = set(rules._compile(rule).functions())
        unknown = (
            functions - set(rules.FUNCTIONS) - {"matches", "size", "has", "exists", "all", "startsWith", "endsWith", "contains"}
        )
        assert not {name for name in unknown if name.isidentifier()}, rule


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ({"command": "Stop"}, "no command 'Stop'"),
        (
            {"app": {"image": "x", "appDef": {"appdefversion": 1, "commands": APPDEF["commands"]}}},
            "`spec.app.appDef.appdefversion`",
        ),
        ({"app": {"image": "x", "appDef": {"appdefversion": 2, "commands": {"A": {"path": "/x"}}}}}, "nested_kubernetes"),
    ],
)
def test_the_operators_rules_hold_too(spec: Object, part: str) -> None:
    faults = [str(fault) for fault in check_one(job(**spec)).faults]
    assert any(part in fault for fault in faults), faults


def class_of(name: str, **cluster: Any) -> Object:
    """A class that offers two versions."""
    return resource("NestedClass", {"cluster": {"versions": ["v1.36", "v1.33"]} | cluster}) | {"metadata": {"name": name}}


def with_version(version: str) -> Object:
    """The `app` of a job whose AppDef names a version."""
    command = APPDEF["commands"]["Start"]
    nested = command["nested_kubernetes"] | {"kubernetes_version": version}
    return {"appDef": APPDEF | {"commands": {"Start": command | {"nested_kubernetes": nested}}}}


NEAREST = "the AppDef's Kubernetes version 'v1.30' is not offered; v1.33, the nearest newer one, is taken"


@pytest.mark.parametrize(
    ("cluster", "body", "fault", "warnings"),
    [
        ({}, job(className="own", app=with_version("v1.30")), "", [NEAREST]),
        ({}, job(className="own", app=with_version("v1.36")), "", []),
        ({}, job(className="other", app=with_version("v1.30")), "", []),
        (
            {},
            job(className="own", app=with_version("v1.37")),
            "'v1.37' is not offered by class 'own'; available: v1.33, v1.36",
            [],
        ),
        ({}, job(className="own", kubernetesVersion="v1.30"), "'v1.30' is not offered by class 'own'", []),
        ({}, job({"app": {"image": "shop:1"}, "className": "own", "kubernetesVersion": "v1.30"}), "is not offered", []),
        ({}, job({"appRef": {"name": "shop"}, "className": "own", "kubernetesVersion": "v1.30"}), "is not offered", []),
        ({}, job(className="own", kubernetesVersion="v1.36", app=with_version("v1.30")), "", []),
    ],
)
@pytest.mark.parametrize("wrap", [lambda item: item, lambda item: {"kind": "List", "items": [None, item]}])
def test_a_version_is_compared_with_the_class_where_it_is_among_the_files(
    cluster: Object, body: Object, fault: str, warnings: list[str], wrap: Callable[[Object], Object]
) -> None:
    known = read_known([None, wrap(class_of("own", **cluster)), class_of("broken", versions=[])])
    found = check_one(body, known)
    assert [fault in str(item) for item in found.faults] == ([True] if fault else [])
    assert found.warnings == warnings


def ruled(**spec: Any) -> Object:
    """A class with more to say."""
    return class_of("own") | {"spec": class_of("own")["spec"] | spec}


MACHINES = {"machines": [{"name": "small"}, {"name": "gpu", "description": "4 GPUs"}]}
TAKES_GPU = {"appDef": APPDEF | {"machines": ["gpu*"]}}
TARGET = {"service_name": "web", "service_port": 80, "service_namespace": "default"}
NESTED = APPDEF["commands"]["Start"]["nested_kubernetes"]
EXPOSED = {"appDef": APPDEF | {"commands": {"Start": {"nested_kubernetes": NESTED | {"targets": [TARGET]}}}}}


@pytest.mark.parametrize(
    ("rules", "body", "fault"),
    [
        ({}, job(className="own"), ""),
        ({"placement": MACHINES}, job(className="own", machine="gpu"), ""),
        ({"placement": MACHINES}, job(className="own", machine="big"), "available: 'small', 'gpu' (4 GPUs)"),
        ({"placement": MACHINES}, job(className="own", machine="small", app=TAKES_GPU), "'gpu*' (`spec.app.appDef.machines`)"),
        ({"maxActiveDeadlineSeconds": 60}, job(className="own", activeDeadlineSeconds=61), "`spec.activeDeadlineSeconds`"),
        ({}, job(className="own", storage={"size": "1Gi"}), "the class allows no persistent volumes"),
        ({}, job(className="own", app=EXPOSED, expose={"host": "a.test"}), "a.test"),
        ({"images": {"allowed": []}}, job(className="own", app={"image": "shop:1"}), "shop:1"),
        ({"images": {"allowed": []}}, job(className="own", app=None, appRef={"name": "shop"}), ""),
        ({"access": "Permitted"}, job(className="own"), ""),
    ],
)  # fmt: skip
def test_a_job_is_held_to_its_class_where_that_is_known(rules: Object, body: Object, fault: str) -> None:
    body["spec"] = {key: value for key, value in body["spec"].items() if value is not None}
    found = check_one(body, read_known([ruled(**rules)]))
    assert [fault in str(item) for item in found.faults] == ([True] if fault else []), found.faults
    assert not check_one(body).faults, "nothing is known of another class"


def test_what_an_appdef_gets_a_warning_for_is_told_once() -> None:
    app = {"appDef": APPDEF | {"machines": ["n1"], "licensed": True}}
    warnings = check_one(job(className="own", app=app), read_known([ruled()])).warnings
    assert [item for item in warnings if "no machines" in item] == [
        "`spec.app.appDef.machines` ('n1') has no effect: class 'own' has no machines"
    ]
    assert len([item for item in warnings if "licensed" in item]) == 1


def test_who_names_no_class_has_the_default_one() -> None:
    body = job(kubernetesVersion="v1.30")
    body["spec"].pop("className", None)
    marked = class_of("own") | {"metadata": {"name": "own", "annotations": {labels.DEFAULT_CLASS: "true"}}}
    assert "not offered by class 'own'" in str(check_one(body, read_known([marked])).faults[0])
    assert "not offered by class 'own'" in str(check_one(body, read_known([class_of("own")], "own")).faults[0])
    assert not check_one(body, read_known([class_of("own")])).faults
    permitted = ruled(access="Permitted")
    assert "`spec.className` must be set" in str(check_one(job(className=None), read_known([permitted], "own")).faults[0])


def test_a_bare_appdef_is_checked_command_by_command() -> None:
    commands = {"Good": APPDEF["commands"]["Start"], "Bad": {"nested_kubernetes": {"templates": []}}}
    result = check_one(APPDEF | {"commands": commands})
    assert result.title == "AppDef 'Shop'"
    assert [fault for fault in map(str, result.faults) if "`commands.Bad.nested_kubernetes.templates`" in fault]
    assert not [fault for fault in map(str, result.faults) if "Good" in fault]


def test_an_appdef_that_is_not_recommended_is_told_and_accepted() -> None:
    result = check_one({key: value for key, value in APPDEF.items() if key != "appkind"})
    assert not result.faults
    assert "`appkind` is not set" in result.warnings[0]


def test_an_entry_of_the_catalog_has_its_appdef_checked() -> None:
    faults = check_one(resource("NestedApp", {"image": "x", "appDef": {"appdefversion": 2, "commands": {}}})).faults
    assert "`spec.appDef.commands`" in str(faults[0])


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (["a"], "must be a dictionary"),
        ({"a": 1}, "must have `apiVersion` and `kind`"),
        ({"apiVersion": "nestor.dev/v1", "kind": "NestedAppJob"}, "must be 'nestor.dev/v1alpha1'"),
        ({"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedJob"}, "'NestedJob' is unknown"),
        ({"apiVersion": "nestor.dev/v1alpha1", "kind": "NestedAppJob", "spec": {}}, "`metadata` must be set"),
        (job(parameters={"a": [[]] * 100_000}), "must not contain more than"),
        (job(parameters={"a": float("nan")}), "`NestedAppJob.spec.parameters.a` must be a finite number"),
    ],
)
def test_documents_that_are_nothing_of_ours(content: Any, part: str) -> None:
    (result,) = check(Document(1, content))
    assert part in str(result.faults[0])


def test_other_peoples_resources_are_not_judged() -> None:
    (result,) = check(Document(1, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}))
    assert result.skipped == "not a Nestor resource"
    assert not result.faults


def test_a_list_is_checked_item_by_item() -> None:
    results = check(Document(1, {"apiVersion": "v1", "kind": "List", "items": [job(), job(name="Shop")]}))
    assert [bool(result.faults) for result in results] == [False, True]


def test_documents_know_their_lines_and_empty_ones_are_left_out() -> None:
    found = list(read("# a comment\n---\na: 1\n---\n---\nb: 2\n", "file"))
    assert [(item.line, item.content) for item in found] == [(2, {"a": 1}), (5, {"b": 2})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 2020-01-01", "2020-01-01"),
        ("a: 1:30", "1:30"),
        ("a: =", "="),
        ("a: 017", 15),
        ("a: 1e3", 1000.0),
        ("a: yes", True),
        ("a: v1.36", "v1.36"),
        ("a: 1_000", 1000),
        ("a: .5", 0.5),
        ("a: ~", None),
        ("a: 0", 0),
        ("a: -3", -3),
        ("a: 0x1F", 31),
        ('{"a": "\\ud83d\\ude00"}', "😀"),
        ("a: {80: x, true: y}", {"80": "x", "true": "y"}),
        ("x: &x {b: 1, c: 2}\na: {<<: *x, c: 3}", {"b": 1, "c": 3}),
    ],
)
def test_values_are_read_as_kubectl_reads_them(text: str, expected: Any) -> None:
    (document,) = read(text, "file")
    assert document.content["a"] == expected


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + index)}: &{chr(98 + index)} [{','.join(['*' + chr(97 + index)] * 9)}]\n" for index in range(12)
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (BOMB, "line 6: too large"),
        (BOMB.replace("[", "{<<: [").replace("]", "]}").replace("[x,x,x,x,x,x,x,x,x]", "[{x: 1}]"), "too large"),
        ("a: &a " + "x" * 2**20 + "\nb: [" + "*a," * 9 + "]", "line 2: too large"),
        ("a: &a [*a]", "line 1: too large"),
        ("a: &a {<<: *a}", "line 1: too large"),
        ("[" * 100_000, "more than 100 levels"),
        ('{"a":' * 100_000, "more than 100 levels"),
        ("a: 1\na: 2", "line 2, column 1: duplicate key 'a'"),
        ('{"a": 1, "a": 2}', "duplicate key 'a'"),
        ('{"a": ' + "9" * 5000 + "}", "integer string conversion"),
        ("a: [", "line 2, column 1"),
        ("? [a]\n: b", "line 1, column 3: found unhashable key"),
        ("a: !!binary eA==", "line 1: the tag tag:yaml.org,2002:binary is not supported"),
        ("a: \x00", "control characters"),
        ("\tx: 1", "line 1, column 1"),
        ("a: *b", "undefined alias"),
    ],
)
def test_files_that_cannot_be_read_are_refused_with_the_line(text: str, part: str) -> None:
    with pytest.raises(Failure) as caught:
        list(read(text, "file.yaml"))
    assert caught.value.message.startswith("file.yaml: ")
    assert part in caught.value.message


@given(JSON, st.sampled_from([resource.kind for resource in RESOURCES]))
def test_any_spec_gets_a_verdict(spec: Any, kind: str) -> None:
    for fault in check_one(resource(kind, spec)).faults:
        assert str(fault)


@given(JSON)
def test_any_appdef_gets_a_verdict(content: Any) -> None:
    check(Document(1, {"commands": content}))
    check(Document(1, content))


PARAMETERS: Object = {"size": {"type": "INT", "min": 1, "max": 9, "required": True}}
SIZED: Object = APPDEF | {"commands": {"Start": APPDEF["commands"]["Start"] | {"parameters": PARAMETERS}}}


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"size": 3}, ""),
        (None, "`spec.parameters.size` must be set"),
        ({"size": 10}, "`spec.parameters.size`"),
        ({"size": 3, "colour": "red"}, "`spec.parameters.colour` is unknown"),
    ],
)
def test_a_jobs_parameters_are_checked_against_its_command(given: Any, part: str) -> None:
    faults = [str(fault) for fault in check_one(job({"app": {"image": "x", "appDef": SIZED}, "parameters": given})).faults]
    assert [part in fault for fault in faults] == ([True] if part else [])


def test_what_may_be_in_a_secret_is_no_fault_and_what_is_wrong_still_is() -> None:
    secret = {"app": {"image": "x", "appDef": SIZED}, "parametersFrom": {"secretRef": {"name": "s"}}}
    assert check_one(job(secret)).faults == []
    (fault,) = check_one(job(secret | {"parameters": {"size": 99}})).faults
    assert "`spec.parameters.size`" in str(fault)


def test_an_appdef_alone_lacks_no_parameters() -> None:
    assert not check_one(SIZED).faults
    odd = {"commands": {"Start": APPDEF["commands"]["Start"] | {"parameters": {"size": {"type": "INT", "min": 5, "max": 1}}}}}
    assert "`commands.Start.parameters.size" in str(check_one(APPDEF | odd).faults[0])


def test_faults_use_the_documents_own_spelling() -> None:
    appdef = APPDEF | {"commands": {"Start": {"nestedkubernetes": {"templates": [{"name": "a", "type": "custom"}]}}}}
    assert "`commands.Start.nestedkubernetes.templates[0].cmd`" in str(check_one(appdef).faults[0])

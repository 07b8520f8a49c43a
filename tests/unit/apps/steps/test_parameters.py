from typing import Any

import pytest

from nestor.api.faults import SENTENCE_LIMIT
from nestor.apps.steps import Parameters, PlanError, check_parameters

Object = dict[str, Any]
WHERE = "appDef.commands.Hello.parameters"


def check(declared: Any, given: Any = None) -> Parameters:
    return check_parameters(declared, given, where=WHERE)


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        ({}, "`spec.parametersFrom` may not be set: the command has no parameters"),
        ({"other": {}}, "`spec.parametersFrom`: key 'x' is unknown; the command has: 'other'"),
        ({"x": {"type": "INT"}}, "`spec.parametersFrom`: key 'x' has no value of type INT as the AppDef allows it"),
        ({"x": {"type": "selection", "values": ["a"]}}, "`spec.parametersFrom`: key 'x' has no value of type SELECTION"),
        ({"x": {"type": "STR", "size": 1}}, ""),
        ({"x": {"type": "CONST", "value": 1}}, "`spec.parametersFrom`: key 'x' may not be set: it is a constant of the AppDef"),
    ],
)
def test_a_value_from_a_secret_is_checked_and_never_shown(declared: Object, fault: str) -> None:
    secret = "correct-horse"
    if not fault:
        assert check_parameters(declared, {"x": secret}, hidden={"x"}).values == {"x": secret}
        return
    with pytest.raises(PlanError) as refused:
        check_parameters(declared, {"x": secret}, hidden={"x"})
    [said] = refused.value.messages
    assert said.startswith(fault)
    assert secret not in said


def value(declared: Object, given: Any) -> Any:
    return check({"x": declared}, {} if given is None else {"x": given}).values.get("x", "absent")


def faults(declared: Any, given: Any = None) -> list[str]:
    with pytest.raises(PlanError) as refused:
        check(declared, given)
    return refused.value.messages


@pytest.mark.parametrize("declared", [{}, None, ""])
def test_the_tutorials_empty_dictionary_takes_nothing(declared: Any) -> None:
    assert check(declared) == check(declared, {}) == Parameters({}, {})
    assert faults(declared, {"replicas": 3}) == ["`spec.parameters` may not be set: the command has no parameters"]


@pytest.mark.parametrize(
    ("declared", "given", "found"),
    [
        ({}, "hello", "hello"),
        ({}, "", ""),
        ({}, 8080, "8080"),
        ({}, None, ""),
        ({"type": "STR", "value": "web"}, None, "web"),
        ({"type": "STR", "value": "web"}, "shop", "shop"),
        ({"type": "CONST", "value": "v"}, None, "v"),
        ({"type": "CONST", "value": 3}, None, 3),
        ({"type": "CONST", "required": True}, None, ""),
        ({"type": "INT", "min": 1, "max": 10}, "10", 10),
        ({"type": "INT", "min": -5}, "-5", -5),
        ({"type": "INT", "value": "2"}, None, 2),
        ({"type": "INT"}, None, "absent"),
        ({"type": "FLOAT", "min": "0.0", "max": "10.0", "value": "1.2"}, None, 1.2),
        ({"type": "FLOAT"}, "1e3", 1000.0),
        ({"type": "FLOAT", "precision": 2}, -1.239, -1.23),
        ({"type": "FLOAT", "precision": 18}, "1e99", 1e99),
        ({"type": "RANGE", "min": 1, "max": 10, "step": 3}, 7, 7),
        ({"type": "RANGE", "min": 0, "max": 1, "step": 0.1}, 0.3, 0.3),
        ({"type": "RANGE", "min": "0", "max": "1", "step": "0.25"}, "0.75", 0.75),
        ({"type": "RANGE", "step": "1e-99"}, "1e99", 10**99),
        ({"type": "BOOL", "value": False}, None, False),
        ({"type": "BOOL"}, None, False),
        ({"type": "BOOL", "value": "True"}, "false", False),
        ({"type": "selection", "values": ["a", "b"]}, None, "a"),
        ({"type": "SELECTION", "values": [1, 2]}, 2, "2"),
        ({"type": "selection", "values": ["Small", "Big"], "mvalues": ["s", "b"]}, "Big", "b"),
        ({"type": "selection", "values": ["Small", "Big"], "mvalues": ["s", "b"]}, "b", "b"),
        ({"type": "selection", "values": ["Small", "Big"], "mvalues": ["s", "b"]}, None, "s"),
        ({"type": "FILE", "filter": "*.c|*.py"}, "/data/run.py", "/data/run.py"),
        ({"type": "UPLOAD", "target": "file.txt", "filter": ".txt", "size": 4096}, "text\nof two lines", "text\nof two lines"),
        ({"type": "STR", "multi": True}, ["a", "b"], ["a", "b"]),
        ({"type": "INT", "multi": True}, "3", [3]),
        ({"type": "INT", "multi": True}, None, []),
        ({"type": "selection", "values": ["a", "b"], "multi": True}, None, ["a"]),
        ({"type": "INT", "multi": True, "value": [1, "2"]}, None, [1, 2]),
    ],
)
def test_values_come_out_as_their_type_has_them(declared: Object, given: Any, found: Any) -> None:
    assert value(declared, given) == found
    assert type(value(declared, given)) is type(found)


TYPES = "CONST, STR, INT, FLOAT, RANGE, BOOL, selection, FILE, UPLOAD"


@pytest.mark.parametrize(
    ("declared", "given", "fault"),
    [
        ({}, 1.5, "must be a string, not 1.5: put it in quotes"),
        ({}, "a\0b", "must be a string of at most 65536 bytes, without null characters"),
        ({}, "ä" * 32769, "must be a string of at most 65536 bytes, without null characters"),
        ({}, ["a"], "must be one value, not ['a']"),
        ({"type": "CONST", "value": "v"}, "w", "may not be set: it is a constant of the AppDef"),
        ({"type": "INT", "min": 1, "max": 10}, 11, "must be a number from 1 to 10, not 11"),
        ({"type": "INT", "max": 10}, "11", "must be a number to 10, not '11'"),
        ({"type": "INT"}, 1.0, "must be an integer, not 1.0"),
        ({"type": "INT", "min": 1, "max": 3}, "two", "must be an integer from 1 to 3, not 'two'"),
        ({"type": "INT"}, True, "must be an integer, not True"),
        ({"type": "FLOAT"}, "1.2.3", "must be a number, not '1.2.3'"),
        ({"type": "FLOAT"}, "1e999", "must be a number, not '1e999'"),
        ({"type": "FLOAT", "max": "0.5"}, 0.51, "must be a number to 0.5, not 0.51"),
        ({"type": "RANGE", "min": 0, "max": 10, "step": 5}, 3, "must be a number from 0 to 10 in steps of 5, not 3"),
        ({"type": "RANGE", "min": 0, "max": 10, "step": 5}, 15, "must be a number from 0 to 10 in steps of 5, not 15"),
        ({"type": "BOOL"}, 1, "must be true or false, not 1"),
        ({"type": "selection", "values": ["a", "b"]}, "c", "must be one of 'a', 'b', not 'c'"),
        ({"type": "FILE", "filter": "*.c|*.py"}, "run.sh", "must be the name of a file like '*.c' or '*.py', not 'run.sh'"),
        ({"type": "UPLOAD", "size": 4}, "12345", "must be a string of at most 4 bytes, without null characters"),
        ({"type": "INT", "multi": True}, [1, "x"], "must be an integer, not 'x'"),
        ({"type": "INT", "multi": True}, [1, [2]], "must be one value, not [2]"),
        ({"type": "INT", "multi": True}, [1] * 101, "must have at most 100 values, not 101"),
    ],
)
def test_a_value_that_breaks_its_rule_is_refused(declared: Object, given: Any, fault: str) -> None:
    assert faults({"x": declared}, {"x": given}) == [f"`spec.parameters.x` {fault}"]


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        ({"type": "INT", "value": "x"}, ".value` must be an integer, not 'x'"),
        ({"type": "INT", "value": 11, "max": 10}, ".value` must be a number to 10, not 11"),
        ({"type": "INT", "min": "low"}, ".min` must be a number, not 'low'"),
        ({"type": "INT", "min": 2, "max": 1}, ".min` must not be greater than `max`: 2 and 1"),
        ({"type": "RANGE", "step": 0}, ".step` must be greater than 0, not 0"),
        ({"type": "FLOAT", "precision": -1}, ".precision` must be an integer from 0 to 18, not -1"),
        ({"type": "selection"}, ".values` must be a list of choices: strings or numbers"),
        ({"type": "selection", "values": [[]]}, ".values` must be a list of choices: strings or numbers"),
        (
            {"type": "selection", "values": ["a"], "mvalues": ["1", "2"]},
            ".mvalues` must have as many entries as `values`, 1, not 2",
        ),
        ({"type": "selection", "values": ["a"], "value": "b"}, ".value` must be one of 'a', not 'b'"),
        ({"required": "perhaps"}, ".required` must be true or false, not 'perhaps'"),
        ({"if": ["y"]}, ".if` must name parameters of type BOOL, not 'y'"),
        ({"ifnot": "x"}, ".ifnot` must name parameters of type BOOL, not 'x'"),
        ({"if": {"y": 1}}, ".if` must be a list of names of BOOL parameters, not {'y': 1}"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_the_appdefs_fault(declared: Object, fault: str) -> None:
    assert faults({"x": declared}) == [f"`{WHERE}.x{fault}"]


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        ([], f"`{WHERE}` must be a dictionary of parameters by name, or `{{}}`"),
        ({"x": "STR"}, f"`{WHERE}.x` must be a dictionary that describes the parameter"),
        ({"": {}}, f"`{WHERE}` must have names of 1 to 253 characters, not ''"),
        ({str(number): {} for number in range(257)}, f"`{WHERE}` must have at most 256 entries, not 257"),
    ],
)
def test_declarations_are_dictionaries_by_name(declared: Any, fault: str) -> None:
    assert faults(declared) == [fault]


@pytest.mark.parametrize("hidden", [True, False])
def test_thousands_of_unknown_names_make_few_sentences(hidden: bool) -> None:
    declared: Object = {f"p{number:03}" + "x" * 240: {} for number in range(256)}
    given = {f"k{number}": "" for number in range(2000)}
    with pytest.raises(PlanError) as refused:
        check_parameters(declared, given, hidden=given.keys() if hidden else ())
    messages = refused.value.messages
    assert len(messages) == SENTENCE_LIMIT
    assert messages[0].endswith(f", '{'p019' + 'x' * 76}…', … 236 more")
    where = "spec.parametersFrom" if hidden else "spec.parameters"
    assert messages[-1] == f"`{where}`: 1981 more are unknown"
    assert len(str(refused.value)) < 50_000


def test_unknown_names_are_told_with_the_known_ones() -> None:
    assert faults({"size": {}, "color": {}}, {"seize": 1, "colour": "x"}) == [
        "`spec.parameters.seize` is unknown; the command has: 'size', 'color'; did you mean 'size'?",
        "`spec.parameters.colour` is unknown; the command has: 'size', 'color'; did you mean 'color'?",
    ]


@pytest.mark.parametrize("kind", ["STR", "INT", "FLOAT", "RANGE", "BOOL", "FILE", "UPLOAD"])
def test_what_is_required_and_has_no_default_must_be_given(kind: str) -> None:
    declared = {"x": {"type": kind, "required": True, "value": "", "description": "How many there are"}}
    assert faults(declared) == ["`spec.parameters.x` must be set (How many there are)"]
    assert faults(declared, {"x": None}) == ["`spec.parameters.x` must be set (How many there are)"]


def test_all_faults_are_told_at_once() -> None:
    declared = {"a": {"required": True}, "b": {"type": "INT"}, "c": {"type": "RANGE", "step": "?"}}
    assert faults(declared, {"b": "x", "d": 1}) == [
        "`spec.parameters.d` is unknown; the command has: 'a', 'b', 'c'",
        "`spec.parameters.b` must be an integer, not 'x'",
        f"`{WHERE}.c.step` must be a number, not '?'",
        "`spec.parameters.a` must be set",
    ]


def test_those_marked_as_variables_are_the_environment_as_strings() -> None:
    declared = {
        "NAME": {"variable": True},
        "SIZE": {"type": "INT", "variable": "true"},
        "DEBUG": {"type": "BOOL", "variable": True},
        "HOSTS": {"multi": True, "variable": True},
        "COUNT": {"type": "INT", "variable": True},
        "other": {"variable": False},
    }
    found = check(declared, {"NAME": "a b", "SIZE": 3, "DEBUG": True, "HOSTS": ["x", "y"], "other": "z"})
    assert found.environment == {"NAME": "a b", "SIZE": "3", "DEBUG": "true", "HOSTS": "x,y"}
    assert found.values == {"NAME": "a b", "SIZE": 3, "DEBUG": True, "HOSTS": ["x", "y"], "other": "z"}


@pytest.mark.parametrize("name", ["-c", "a b", "1a", "a=b", "PATH", "KUBECONFIG", "LD_PRELOAD", "NESTOR_X", "ä"])
def test_a_variable_has_a_name_that_hurts_nobody(name: str) -> None:
    assert faults({name: {"variable": True}}) == [
        f"`{WHERE}.{name}.variable` may be true only if the name is valid for an environment variable, unlike '{name}'"
    ]
    assert check({name: {"value": "v"}}).values == {name: "v"}


LICENSE: Object = {
    "license_file": {"type": "STR", "if": ["license_is_file"], "required": True},
    "license_server": {"type": "STR", "value": "black", "variable": True, "ifnot": ["license_is_file"]},
    "license_is_file": {"type": "BOOL", "value": False},
}


def test_conditions_choose_which_parameters_there_are() -> None:
    assert check(LICENSE).values == {"license_server": "black", "license_is_file": False}
    assert check(LICENSE).environment == {"license_server": "black"}
    found = check(LICENSE, {"license_is_file": True, "license_file": "/data/l"})
    assert (found.values, found.environment) == ({"license_file": "/data/l", "license_is_file": True}, {})
    assert faults(LICENSE, {"license_is_file": "true"}) == ["`spec.parameters.license_file` must be set"]


def test_a_value_whose_condition_does_not_hold_is_left_out_with_a_warning() -> None:
    found = check(LICENSE, {"license_file": "/data/l"})
    assert "license_file" not in found.values
    assert found.warnings == ("`spec.parameters.license_file` is not used: its conditions do not hold",)


def test_jarvices_substitutions_stay_as_they_are_with_a_warning() -> None:
    found = check({"cores": {"type": "CONST", "value": "-n %CORES%"}, "rate": {"type": "CONST", "value": "5%"}})
    assert found.values == {"cores": "-n %CORES%", "rate": "5%"}
    assert found.warnings == (f"`{WHERE}.cores.value`: %CORES% is a JARVICE placeholder and is not replaced",)


def test_every_type_of_jarvices_own_example_is_known() -> None:
    declared = {
        "const_1": {"name": "const_1_name", "type": "CONST", "value": "const_1_value", "positional": True, "required": True},
        "str_1": {"type": "STR", "value": "str_1_value", "positional": True, "required": True, "variable": True},
        "int_1": {"type": "INT", "value": 2, "min": 0, "max": 10, "positional": True, "required": True, "variable": False},
        "float_1": {"type": "FLOAT", "value": "1.2", "min": "0.0", "max": "10.0", "required": True},
        "range_1": {"type": "RANGE", "value": 2, "min": 0, "max": 10, "step": 1, "required": True},
        "bool_1": {"type": "BOOL", "value": True, "required": True},
        "selection_1": {"type": "selection", "values": ["selection_1_val1", "selection_1_val2"], "required": True},
        "file_1": {"type": "FILE", "positional": True, "required": True},
        "upload_1": {"type": "UPLOAD", "target": "file.txt", "filter": ".txt", "size": 4096, "required": True},
    }
    found = check(declared, {"file_1": "/data/film.mkv", "upload_1": "coucou"})
    assert (found.values.keys(), found.environment, found.warnings) == (declared.keys(), {"str_1": "str_1_value"}, ())


def test_absurd_input_gives_a_sentence() -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    assert "must not be nested deeper" in faults({"x": {}}, {"x": deep})[0]
    assert "must not be nested deeper" in faults({"x": deep})[0]


@pytest.mark.parametrize(
    ("declared", "given", "found"),
    [
        ({"type": "TEXT"}, "a", "a"),
        ({"type": "COLOR", "value": "red"}, None, "red"),
        ({"type": "TEXT"}, 1.5, "1.5"),
        ({"type": "TEXT", "value": True}, None, "true"),
        ({"type": "TEXT", "value": {"a": [1, "ä"]}}, None, '{"a": [1, "ä"]}'),
        ({"type": "TEXT", "multi": True}, ["a"], '["a"]'),
        ({"type": ["STR"]}, "a", "a"),
    ],
)
def test_an_unknown_type_is_taken_as_text_with_a_warning(declared: Object, given: Any, found: Any) -> None:
    result = check({"x": declared}, {} if given is None else {"x": given})
    assert result.values == {"x": found}
    said = f"`{WHERE}.x.type` {declared['type']!r} is unknown, the value is taken as text; known: {TYPES}"
    assert result.warnings[0] == said


def test_a_value_of_an_unknown_type_is_as_limited_as_any_text() -> None:
    assert faults({"x": {"type": "TEXT"}}, {"x": ["a" * 70_000]}) == [
        "`spec.parameters.x` must be a string of at most 65536 bytes, without null characters"
    ]
    assert faults({"x": {"type": "TEXT", "required": True}}) == ["`spec.parameters.x` must be set"]


@pytest.mark.parametrize(
    ("declared", "warnings"),
    [
        ({"valu": "a"}, [".valu`: unknown key, ignored; did you mean `value`?"]),
        ({"type": "INT", "minimum": 1}, [".minimum`: unknown key, ignored"]),
        (
            {"requird": True, "zebra": 1},
            [".requird`: unknown key, ignored; did you mean `required`?", ".zebra`: unknown key, ignored"],
        ),
        ({"type": "STR", "min": 1}, []),
        ({"name": "a", "description": "b", "positional": True, "target": "c"}, []),
    ],
)
def test_keys_that_do_nothing_are_named(declared: Object, warnings: list[str]) -> None:
    assert check({"x": declared}).warnings == tuple(f"`{WHERE}.x{warning}" for warning in warnings)


def test_a_job_that_lacks_a_value_does_not_hide_what_is_odd_about_the_others() -> None:
    declared = {"a": {"required": True}, "b": {"type": "TEXT"}, "c": {"valu": "x"}}
    with pytest.raises(PlanError) as refused:
        check(declared)
    assert refused.value.messages == ["`spec.parameters.a` must be set"]
    assert [warning.partition("`")[2].partition("`")[0] for warning in refused.value.warnings] == [
        f"{WHERE}.b.type",
        f"{WHERE}.c.valu",
    ]


def test_thousands_of_unknown_keys_make_few_sentences() -> None:
    declared = {str(number): {f"key-{key}": 1 for key in range(100)} for number in range(200)}
    warnings = check(declared).warnings
    assert len(warnings) == 11
    assert warnings[-1] == "19990 more unknown keys of the AppDef, ignored"

"""From an AppDef's parameters to the fields of a form, and back."""

from typing import Any

import pytest

from nestor.clients.ui.models.inputs import Input, build_inputs, is_secret, read_entered

DECLARED: dict[str, Any] = {
    "SIZE": {
        "type": "INT",
        "name": "Workers",
        "description": "How many start.",
        "min": 1,
        "max": 8,
        "value": 2,
        "required": True,
    },
    "RATE": {"type": "RANGE", "min": 0, "max": 1, "step": 0.25, "value": "0.5"},
    "MODE": {"type": "selection", "values": ["fast", "exact"], "mvalues": ["0", "1"], "value": "1"},
    "TITLE": {"type": "STR", "required": True},
    "LOGIN": {"type": "BOOL", "value": "True"},
    "PASSWORD": {"type": "STR", "if": ["LOGIN"]},
    "TAGS": {"type": "STR", "multi": True},
    "FIXED": {"type": "CONST", "value": "x"},
}


def one(name: str, content: Any, **more: Any) -> Input:
    (found,) = build_inputs({name: content}, **more)
    return found


def test_each_type_has_its_field() -> None:
    found = {item.name: item for item in build_inputs(DECLARED)}
    assert {name: item.shape for name, item in found.items()} == {
        "TITLE": "text",
        "LOGIN": "checkbox",
        "PASSWORD": "password",
        "MODE": "select",
        "RATE": "number",
        "SIZE": "number",
        "TAGS": "lines",
    }
    size = found["SIZE"]
    assert (size.label, size.help, size.limits) == ("Workers", "How many start.", "from 1 to 8")
    assert (size.value, size.least, size.most, size.step, size.is_required) == ("2", "1", "8", "1", False)
    assert (found["RATE"].limits, found["RATE"].step) == ("from 0 to 1 in steps of 0.25", "0.25")
    assert found["MODE"].chosen == ("exact",), "a default may be written as what stands behind a choice"
    assert found["TITLE"].is_required
    assert found["TAGS"].limits == "one value per line"


def test_what_must_be_set_comes_first_and_what_depends_on_a_box_comes_after_it() -> None:
    declared = {
        "a": {"type": "STR", "if": ["z"]},
        "b": {"type": "STR"},
        "c": {"type": "STR", "required": True},
        "z": {"type": "BOOL"},
        "d": {"type": "STR", "ifnot": ["a"]},
        "e": {"if": ["e"]},
    }
    assert [item.name for item in build_inputs(declared)] == ["c", "b", "z", "a", "d", "e"]


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("x", "password", True),
        ("x", "PASSWD", True),
        ("x", "Secret", True),
        ("DB_PASSWORD", "STR", True),
        ("dbPassword", None, True),
        ("api-key", "STR", True),
        ("accessToken", "", True),
        ("TOKEN", "unheard-of", True),
        ("TOKENS", "INT", False),
        ("TOKEN", "INT", False),
        ("MAX_TOKENS", "STR", False),
        ("compass", "STR", False),
        ("title", "STR", False),
    ],
)
def test_passwords_are_known_by_their_type_or_their_name(name: str, kind: str | None, expected: bool) -> None:
    assert is_secret(name, kind) is expected


def test_what_was_entered_is_shown_again_but_for_passwords() -> None:
    entered = {"SIZE": ["x"], "PASSWORD": ["hunter2"], "MODE": ["fast"]}
    said = ["`spec.parameters.SIZE` must be an integer from 1 to 8, not 'x'", "`spec.parametersFrom`: key 'PASSWORD' is wrong"]
    found = {item.name: item for item in build_inputs(DECLARED, entered, said)}
    assert (found["SIZE"].value, found["SIZE"].error) == ("x", "must be an integer from 1 to 8, not 'x'")
    assert (found["PASSWORD"].value, found["PASSWORD"].error) == ("", "is wrong")
    assert found["MODE"].chosen == ("fast",)
    assert found["LOGIN"].chosen == (), "a box that is off is not sent"


def test_what_is_left_as_it_was_is_left_out() -> None:
    entered = {
        "SIZE": ["2"],
        "RATE": ["0.5"],
        "MODE": ["exact"],
        "TITLE": ["Mine"],
        "LOGIN": ["true", ""],
        "PASSWORD": [""],
        "TAGS": [""],
    }
    read = read_entered(DECLARED, entered)
    assert (read.plain, read.secret, read.faults) == ({"TITLE": "Mine", "MODE": "exact"}, {}, ())


def test_what_was_changed_is_in_the_job_and_passwords_are_not() -> None:
    entered = {"SIZE": ["5"], "TITLE": ["Mine"], "LOGIN": [""], "PASSWORD": ["hunter2"], "TAGS": ["a\r\n b \r\n\r\n"]}
    read = read_entered(DECLARED, entered)
    assert read.plain == {"SIZE": 5, "TITLE": "Mine", "LOGIN": False, "TAGS": ["a", "b"]}
    assert read.secret == {"PASSWORD": "hunter2"}
    assert not read.faults


@pytest.mark.parametrize(
    ("entered", "name", "said"),
    [
        ({"TITLE": ["t"], "SIZE": ["9"]}, "SIZE", "from 1 to 8"),
        ({"TITLE": ["t"], "SIZE": ["two"]}, "SIZE", "integer"),
        ({"TITLE": ["t"], "RATE": ["0.3"]}, "RATE", "in steps of 0.25"),
        ({"TITLE": ["t"], "MODE": ["slow"]}, "MODE", "'fast'"),
        ({"SIZE": ["2"]}, "TITLE", "must be set"),
    ],
)
def test_faults_are_at_their_field(entered: dict[str, list[str]], name: str, said: str) -> None:
    read = read_entered(DECLARED, entered)
    assert len(read.faults) == 1
    found = {item.name: item.error for item in build_inputs(DECLARED, entered, read.faults)}
    assert said in found.pop(name)
    assert not any(found.values())


def test_no_message_has_a_password_in_it() -> None:
    read = read_entered({"PASSWORD": {"type": "STR"}}, {"PASSWORD": ["hunter2\0"]})
    assert read.faults == ("`spec.parametersFrom`: key 'PASSWORD' has no value of type STR as the AppDef allows it",)
    declared = {"TOKEN": {"type": "other"}, "N": {"type": "INT"}}
    read = read_entered(declared, {"TOKEN": ["hunter2"], "N": ["x"]})
    assert read.faults
    assert "hunter2" not in " ".join(read.faults)


def test_a_parameter_that_the_command_does_not_have_is_refused() -> None:
    assert "`spec.parameters.OTHER` is unknown" in read_entered(DECLARED, {"TITLE": ["t"], "OTHER": ["1"]}).faults[0]
    assert "has no parameters" in read_entered({}, {"OTHER": ["1"]}).faults[0]


@pytest.mark.parametrize("declared", [None, "", [], {"x": 1}, {"x": {"type": 5, "min": [], "values": {}, "value": {}, "if": 3}}])
def test_whatever_an_appdef_declares_makes_a_form(declared: Any) -> None:
    for item in build_inputs(declared):
        assert item.label
        assert item.id


def test_ids_tell_all_names_apart() -> None:
    names = ["a b", "a_b", "a-b", "ä", "a_20b"]
    assert len({one(name, {}).id for name in names}) == len(names)


def test_a_text_that_was_emptied_is_empty_and_a_number_has_its_default() -> None:
    declared = {"T": {"type": "STR", "value": "x"}, "N": {"type": "INT", "value": 3}, "U": {"type": "STR"}}
    read = read_entered(declared, {"T": [""], "N": [""], "U": [""]})
    assert (read.plain, read.faults) == ({"T": ""}, ())


def test_a_condition_that_is_no_name_hides_nothing() -> None:
    found = build_inputs({"a": {"type": "BOOL"}, "b": {"type": "STR", "if": ["a", 5]}})
    assert found[1].shown_if == ("a",)

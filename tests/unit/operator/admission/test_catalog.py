"""What the catalog reports about its entries."""

from __future__ import annotations

import pytest

from nestor.api import conditions
from nestor.operator.admission.catalog import build_status
from tests.unit.operator.builders import STEPS, Object, build_app

TIME = "2026-01-01T00:00:00Z"
GOOD: Object = {"name": "Start", "description": "Starts it.", "nested_kubernetes": {"templates": STEPS}}


def status_of(app: Object) -> tuple[str, str, Object]:
    """Condition `Accepted`, its message, and the whole status."""
    status = build_status(app, TIME)
    found = conditions.find(status["conditions"], conditions.ACCEPTED)
    assert found is not None
    return found["status"], found["message"], status


def test_a_good_entry_is_accepted_with_its_commands() -> None:
    commands = {"Start": GOOD, "Other": {"nestedkubernetes": {"templates": STEPS}}, "Container": {"path": "/bin/x"}}
    app = build_app("a", appDef={"name": "An app", "appkind": "kns", "commands": commands})
    accepted, message, status = status_of(app)
    assert (accepted, message) == ("True", "jobs can run it")
    assert status["commands"] == [
        {"id": "Start", "name": "Start", "description": "Starts it."},
        {"id": "Other", "name": "", "description": ""},
    ]
    assert status["title"] == "An app"
    assert status["observedGeneration"] == 1


def test_its_own_title_wins() -> None:
    assert status_of(build_app("a", title="Mine"))[2]["title"] == "Mine"


def test_an_image_alone_is_accepted_unread() -> None:
    accepted, message, status = status_of(build_app("a", appDef=None))
    assert accepted == "True"
    assert "is read from the image when a job runs" in message
    assert "commands" not in status


def test_warnings_are_told() -> None:
    accepted, message, _ = status_of(build_app("a", appDef={"commands": {"A": GOOD, "B": GOOD}}))
    assert accepted == "True"
    assert message.count("warning: `appDef.appkind` is not set") == 1


def test_what_a_job_has_to_set_is_no_fault() -> None:
    commands = {"A": GOOD | {"parameters": {"size": {"type": "INT", "required": True}}}}
    assert status_of(build_app("a", appDef={"commands": commands}))[0] == "True"


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        ({"appDef": {}}, ["`appDef.commands` must be set"]),
        ({"appDef": {"commands": {}}}, ["`appDef.commands`"]),
        ({"appDef": {"commands": {"A": {"path": "/bin/true"}}}}, ["`nested_kubernetes`"]),
        ({"appDef": {"commands": {"A": {"nested_kubernetes": {"templates": []}}, "B": {"nested_kubernetes": {}}}}},
         ["command 'A': `templates` must be a list", "`appDef.commands.B.nested_kubernetes.templates` must be set"]),
        ({"appDef": {"commands": {"A": GOOD | {"parameters": {"size": {"type": "INT", "min": "x"}}}}}},
         ["command 'A': `appDef.commands.A.parameters.size.min`"]),
        ({"appDef": "x"}, ["NestedApp 'a': `spec.appDef` must be a dictionary"]),
        (
            {
                "appDef": {
                    "commands": {"A": {"nested_kubernetes": {"templates": [{"name": "x", "type": "kubectl", "path": "../y"}]}}}
                }
            },
            ["command 'A': `templates[0].path`", "must not contain '..'"],
        ),
    ],
)  # fmt: skip
def test_a_faulty_entry_is_told_with_its_fields(spec: Object, messages: list[str]) -> None:
    accepted, message, _ = status_of(build_app("a", **spec))
    assert accepted == "False"
    for part in messages:
        assert part in message


def test_an_unchanged_status_is_the_same() -> None:
    app = build_app("a")
    app["status"] = build_status(app, TIME)
    assert build_status(app, "2026-02-02T00:00:00Z") == app["status"]


def test_there_are_no_more_commands_than_the_status_takes() -> None:
    accepted, message, status = status_of(build_app("a", appDef={"commands": {f"c{number}": GOOD for number in range(70)}}))
    assert accepted == "False"
    assert "`appDef.commands`" in message
    assert "commands" not in status

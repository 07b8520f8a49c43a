"""The reference in `docs/reference` is what the models and the command line say, and whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from nestor.api.conditions import REASONS
from nestor.api.crd import RESOURCES, build_crd
from tests.reference import FOLDER, build_pages
from tests.reference.cli import read_commands
from tests.reference.words import join, write_default, write_limits, write_type

PAGES = build_pages()


def test_the_pages_are_what_the_models_say() -> None:
    stale = sorted(name for name in PAGES if (FOLDER / name).read_text() != PAGES[name])
    assert not stale, f"run `python -m tests.reference`: {stale}"
    assert {f"reference/{file.name}" for file in (FOLDER / "reference").iterdir()} <= PAGES.keys()


def list_paths(schema: dict[str, Any], path: str) -> Iterator[str]:
    """The fields below a schema as the pages write them."""
    for key, child in schema.get("properties", {}).items():
        yield f"{path}.{key}"
        yield from list_paths(child, f"{path}.{key}")
    for key, suffix in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), dict):
            yield from list_paths(schema[key], f"{path}{suffix}")


def test_every_field_of_a_kind_has_one_row_with_type_and_words() -> None:
    row = re.compile(r"^\| `([\w.\[\]*-]+)` \| (?:[a-z ]+) \| (?:`.*`)? \| (?:\S.*) \|$", re.MULTILINE)
    for resource in RESOURCES:
        root = build_crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        fields = [path for part in ("spec", "status") for path in list_paths(root.get(part, {}), part)]
        assert sorted(row.findall(PAGES[f"reference/{resource.kind.lower()}.md"])) == sorted(fields)
        assert len(fields) > 15


def test_a_row_says_what_the_schema_says() -> None:
    page = PAGES["reference/nestedappjob.md"]
    rows = {path: row for row in page.splitlines() for path in re.findall(r"^\| `(spec[^`]*)`", row)}
    assert rows["spec.suspend"].startswith("| `spec.suspend` | boolean | `false` | Whether the job is suspended")
    assert rows["spec.app.image"].endswith("**Immutable.** |")
    assert rows["spec.app.image"].count("mmutable") == 1
    assert "| **Required.** Name of the NestedApp." in rows["spec.appRef.name"]
    assert "a Kubernetes name (RFC 1123)" in rows["spec.appRef.name"]
    assert "One of `Never`, `WhenFull` or `Always`." in rows["spec.placement.overflow.mode"]
    assert "- `app` and `appRef` are mutually exclusive" in page


@pytest.mark.parametrize(
    ("schema", "kind", "default", "limits"),
    [
        ({"type": "string", "maxLength": 9}, "string", "", ["at most 9 characters"]),
        ({"type": "string", "minLength": 2, "maxLength": 9, "default": ""}, "string", '`""`', ["2 to 9 characters"]),
        ({"type": "string", "enum": ["A", "B"], "default": "A"}, "string", "`A`", ["one of `A` or `B`"]),
        ({"type": "integer", "minimum": 0, "maximum": 4000, "default": 7}, "integer", "`7`", ["0 to 4,000"]),
        ({"type": "integer", "minimum": 1}, "integer", "", ["at least 1"]),
        ({"type": "integer", "minimum": 0}, "integer", "", ["at least 0"]),
        ({"type": "boolean", "default": False}, "boolean", "`false`", []),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5}, "list of strings", "", ["1 to 5 entries"]),
        ({"type": "array", "items": {"x-kubernetes-int-or-string": True}}, "list of quantities", "", []),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "map to string", "", []),
        ({"type": "object", "properties": {"a": {}}}, "object", "", []),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "any object", "", []),
        ({"type": "string", "format": "date-time"}, "time", "", []),
        ({"type": "string", "pattern": "^a$"}, "string", "", ["matches `^a$`"]),
    ],
)
def test_schemas_in_words(schema: dict[str, Any], kind: str, default: str, limits: list[str]) -> None:
    assert (write_type(schema), write_default(schema), list(write_limits(schema))) == (kind, default, limits)


def test_lists_in_words() -> None:
    assert [join(words, "or") for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a or b", "a, b or c"]


def test_every_command_and_option_is_on_the_page() -> None:
    page = PAGES["reference/cli.md"]
    commands = {name: command for name, command in read_commands().commands.items() if not command.hidden}
    assert re.findall(r"^## ([a-z]+)$", page, re.MULTILINE) == list(commands)
    assert "ui" in commands
    for name, command in commands.items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for option in command.params:
            for word in (
                (*option.opts, *option.secondary_opts) if option.param_type_name == "option" and not option.hidden else ()
            ):
                assert re.search(rf"`{word}[ `]", section), f"{name} {word}"


def test_every_reason_is_on_the_page() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (?:you|somebody|nobody) \|", PAGES["reference/reasons.md"], re.MULTILINE)
    assert sorted(rows) == sorted({str(reason) for reason in REASONS})

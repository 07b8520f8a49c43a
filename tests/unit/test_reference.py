"""The reference in `docs/reference` is what the models and the command line say, and whole."""

import re
from collections.abc import Iterator
from typing import Any

from nestor.api.crd import RESOURCES, build_crd
from tests.reference import FOLDER, build_pages

PAGES = build_pages()
TABLES = {"reference/metrics.md", "reference/overflow.md"}
"""Pages whose tables test_monitoring.py and test_docs_overflow.py hold to the code."""


def test_the_pages_are_what_the_models_say() -> None:
    stale = sorted(name for name in PAGES if (FOLDER / name).read_text() != PAGES[name])
    assert not stale, f"run `python -m tests.reference`: {stale}"
    assert {f"reference/{file.name}" for file in (FOLDER / "reference").iterdir()} - TABLES <= PAGES.keys()


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

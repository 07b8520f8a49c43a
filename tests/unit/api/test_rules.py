"""What CustomResourceDefinitions say by expressions that match texts: API servers run them, and Nestor's models do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

Object = dict[str, Any]
ROOT = Path(__file__).parents[3]
PREFIX, KEY, VALUE = "must be a registry,", "must be the whole key of an annotation", "must not contain line breaks"


def walk(node: Object) -> Iterator[Object]:
    """All rules of a schema."""
    for value in node.values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from [item] if "rule" in item and "message" in item else walk(item)


RULES = [rule for file in sorted((ROOT / "crds").glob("*.yaml")) for rule in walk(yaml.load(file.read_text(), yaml.CSafeLoader))]


def find_patterns(message: str) -> set[str]:
    """The regular expressions of the rules with this message; with `!` before it if it must not match."""
    told = [rule["rule"] for rule in RULES if rule["message"].startswith(message)]
    found = [re.fullmatch(r"(!?)self\.matches\('(.*)'\)", rule, re.DOTALL) for rule in told]
    # In CEL's texts, a backslash is written twice.
    return {f"{item[1]}{item[2]}".replace("\\\\", "\\") for item in found if item}


def accepts(message: str, text: str) -> bool:
    """Whether an API server takes the text."""
    (pattern,) = find_patterns(message)
    is_match = re.search(pattern.removeprefix("!"), text) is not None
    return is_match is not pattern.startswith("!")


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("docker.io", True),
        ("docker.io/library", True),
        ("docker.io/library/nginx", True),
        ("registry.example.com/team-a/", True),
        ("registry.example.com:5000/team_a", True),
        ("localhost/a", True),
        ("registry:5000", True),
        # Images without a registry are those of docker.io, which has to be said.
        ("nginx", False),
        ("library/nginx", False),
        ("docker.io/library/nginx:1.27", False),
        ("docker.io/library/nginx@sha256:0", False),
        ("https://docker.io", False),
        ("docker.io//library", False),
        ("docker.io/*", False),
        ("", False),
    ],
)
def test_a_class_lists_registries_and_paths(text: str, is_good: bool) -> None:
    assert accepts(PREFIX, text) is is_good


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("nginx.ingress.kubernetes.io/proxy-body-size", True),
        ("example.com/a.b_c", True),
        ("plain", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("nginx.ingress.kubernetes.io/*", False),
        ("nginx.ingress.kubernetes.io/", False),
        ("/size", False),
        ("-a", False),
        ("Example.com/a", False),
        ("a/b/c", False),
    ],
)
def test_a_class_allows_annotations_by_their_whole_keys(text: str, is_good: bool) -> None:
    assert accepts(KEY, text) is is_good


@pytest.mark.parametrize(
    ("text", "is_good"),
    [("100m", True), ("", True), ("a b; c 'd'", True), ("ä", True)]
    + [(f"a{character}b", False) for character in "\n\r\t\0\x1f\x7f"],
)
def test_a_jobs_annotation_adds_no_line_to_a_controllers_configuration(text: str, is_good: bool) -> None:
    assert accepts(VALUE, text) is is_good

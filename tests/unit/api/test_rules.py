"""What CustomResourceDefinitions say by expressions that match texts, evaluated as an API server does."""

from typing import Any

import pytest

from nestor.api.class_parts import ImagesPolicy
from nestor.api.expose import ExposePolicy, JobExpose
from nestor.api.model import Model
from nestor.api.schema import build_schema
from nestor.clients.cli.offline import rules


def accepts(model: type[Model], **value: Any) -> bool:
    return not list(rules.check_rules(value, build_schema(model), ""))


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
    assert accepts(ImagesPolicy, allowed=[text]) is is_good


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
    assert accepts(ExposePolicy, allowedAnnotations=[text]) is is_good


@pytest.mark.parametrize(
    ("text", "is_good"),
    [("100m", True), ("", True), ("a b; c 'd'", True), ("ä", True)]
    + [(f"a{character}b", False) for character in "\n\r\t\0\x1f\x7f"],
)
def test_a_jobs_annotation_adds_no_line_to_a_controllers_configuration(text: str, is_good: bool) -> None:
    assert accepts(JobExpose, annotations={"a": text}) is is_good

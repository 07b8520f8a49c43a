"""Names are readable, within limits, the same for the same input, and different for different input."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestor.api import names

LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
dns_labels = st.from_regex(r"\A[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [
        ("web", "default", "web-x-default-x-f3d25cb3"),
        ("web.v2", "default", "web-v2-x-default-x-"),
        ("a" * 253, "b" * 63, "a" * 40 + "-x-"),
    ],
)
def test_host_names_read_well(name: str, namespace: str, expected: str) -> None:
    assert names.host_name(name, namespace).startswith(expected)


@given(dns_labels, dns_labels)
def test_host_names_are_dns_labels(name: str, namespace: str) -> None:
    result = names.host_name(name, namespace)
    assert len(result) <= 63
    assert LABEL.match(result)
    assert result == names.host_name(name, namespace)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a-b", "c"), ("a", "b-c")),
        (("a-x-b", "c"), ("a", "b-x-c")),
        (("a.b", "c"), ("a-b", "c")),
        (("a" * 70, "c"), ("a" * 71, "c")),
    ],
)
def test_host_names_of_different_objects_differ(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert names.host_name(*one) != names.host_name(*other)


@pytest.mark.parametrize(("name", "length"), [("a" * 43, 8), ("a" * 44, 20)])
def test_where_a_name_is_cut_nobody_finds_another_one_with_its_hash(name: str, length: int) -> None:
    result = names.host_name(name, "team-a")
    assert len(result.rpartition("-x-")[2]) == length
    assert result.startswith(f"{name}-x-team-a-x-") is (length == 8)


def test_job_namespace_carries_both_names_and_changes_with_the_uid() -> None:
    first = names.job_namespace("hello", "team-a", "uid-1")
    assert re.fullmatch(r"nestor-team-a-hello-[0-9a-f]{8}", first)
    assert first != names.job_namespace("hello", "team-a", "uid-2")
    assert len(names.job_namespace("h" * 52, "n" * 63, "u")) <= 63


@pytest.mark.parametrize("cluster", ["hello", "h" * 47, "h" * 48, "h" * 63, "a.b"])
def test_children_leave_room_for_what_controllers_append(cluster: str) -> None:
    result = names.child(cluster, names.Part.SERVER)
    assert len(result) <= 52
    assert result.endswith("-k3s")
    assert LABEL.match(result)


def test_default_host_is_one_label_below_the_domain() -> None:
    assert names.default_host("hello", "team-a", "example.com") == "hello-team-a.example.com"
    label, _, domain = names.default_host("h" * 52, "n" * 63, "example.com").partition(".")
    assert len(label) <= 63
    assert domain == "example.com"


def test_every_part_of_a_cluster_has_a_name_of_its_own() -> None:
    found = {names.child("hello", part) for part in names.Part}
    assert len(found) == len(list(names.Part))
    assert all(LABEL.match(name) for name in found)


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [
        ("hello", "a", []),
        ("hello", "team-a", ["a"]),
        ("hello-team", "a", ["team-a"]),
        ("hello.team", "a", ["team-a"]),
        ("a--b", "c-d", ["-b-c-d", "b-c-d", "d"]),
    ],
)
def test_whose_jobs_may_have_the_same_label(name: str, namespace: str, expected: list[str]) -> None:
    assert names.list_sharers(name, namespace) == expected


@pytest.mark.parametrize(
    ("prefix", "shape", "expected"),
    [
        ("link", "default", "link"),
        ("link", "gpu", "link-gpu"),
        ("l" * 40, "s" * 11, "l" * 40 + "-" + "s" * 11),
        ("l" * 40, "s" * 40, "l" * 40 + "-ss-"),
    ],
)
def test_virtual_nodes_are_named_after_their_shapes(prefix: str, shape: str, expected: str) -> None:
    assert names.virtual_node(prefix, shape).startswith(expected)


@given(*(st.from_regex(r"\A[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?\Z") for _ in range(2)))
def test_a_virtual_node_fits_into_a_certificate(prefix: str, shape: str) -> None:
    name = names.virtual_node(prefix, shape)
    assert LABEL.match(name)
    assert len(f"system:node:{name}") <= 64

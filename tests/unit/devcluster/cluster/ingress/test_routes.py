"""Which Ingress gets which requests, and who answers them."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster.cluster.ingress import routes
from devcluster.cluster.ingress.routes import World
from tests.unit.devcluster.cluster.ingress.builders import endpoints, ingress, path, rule, service

Object = dict[str, Any]


def world(*ingresses: Object, services: list[Object] | None = None, slices: list[Object] | None = None) -> World:
    return World(ingresses, services or [service()], slices if slices is not None else [endpoints("10.42.0.9")])


@pytest.mark.parametrize(
    ("spec", "annotations", "ours"),
    [
        ({"ingressClassName": "nestor-dev"}, None, True),
        ({"ingressClassName": "nginx"}, None, False),
        ({}, None, True),
        ({}, {"kubernetes.io/ingress.class": "nginx"}, False),
        ({}, {"kubernetes.io/ingress.class": "nestor-dev"}, True),
        ({"ingressClassName": "nestor-dev"}, {"kubernetes.io/ingress.class": "nginx"}, True),
    ],
)
def test_only_our_class_and_no_class_are_ours(spec: Object, annotations: Object | None, ours: bool) -> None:
    assert routes.is_ours({"metadata": {"annotations": annotations}, "spec": spec}) is ours


def test_full_names_come_before_wildcards_and_wildcards_before_any_host() -> None:
    rules = [rule(host, path()) for host in (None, "*.test", "*.long.test", "b.test", "a.long.test")]
    assert list(routes.build(world(ingress(rules=rules)))) == ["a.long.test", "b.test", "*.long.test", "*.test", ""]


def test_longest_path_comes_first_and_exact_before_prefix() -> None:
    paths = [path("/"), path("/a"), path("/a", match="Exact"), path("/a/b/"), path("/longer", match="ImplementationSpecific")]
    found = routes.build(world(ingress(rules=[rule("a.test", *paths)])))["a.test"]
    assert [(item.path, item.match) for item in found] == [
        ("/longer", "Prefix"),
        ("/a/b", "Prefix"),
        ("/a", "Exact"),
        ("/a", "Prefix"),
        ("/", "Prefix"),
    ]


def test_who_asked_first_keeps_a_host_and_path() -> None:
    late = ingress("a", rules=[rule("a.test", path(service="late"))], created="2026-02-02T00:00:00Z")
    early = ingress("b", rules=[rule("a.test", path(service="early"))], created="2026-01-01T00:00:00Z")
    assert [item.service for item in routes.build(world(late, early))["a.test"]] == ["team/early"]


def test_a_rule_has_precedence_over_an_older_default_backend() -> None:
    old = ingress("old", rules=[rule("a.test", path("/x"))], defaultBackend=path(service="default")["backend"])
    new = ingress("new", rules=[rule("a.test", path("/", "new"))], created="2026-02-02T00:00:00Z")
    assert [item.service for item in routes.build(world(old, new))["a.test"]] == ["team/web", "team/new"]


@pytest.mark.parametrize(
    ("wanted", "services", "slices", "found"),
    [
        pytest.param(80, [service()], [endpoints("10.0.0.2", "10.0.0.1")], ("10.0.0.1:8080", "10.0.0.2:8080"), id="by number"),
        pytest.param(
            "http",
            [service("web", ("http", 80))],
            [endpoints("10.0.0.1", ports=(("http", 8080),))],
            ("10.0.0.1:8080",),
            id="by name",
        ),
        pytest.param(
            90,
            [service("web", ("a", 80), ("b", 90))],
            [endpoints("10.0.0.1", ports=(("a", 1), ("b", 2)))],
            ("10.0.0.1:2",),
            id="the right one of several ports",
        ),
        pytest.param(80, [service()], [endpoints("10.0.0.1", ready=False)], (), id="not ready"),
        pytest.param(80, [service()], [endpoints("10.0.0.1", ready=None)], ("10.0.0.1:8080",), id="readiness unknown"),
        pytest.param(80, [service()], [endpoints("fd00::1", family="IPv6")], (), id="other address family"),
        pytest.param(81, [service()], [endpoints("10.0.0.1")], (), id="no such port"),
        pytest.param(80, [service("other")], [endpoints("10.0.0.1")], (), id="no such service"),
        pytest.param(80, [service()], [], (), id="no endpoints yet"),
        pytest.param(
            80,
            [service()],
            [endpoints("10.0.0.1"), endpoints("10.0.0.2")],
            ("10.0.0.1:8080", "10.0.0.2:8080"),
            id="several slices",
        ),
    ],
)
def test_endpoints_of_a_backend(wanted: int | str, services: list[Object], slices: list[Object], found: tuple[str, ...]) -> None:
    built = routes.build(world(ingress(rules=[rule("a.test", path(port=wanted))]), services=services, slices=slices))
    assert built["a.test"][0].endpoints == found

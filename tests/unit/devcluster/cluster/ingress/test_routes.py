"""Which Ingress gets which requests."""

import pytest

from devcluster.cluster.ingress import routes
from devcluster.cluster.ingress.routes import World
from nestor.api.objects import Object
from tests.unit.devcluster.cluster.ingress.builders import ingress, path, rule


def build(*ingresses: Object) -> dict[str, list[routes.Path]]:
    return routes.build(World(ingresses, (), ()))


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
    assert list(build(ingress(rules=rules))) == ["a.long.test", "b.test", "*.long.test", "*.test", ""]


def test_longest_path_comes_first_and_exact_before_prefix() -> None:
    paths = [path("/"), path("/a"), path("/a", match="Exact"), path("/a/b/"), path("/longer", match="ImplementationSpecific")]
    found = build(ingress(rules=[rule("a.test", *paths)]))["a.test"]
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
    assert [item.service for item in build(late, early)["a.test"]] == ["team/early"]


def test_a_rule_has_precedence_over_an_older_default_backend() -> None:
    old = ingress("old", rules=[rule("a.test", path("/x"))], defaultBackend=path(service="default")["backend"])
    new = ingress("new", rules=[rule("a.test", path("/", "new"))], created="2026-02-02T00:00:00Z")
    assert [item.service for item in build(old, new)["a.test"]] == ["team/web", "team/new"]


def test_endpoints_speak_https_where_the_annotation_says_so() -> None:
    plain, secure = (ingress(name, rules=[rule(f"{name}.test", path())]) for name in ("plain", "secure"))
    secure["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}
    assert {host: item.is_secure for host, (item,) in build(plain, secure).items()} == {"plain.test": False, "secure.test": True}

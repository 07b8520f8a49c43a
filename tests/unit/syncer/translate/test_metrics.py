"""Objects of the metrics API, and what queries select."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.syncer.metrics import api as metrics
from tests.unit.pods.translate.builders import build_pod

Object = dict[str, Any]


def build_usage(name: str = "host", timestamp: str = "2026-01-01T00:00:10Z", **containers: tuple[str, str]) -> Object:
    """The host's PodMetrics."""
    return {
        "kind": "PodMetrics",
        "metadata": {"name": name, "namespace": "host-space", "labels": {"nestor.dev/cluster": "x"}},
        "timestamp": timestamp,
        "window": "12.5s",
        "containers": [{"name": key, "usage": {"cpu": cpu, "memory": memory}} for key, (cpu, memory) in containers.items()],
    }


def test_a_pod_has_its_own_name_labels_and_containers() -> None:
    pod = build_pod(labels={"app": "web"}, initContainers=[{"name": "side", "restartPolicy": "Always"}])
    usage = build_usage(app=("1500u", "20Mi"), side=("2m", "1Mi"), injected=("9", "9Gi"))
    assert metrics.build_pod(usage, pod) == {
        "kind": "PodMetrics",
        "apiVersion": "metrics.k8s.io/v1beta1",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, "creationTimestamp": "2026-01-01T00:00:10Z"},
        "timestamp": "2026-01-01T00:00:10Z",
        "window": "12.5s",
        "containers": [
            {"name": "app", "usage": {"cpu": "1500u", "memory": "20Mi"}},
            {"name": "side", "usage": {"cpu": "2m", "memory": "1Mi"}},
        ],
    }


def test_a_node_is_the_sum_of_the_cluster_s_own_pods() -> None:
    node = {"metadata": {"name": "n", "labels": {"zone": "a"}}}
    usages = [
        build_usage("a", "2026-01-01T00:00:10Z", app=("1500u", "20Mi"), more=("1", "1Gi")),
        build_usage("b", "2026-01-01T00:00:20Z", app=("250000000n", "512Ki")),
    ]
    found = metrics.build_node(node, usages, "now")
    assert found["usage"] == {"cpu": "1251500000n", "memory": f"{20 * 1024 + 1024**2 + 512}Ki"}
    assert (found["timestamp"], found["window"], found["metadata"]["labels"]) == ("2026-01-01T00:00:20Z", "12.5s", {"zone": "a"})
    empty = metrics.build_node(node, [], "2026-01-01T00:00:00Z")
    assert (empty["usage"], empty["timestamp"]) == ({"cpu": "0n", "memory": "0Ki"}, "2026-01-01T00:00:00Z")


ITEM = {"metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web", "tier": ""}}}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,tier=", True),
        ("app=other", False),
        ("app!=other,color!=red", True),
        ("app!=web", False),
        ("app", True),
        ("!app", False),
        ("!color", True),
        ("app in (web, other),tier", True),
        ("app notin (web,other)", False),
        ("app in (x),app", False),
        ("example.com/app notin (x)", True),
    ],
)
def test_label_selectors(selector: str, matches: bool) -> None:
    assert metrics.is_selected(ITEM, metrics.parse_selector(selector), {}) is matches


@pytest.mark.parametrize("selector", ["a=b=c(", "a in b", "(a)", "a b"])
def test_what_is_no_label_selector(selector: str) -> None:
    with pytest.raises(ValueError, match="label selector"):
        metrics.parse_selector(selector)


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("metadata.name=web", True),
        ("metadata.name==web,metadata.namespace=shop", True),
        ("metadata.name!=web", False),
        ("metadata.namespace!=other", True),
    ],
)
def test_field_selectors(selector: str, matches: bool) -> None:
    assert metrics.is_selected(ITEM, {}, metrics.parse_fields(selector)) is matches


@pytest.mark.parametrize("selector", ["spec.nodeName=n", "metadata.name", "x"])
def test_what_is_no_field_selector_of_metrics(selector: str) -> None:
    with pytest.raises(ValueError, match="field selector"):
        metrics.parse_fields(selector)


@pytest.mark.parametrize(
    "selector", ["," * 60_000, "a in (" + "x," * 2_000 + "x)", "!a," * 1_000], ids=["commas", "values", "terms"]
)
def test_a_selector_that_takes_long_to_read_or_match_is_none(selector: str) -> None:
    with pytest.raises(ValueError, match="label selector has more than 2048 characters"):
        metrics.parse_selector(selector)


def test_the_longest_selector_is_read() -> None:
    found = metrics.parse_selector("a in (" + "x," * 1_020 + "x)")
    assert len(found["matchExpressions"][0]["values"]) == 1_021

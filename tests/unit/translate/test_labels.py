"""Labels and selectors: what is the tenant's stays, what is not is carried under another name on both sides."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestor.api import labels as known
from nestor.translate import labels

Object = dict[str, Any]


@pytest.mark.parametrize("key", ["app", "app.kubernetes.io/name", "pod-template-hash", "example.org/tier", "k8s-app"])
def test_ordinary_keys_stay(key: str) -> None:
    assert labels.host_key(key, rename_all=False) == key


@pytest.mark.parametrize(
    "key",
    [
        "nestor.dev/cluster",
        "nestor.dev/component",
        "x.nestor.dev/y",
        "app.kubernetes.io/managed-by",
        "topology.kubernetes.io/zone",
        "statefulset.kubernetes.io/pod-name",
        "batch.kubernetes.io/job-name",
        "k8s.v1.cni.cncf.k8s.io/networks",
    ],
)
def test_reserved_keys_are_carried_under_another_name(key: str) -> None:
    host = labels.host_key(key, rename_all=False)
    assert host.startswith("tenant.nestor.dev/" + key.rpartition("/")[2])
    assert host != key


@pytest.mark.parametrize("key", ["app", "example.org/tier", "nestor.dev/cluster"])
def test_all_keys_can_be_renamed(key: str) -> None:
    host = labels.host_key(key, rename_all=True)
    assert host.startswith("tenant.nestor.dev/" + key.rpartition("/")[2])
    assert list(labels.host_labels({key: "x"}, rename_all=True)) == [host]


def test_reserved_keys_of_the_same_last_part_differ() -> None:
    assert labels.host_key("a.k8s.io/x", rename_all=False) != labels.host_key("b.k8s.io/x", rename_all=False)


RESERVED = r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?\.k8s\.io/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"


@given(st.from_regex(RESERVED, fullmatch=True))
def test_renamed_keys_are_valid_and_never_ours(key: str) -> None:
    prefix, _, name = labels.host_key(key, rename_all=False).partition("/")
    assert len(name) <= 63
    assert name[0].isalnum()
    assert name[-1].isalnum()
    assert prefix == "tenant.nestor.dev"
    assert labels.host_key(key, rename_all=False) not in (known.CLUSTER, known.NESTED_UID, known.COMPONENT)


@pytest.mark.parametrize("rename_all", [False, True])
def test_selectors_use_the_same_spelling_as_labels(rename_all: bool) -> None:
    tenant = {"app": "web", "statefulset.kubernetes.io/pod-name": "web-0"}
    selector: Object = {
        "matchLabels": dict(tenant),
        "matchExpressions": [{"key": "batch.kubernetes.io/job-name", "operator": "DoesNotExist"}],
    }
    host = labels.host_selector(selector, {}, rename_all=rename_all)
    assert labels.is_match(selector, tenant)
    assert labels.is_match(host, labels.host_labels(tenant, rename_all=rename_all))


def test_the_scope_wins_over_the_tenant_s_words() -> None:
    selector = {"matchLabels": {"nestor.dev/cluster": "other"}}
    host = labels.host_selector(selector, {"nestor.dev/cluster": "hello"}, rename_all=False)
    assert host["matchLabels"]["nestor.dev/cluster"] == "hello"


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ({"key": "a", "operator": "In", "values": ["1", "2"]}, True),
        ({"key": "a", "operator": "In", "values": ["2"]}, False),
        ({"key": "a", "operator": "NotIn", "values": ["2"]}, True),
        ({"key": "b", "operator": "NotIn", "values": ["2"]}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "b", "operator": "Exists"}, False),
        ({"key": "b", "operator": "DoesNotExist"}, True),
    ],
)
def test_match_expressions(expression: Object, matches: bool) -> None:
    assert labels.is_match({"matchExpressions": [expression]}, {"a": "1"}) is matches

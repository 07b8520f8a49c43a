"""What the host's scheduler hears: wishes about this cluster's pods, tolerations that are allowed."""

import dataclasses
from typing import Any

import pytest

from nestor.api.placement import Placement
from nestor.pods.translate import scheduling
from nestor.pods.translate.node_rules import PREFERRED, REQUIRED
from nestor.pods.translate.placement import Place
from tests.unit.pods.translate.builders import TARGET, build_pod, one_of

Object = dict[str, Any]

NAMESPACES = {"shop": {"team": "a"}, "stock": {"team": "a"}, "other": {"team": "b"}}
SCOPE = {"nestor.dev/cluster": "hello"}
HERE = SCOPE | {"nestor.dev/nested-namespace": "shop"}
WEB = {"matchLabels": {"app": "web"}}


ALLOWING = dataclasses.replace(TARGET, allowed_labels=("app", "pod-template-hash", "tenant"))


def build(labels: Any = None, **spec: Any) -> Object:
    """The scheduling fields for a pod, under a class that allows the labels here."""
    return scheduling.build_scheduling(build_pod(labels=labels, **spec), ALLOWING, NAMESPACES, Placement(), Place("Host"))


def anti_affinity(labels: dict[str, str] | None = None, **term: Any) -> Object:
    affinity = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", **term}]}}
    found: Object = build(labels, affinity=affinity)["affinity"]["podAntiAffinity"][REQUIRED][0]
    return found


@pytest.mark.parametrize(
    ("toleration", "allowed"),
    [
        ({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, True),
        ({"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, True),
        ({"operator": "Exists"}, False),
        # A node that is short of memory is spared further pods; the host's admission decides which may go there all the same.
        ({"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}, False),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}, False),
        ({"key": "virtual-kubelet.io/provider", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: Object, allowed: bool) -> None:
    assert build(tolerations=[toleration])["tolerations"] == ([toleration] if allowed else [])


@pytest.mark.parametrize(
    "own",
    [None, {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"matchFields": []}]}}],
)
def test_a_named_node_becomes_a_wish_that_the_scheduler_checks(own: Object | None) -> None:
    spec: Object = {"affinity": {"nodeAffinity": own}} if own else {}
    terms = build(nodeName="node-1", **spec)["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    here = one_of("metadata.name", "node-1")
    assert all(here in term["matchFields"] for term in terms)
    assert len(terms) == (2 if own else 1)


@pytest.mark.parametrize(
    ("term", "namespaces"),
    [
        ({"namespaces": ["stock", "shop"]}, ["shop", "stock"]),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, ["shop", "stock"]),
        ({"namespaces": ["other"], "namespaceSelector": {"matchLabels": {"team": "a"}}}, ["other", "shop", "stock"]),
        ({"namespaceSelector": {"matchLabels": {"team": "nobody"}}}, ["-"]),
    ],
)
def test_a_term_about_several_namespaces(term: Object, namespaces: list[str]) -> None:
    selector = anti_affinity(labelSelector={}, **term)["labelSelector"]
    expected = one_of("nestor.dev/nested-namespace", *namespaces)
    assert selector == {"matchLabels": SCOPE, "matchExpressions": [expected]}


@pytest.mark.parametrize(
    ("term", "built"),
    [
        # Of the pod's own namespace, of all in this cluster, and of no pod.
        ({"labelSelector": WEB}, {"labelSelector": {"matchLabels": {"app": "web"} | HERE}}),
        ({"labelSelector": WEB, "namespaceSelector": {}}, {"labelSelector": {"matchLabels": {"app": "web"} | SCOPE}}),
        ({}, {}),
    ],
)
def test_a_term_is_about_pods_of_this_cluster(term: Object, built: Object) -> None:
    assert anti_affinity(**term) == {"topologyKey": "zone"} | built


def test_preferred_terms_keep_their_weight() -> None:
    term = {"topologyKey": "zone", "labelSelector": WEB}
    built = build(affinity={"podAffinity": {PREFERRED: [{"weight": 7, "podAffinityTerm": term}]}})
    (preferred,) = built["affinity"]["podAffinity"][PREFERRED]
    assert preferred["weight"] == 7
    assert preferred["podAffinityTerm"]["labelSelector"]["matchLabels"] == {"app": "web"} | HERE


@pytest.mark.parametrize("merged_before", [False, True])
def test_match_label_keys_are_worked_in_once(merged_before: bool) -> None:
    """API servers from 1.34 on have done it already when we see the pod."""
    hash_is = one_of("pod-template-hash", "abc")
    selector = WEB | ({"matchExpressions": [hash_is]} if merged_before else {})
    plain = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    constraint = plain | {"labelSelector": selector, "matchLabelKeys": ["pod-template-hash", "absent"]}
    (built,) = build({"pod-template-hash": "abc"}, topologySpreadConstraints=[constraint])["topologySpreadConstraints"]
    found = {"matchLabels": {"app": "web"} | HERE, "matchExpressions": [hash_is]}
    assert built == plain | {"labelSelector": found}


def test_mismatch_label_keys_exclude() -> None:
    built = anti_affinity({"tenant": "x"}, labelSelector={}, mismatchLabelKeys=["tenant"])
    assert built["labelSelector"]["matchExpressions"] == [one_of("tenant", "x", operator="NotIn")]

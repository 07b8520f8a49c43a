"""What the host's scheduler hears: wishes about this cluster's pods, tolerations that are allowed."""

import dataclasses
from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.pods.translate import scheduling
from nestor.pods.translate.node_rules import PREFERRED, REQUIRED
from nestor.pods.translate.placement import Place, decide_place
from nestor.pods.translate.scheduling import build_tolerations, is_allowed, is_carried
from nestor.pods.translate.update import build_patience
from tests.unit.pods.translate.builders import TARGET, build_host_pod, build_pod, one_of

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


FOR_GPUS = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def tolerations(pod: Object, **rules: Any) -> list[Object]:
    placement = read(Placement, rules)
    return build_tolerations(pod, placement, decide_place(pod, placement))


ONE = {"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("allowed", "own", "expected"),
    [
        ("gpu", ONE, True),
        ("gpu", {"key": "gpu", "operator": "Exists"}, True),
        ("gpu=a100", ONE, True),
        ("gpu=a100", {"key": "gpu", "value": "a100", "effect": "NoSchedule"}, True),
        ("gpu=a100:NoSchedule", ONE, True),
        ("*", ONE, True),
        ("*", {"operator": "Exists"}, True),
        ("*:NoSchedule", ONE, True),
        # A toleration must not tolerate more than what is allowed.
        ("gpu", {"operator": "Exists"}, False),
        ("gpu", {"key": "other", "operator": "Exists"}, False),
        ("gpu=a100", {"key": "gpu", "operator": "Exists"}, False),
        ("gpu=a100", {"key": "gpu", "value": "h100"}, False),
        ("gpu=", ONE, False),
        ("gpu:NoSchedule", {"key": "gpu", "operator": "Exists"}, False),
        ("*:NoSchedule", {"operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_a_pods_own_toleration_is_carried_if_the_class_allows_all_of_it(allowed: str, own: Object, expected: bool) -> None:
    assert is_allowed(own, read(Placement, {"allowedTolerations": [allowed]})) is expected
    assert tolerations(build_pod(tolerations=[own]), allowedTolerations=[allowed]) == ([own] if expected else [])
    assert not is_allowed(own, Placement())


@pytest.mark.parametrize(("mode", "is_there"), [("Never", False), ("WhenFull", True), ("Always", True)])
def test_those_of_a_backend_come_with_the_possibility_to_go_there(mode: str, is_there: bool) -> None:
    expected = {"key": "virtual-kubelet.io/provider", "operator": "Equal", "value": "hpc", "effect": "NoSchedule"}
    assert tolerations(build_pod(), overflow={"mode": mode, "backends": [{"name": "hpc"}]}) == ([expected] if is_there else [])


def lost(key: str, seconds: int | None, **more: Any) -> Object:
    """A toleration of a node that is not there, as API servers give it to each pod."""
    found = {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    return {name: value for name, value in (found | more).items() if value is not None}


DEFAULTS = [lost("not-ready", 300), lost("unreachable", 300)]


@pytest.mark.parametrize(
    ("mode", "own", "expected"),
    [
        ("Never", 300, 300),
        # It may get one of the host's own nodes: how long it stays is said once it has its node.
        ("WhenFull", 300, 300),
        ("Always", 300, 3600),
        # What somebody chose stays.
        ("Always", 10, 10),
        ("Always", 900, 900),
        ("Always", None, None),
    ],
)
def test_a_pod_stays_for_an_hour_on_a_virtual_node_that_is_away(mode: str, own: int | None, expected: int | None) -> None:
    pod = build_pod(tolerations=[lost("not-ready", own), lost("unreachable", own)])
    found = tolerations(pod, overflow={"mode": mode, "backends": [{"name": "hpc", "tolerations": []}]})
    assert found == [lost("not-ready", expected), lost("unreachable", expected)]


def test_a_pod_that_has_got_a_virtual_node_is_changed_once_and_never_back() -> None:
    policy = Policy(placement=read(Placement, {"overflow": {"backends": [{"name": "hpc"}]}}))
    host = build_host_pod(tolerations=[*DEFAULTS, FOR_GPUS])
    patch = build_patience(host, policy)
    assert patch == {"spec": {"tolerations": [lost("not-ready", 3600), lost("unreachable", 3600), FOR_GPUS]}}
    host["spec"] |= patch["spec"]
    assert build_patience(host, policy) is None
    assert build_patience(build_host_pod(tolerations=DEFAULTS), Policy()) is None
    # Later changes of the pod do not bring the five minutes back.
    assert all(is_carried(item, host["spec"]["tolerations"]) for item in DEFAULTS)
    assert not is_carried(lost("not-ready", 10), host["spec"]["tolerations"])
    assert not is_carried(FOR_GPUS, [])

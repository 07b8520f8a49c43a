"""On which nodes a pod may run, and which it prefers."""

from dataclasses import replace
from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.placement import Placement
from nestor.pods.translate import pod as translate
from nestor.pods.translate import refusals
from nestor.pods.translate.node_rules import PREFERRED, REQUIRED
from tests.unit.pods.translate.builders import BASELINE, TARGET, build_pod, one_of, requires

OWN_NODES = {"key": "nestor.dev/backend", "operator": "DoesNotExist"}
AT_HPC, AT_CLOUD = one_of("nestor.dev/backend", "hpc"), one_of("nestor.dev/backend", "cloud")
BY_NAME = requires({"matchFields": [one_of("metadata.name", "hpc")]})
TWO = [{"name": "hpc", "weight": 80}, {"name": "cloud", "weight": 21}]


def build(nested: Object, **rules: Any) -> Object:
    policy = replace(BASELINE, placement=read(Placement, rules))
    assert refusals.find_refusals(nested, policy) == []
    spec: Object = translate.build_pod(nested, TARGET, {}, policy)["spec"]
    return spec


def affinity(nested: Object, **rules: Any) -> Object:
    return build(nested, **rules).get("affinity", {}).get("nodeAffinity", {})  # type: ignore[no-any-return]


def terms(found: Object) -> list[list[Object]]:
    return [item["matchExpressions"] for item in found[REQUIRED]["nodeSelectorTerms"]]


def prefer(weight: int, *expressions: Object) -> Object:
    return {"weight": weight, "preference": {"matchExpressions": [*expressions]}}


def wishing(*preferred: Object) -> Object:
    return build_pod(affinity={"nodeAffinity": {PREFERRED: [*preferred]}})


def refused(nested: Object, **rules: Any) -> list[str]:
    return refusals.find_refusals(nested, replace(BASELINE, placement=read(Placement, rules)))


def test_a_node_selector_that_contradicts_the_class_is_refused() -> None:
    (message,) = refused(build_pod(nodeSelector={"pool": "web"}), nodeSelector={"pool": "batch"})
    assert message == "`spec.nodeSelector` must not have 'web' for 'pool': the pod has to run on nodes with 'batch'"


@pytest.mark.parametrize(
    ("nested", "found"),
    [
        (build_pod(), []),
        (build_pod(nodeSelector={"team": "a", "topology.kubernetes.io/zone": "z"}), []),
        (build_pod(nodeSelector={"secret": "n"}), ["`spec.nodeSelector` must not contain 'secret'"]),
        (
            build_pod(affinity=requires({"matchExpressions": [one_of("secret", "x")]})),
            ["`spec.affinity.nodeAffinity` must not contain 'secret'"],
        ),
        (wishing(prefer(1, one_of("secret", "x"))), ["`spec.affinity.nodeAffinity` must not contain 'secret'"]),
        # A DaemonSet's pods name their node.
        (build_pod(affinity=BY_NAME), []),
    ],
)
def test_labels_of_nodes_that_pods_may_use(nested: Object, found: list[str]) -> None:
    listed = "the class allows 'team', 'topology.kubernetes.io/*'"
    said = refused(nested, allowedNodeLabels=["team", "topology.kubernetes.io/*"])
    assert said == [f"{text}: {listed}" for text in found]
    assert refused(nested) == []


@pytest.mark.parametrize("spec", [{"nodeName": "hpc"}, {"affinity": BY_NAME}])
def test_a_pod_that_names_its_node_has_room_nowhere_else(spec: Object) -> None:
    found = affinity(build_pod(**spec), overflow={"backends": TWO}, nodeSelector={"pool": "batch"})
    assert terms(found) == [[OWN_NODES, one_of("pool", "batch")]]
    assert terms(affinity(build_pod(**spec), overflow={"mode": "Always", "backends": TWO})) == [[AT_HPC], [AT_CLOUD]]


POOL = {"nodeSelector": {"pool": "batch"}}
GPU_RULE = {"extendedResources": [{"name": "nvidia.com/gpu", "nodeSelector": {"accelerator": "nvidia"}}]}


@pytest.mark.parametrize(
    ("mode", "selector", "expected"),
    [
        ("Never", {"own": "1", "pool": "batch", "accelerator": "nvidia"}, [[OWN_NODES]]),
        ("WhenFull", {"own": "1"}, [[OWN_NODES, one_of("accelerator", "nvidia"), one_of("pool", "batch")], [AT_HPC]]),
        ("Always", {"own": "1"}, [[AT_HPC]]),
    ],
)
def test_a_pool_is_one_of_the_hosts_nodes_and_no_reason_not_to_overflow(
    mode: str, selector: dict[str, str], expected: list[list[Object]]
) -> None:
    pod = build_pod(nodeSelector={"own": "1"}, container={"resources": {"limits": {"nvidia.com/gpu": 1}}})
    spec = build(pod, overflow={"mode": mode, "backends": TWO[:1]}, **POOL, **GPU_RULE)
    assert spec["nodeSelector"] == selector
    assert terms(spec["affinity"]["nodeAffinity"]) == expected


def test_when_full_own_nodes_are_preferred_to_all_backends_whatever_their_weight() -> None:
    found = affinity(build_pod(), overflow={"backends": TWO})
    assert terms(found) == [[OWN_NODES], [AT_HPC], [AT_CLOUD]]
    own = one_of("nestor.dev/backend", "cloud", "hpc", operator="NotIn")
    assert found[PREFERRED] == [prefer(100, own), prefer(40, AT_HPC), prefer(10, AT_CLOUD)]


def test_always_goes_to_the_backends_alone_by_weight() -> None:
    found = affinity(build_pod(), overflow={"mode": "Always", "backends": TWO})
    assert terms(found) == [[AT_HPC], [AT_CLOUD]]
    assert found[PREFERRED] == [prefer(80, AT_HPC), prefer(21, AT_CLOUD)]


def test_when_full_a_pods_own_preferences_are_about_own_nodes() -> None:
    """Many of them would outweigh that it is to stay."""
    zone = one_of("topology.kubernetes.io/zone", "hpc")
    pod = wishing(prefer(100, zone))
    not_hpc, not_cloud = (one_of("nestor.dev/backend", name, operator="NotIn") for name in ("hpc", "cloud"))
    found = affinity(pod, overflow={"backends": TWO})[PREFERRED]
    assert found == [prefer(100, zone, not_hpc, not_cloud), *affinity(build_pod(), overflow={"backends": TWO})[PREFERRED]]
    # Of several labels, each may tell an own node; of too many backends like that, nobody can.
    preferred = affinity(pod, overflow={"backends": [AKS]})[PREFERRED]
    keys = [item["preference"]["matchExpressions"][-1]["key"] for item in preferred[:3]]
    assert keys == ["beta.kubernetes.io/os", "kubernetes.io/role", "type"]
    many = {"backends": [AKS | {"name": name} for name in ("a", "b")]}
    assert affinity(pod, overflow=many)[PREFERRED] == affinity(build_pod(), overflow=many)[PREFERRED]
    assert affinity(pod, overflow={"mode": "Always", "backends": TWO})[PREFERRED][0] == prefer(100, zone)


def test_a_pods_own_terms_hold_at_backends_too() -> None:
    own = one_of("gpu-type", "v100")
    pod = build_pod(affinity=requires({"matchExpressions": [own]}))
    assert terms(affinity(pod, overflow={"mode": "Always", "backends": TWO})) == [[own, AT_HPC], [own, AT_CLOUD]]


# The three ways in which those systems send a pod to a virtual node, each as it is documented.
AKS = {
    "name": "aci",
    "nodeSelector": {"beta.kubernetes.io/os": "linux", "kubernetes.io/role": "agent", "type": "virtual-kubelet"},
    "tolerations": ["virtual-kubelet.io/provider=azure:NoSchedule"],
}
NUNET = {
    "name": "nunet",
    "nodeSelector": {"kubernetes.io/hostname": "nunet-node"},
    "tolerations": ["virtual-node.interlink/no-schedule"],
}


@pytest.mark.parametrize(
    ("backend", "toleration", "labels"),
    [
        (
            AKS,
            {"key": "virtual-kubelet.io/provider", "operator": "Equal", "value": "azure", "effect": "NoSchedule"},
            [("beta.kubernetes.io/os", "linux"), ("kubernetes.io/role", "agent"), ("type", "virtual-kubelet")],
        ),
        (NUNET, {"key": "virtual-node.interlink/no-schedule", "operator": "Exists"}, [("kubernetes.io/hostname", "nunet-node")]),
    ],
)
def test_a_backend_has_the_spelling_of_its_own_system(backend: Object, toleration: Object, labels: list[tuple[str, str]]) -> None:
    spec = build(build_pod(), overflow={"mode": "Always", "backends": [backend]})
    assert spec["tolerations"] == [toleration]
    assert terms(spec["affinity"]["nodeAffinity"]) == [[one_of(*item) for item in labels]]
    assert "schedulerName" not in spec


def test_prices_and_regions_are_preferences() -> None:
    price = one_of("nestor.dev/price", "3", operator="Lt")
    own = [prefer(30, item) for item in (price, one_of("topology.kubernetes.io/region", "eu-1"))]
    pod, rules = wishing(*own), {"mode": "Always", "backends": TWO[:1]}
    assert refused(pod) == ["`spec.affinity.nodeAffinity` must not contain 'nestor.dev/price': the class does not allow it"]
    assert affinity(pod, overflow=rules, allowedNodeLabels=["nestor.dev/price", "topology.kubernetes.io/*"])[PREFERRED] == own


@pytest.mark.parametrize(
    ("field", "names"),
    [("schedulerName", "schedulers"), ("priorityClassName", "priorityClasses"), ("runtimeClassName", "runtimeClasses")],
)
def test_names_are_those_of_the_host(field: str, names: str) -> None:
    rules = {names: ["usual", "mine"] if field == "schedulerName" else {"default": "usual", "allowed": ["mine"]}}
    mine = build_pod()
    mine["spec"][field] = "mine"
    assert build(mine, **rules)[field] == "mine"
    assert build(build_pod(), **rules)[field] == "usual"
    assert field not in build(build_pod())


def test_a_runtime_that_is_not_allowed_is_refused_by_name() -> None:
    (message,) = refused(build_pod(runtimeClassName="kata"), runtimeClasses={"default": "x", "allowed": ["gvisor"]})
    assert message == "`spec.runtimeClassName` may not be 'kata': the class allows 'gvisor' (`placement.runtimeClasses`)"

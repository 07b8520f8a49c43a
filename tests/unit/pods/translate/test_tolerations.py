"""Which taints a pod tolerates on the host."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.api.data import read
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.pods.translate.placement import decide_place
from nestor.pods.translate.scheduling import build_tolerations, is_allowed, is_carried
from nestor.pods.translate.update import build_patience
from tests.unit.pods.translate.builders import build_host_pod, build_pod

Object = dict[str, Any]

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

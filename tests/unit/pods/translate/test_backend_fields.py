"""What pods have at a backend and not in the host cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nestor.api import names
from nestor.api.base import Resources
from nestor.api.data import read
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.pods.translate.pod import build_pod as build_host
from nestor.pods.translate.pod import fill_resources
from tests.unit.pods.translate.builders import TARGET, build_pod

Object = dict[str, Any]

# aksjobscheduler's limits: 0.5 CPU and 256Mi in the cluster, 1 CPU and 1Gi on ACI.
ACI: Object = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}


@pytest.mark.parametrize(
    ("own", "defaults", "expected"),
    [
        (None, {}, None),
        (None, ACI, ACI),
        # What a container says stays.
        ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "1"}}, {"requests": {"cpu": "2"}}),
        ({"limits": {"cpu": "250m"}}, {"limits": {"cpu": "1"}}, {"limits": {"cpu": "250m"}}),
        # A limit alone is the request as well: no default request may be above it.
        ({"limits": {"cpu": "250m"}}, {"requests": {"cpu": "1"}}, {"limits": {"cpu": "250m"}}),
        # A default limit below a request would be refused.
        ({"requests": {"cpu": "2"}}, {"limits": {"cpu": "1"}}, {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}),
        ({"requests": {"cpu": "500m"}}, {"limits": {"cpu": "1"}}, {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}),
        ({"claims": []}, {"limits": {"cpu": "1"}}, {"claims": [], "limits": {"cpu": "1"}}),
    ],
)
def test_a_container_gets_what_it_does_not_say_itself(own: Object | None, defaults: Object, expected: Object | None) -> None:
    container = {"name": "app"} if own is None else {"name": "app", "resources": own}
    assert fill_resources(container, read(Resources, defaults)).get("resources") == expected


def host_spec(pod: Object, **overflow: Any) -> Object:
    backends = [{"name": "aci", "imagePullSecrets": ["acr"]}, {"name": "hpc", "weight": 80, "imagePullSecrets": ["acr", "site"]}]
    rules = read(Placement, {"overflow": {"backends": backends, "backendResources": ACI} | overflow})
    spec: Object = build_host(pod, TARGET, {}, Policy(placement=rules))["spec"]
    return spec


@pytest.mark.parametrize(("mode", "is_there"), [("Never", False), ("WhenFull", False), ("Always", True)])
def test_resources_are_those_of_the_place_where_the_pod_can_only_run_there(mode: str, is_there: bool) -> None:
    pod = build_pod(initContainers=[{"name": "first", "image": "a"}])
    spec = host_spec(pod, mode=mode)
    for container in (*spec["containers"], *spec["initContainers"]):
        assert container.get("resources") == (ACI if is_there else None)


@pytest.mark.parametrize(("mode", "expected"), [("Never", []), ("WhenFull", ["acr", "site"]), ("Always", ["acr", "site"])])
def test_pull_secrets_are_those_of_all_backends_that_the_pod_may_go_to(mode: str, expected: list[str]) -> None:
    spec = host_spec(build_pod(imagePullSecrets=[{"name": "own"}]), mode=mode)
    own = names.host_name("own", "shop")
    assert spec["imagePullSecrets"] == [{"name": name} for name in (own, *map(names.operators_pull_secret, expected))]


def test_those_of_the_class_are_for_pods_that_stay_here() -> None:
    pod, shared = build_pod(imagePullSecrets=[{"name": "own"}]), {"name": names.operators_pull_secret("house")}
    policy = Policy(image_pull_secrets=["house"])
    own = {"name": names.host_name("own", "shop")}
    assert build_host(pod, TARGET, {}, policy)["spec"]["imagePullSecrets"] == [own, shared]
    assert build_host(build_pod(), TARGET, {}, policy)["spec"]["imagePullSecrets"] == [shared]
    rules = read(Placement, {"overflow": {"backends": [{"name": "aci"}], "mode": "WhenFull"}})
    away = replace(policy, placement=rules)
    assert build_host(pod, TARGET, {}, away)["spec"]["imagePullSecrets"] == [own], "a backend could read it"

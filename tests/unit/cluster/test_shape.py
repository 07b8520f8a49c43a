"""Rules that every cluster's objects keep: our own pods are hardened and bounded, ranges do not overlap, quotas leave us room."""

from dataclasses import replace

import pytest

from nestor.api.base import Resources
from nestor.api.contracts import syncer
from nestor.api.data import read
from nestor.api.policies import Persistence
from nestor.cluster import coredns, k3s, namespace, server
from nestor.cluster.shape import Host, choose_cluster_cidr
from nestor.operator.job import runner_pod as runner
from nestor.operator.settings import Settings
from nestor.operator.world.host_facts import read_resolver
from tests.unit.operator.builders import Object, build_resolved, build_shape

ISSUER = {"expose": {"annotations": {"cert-manager.io/issuer": "ours"}}}


def own_pods() -> list[Object]:
    """The specs of the cluster's own pods."""
    resolved = build_resolved()
    pod = runner.build_pod(resolved, Settings(image="nestor:1"), resolved.build_plan("x", 0), "10.43.0.9", 1)
    return [server.build_stateful_set(build_shape(), "10.43.0.5")["spec"]["template"]["spec"], pod["spec"]]


def test_our_own_containers_are_bounded_and_cannot_gain_privileges() -> None:
    for spec in own_pods():
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert set(container["resources"]) == {"requests", "limits"}
            assert {"cpu", "memory"} <= set(container["resources"]["requests"]) & set(container["resources"]["limits"])
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"]["drop"] == ["ALL"]
            if container["name"] != "k3s":
                assert context["readOnlyRootFilesystem"] is True


def test_only_the_syncer_holds_a_host_token_and_only_the_server_the_authorities() -> None:
    spec = own_pods()[0]
    mounts = {item["name"]: {mount["name"] for mount in item["volumeMounts"]} for item in spec["containers"]}
    assert [name for name, found in mounts.items() if "host-token" in found] == ["syncer"]
    assert [name for name, found in mounts.items() if "pki" in found] == ["k3s"]
    assert spec["automountServiceAccountToken"] is False


def test_k3s_may_run_as_long_as_the_operator_says_and_is_probed_by_the_syncer() -> None:
    syncer, k3s, _ = server.build_stateful_set(build_shape(server_seconds=5), "10.43.0.5")["spec"]["template"]["spec"][
        "containers"
    ]
    assert {"name": "NESTOR_SERVER_SECONDS", "value": "5"} in syncer["env"]
    probe = k3s["livenessProbe"]
    assert (probe["httpGet"]["port"], probe["httpGet"]["path"]) == (syncer["ports"][0]["containerPort"], "/server")
    # Longer than the longest pause between two starts of a syncer that crashes.
    assert probe["periodSeconds"] * probe["failureThreshold"] > 300


def test_half_a_choice_of_resources_keeps_the_other_half() -> None:
    chosen = read(Resources, {"requests": {"cpu": 1}})
    assert k3s.build_resources(chosen, k3s.DEFAULT_RESOURCES) == {
        "requests": {"cpu": "1"},
        "limits": {"cpu": "2", "memory": "2Gi"},
    }


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        (("10.43.0.0/16",), "10.42.0.0/16"),
        (("10.40.0.0/14",), "172.30.0.0/16"),
        (("10.96.0.0/12", "fd42::/112"), "10.42.0.0/16,fd43::/48"),
        (("fd00::/108",), "fd42::/48"),
    ],
)
def test_pod_ranges_do_not_overlap_services(services: tuple[str, ...], expected: str) -> None:
    assert choose_cluster_cidr(services) == expected


@pytest.mark.parametrize(
    ("name", "limit", "expected"),
    [
        ("requests.cpu", "4", "4250m"),
        ("cpu", "1500m", "1750m"),
        ("requests.memory", "1Gi", str(1024**3 + 544 * 1024**2)),
        ("pods", "10", "12"),
        ("count/pods", "1000", "1002"),
        ("count/services", "5", "7"),
        ("services.nodeports", "0", "0"),
        ("configmaps", "200", "208"),
        ("count/secrets", "200", "208"),
        ("requests.nvidia.com/gpu", "2", "2"),
    ],
)
def test_the_quota_leaves_room_for_the_clusters_own_pods(name: str, limit: str, expected: str) -> None:
    own = [{"requests": {"cpu": "200m", "memory": "512Mi"}}, {"requests": {"cpu": "50m", "memory": "32Mi"}}]
    assert namespace.add_own_share(name, limit, own) == expected


@pytest.mark.parametrize(("own", "expected"), [({}, "21"), ({"memory": "1Gi"}, "21"), ({"ephemeral-storage": "5"}, "6")])
def test_the_quota_leaves_room_for_what_the_limit_range_gives_our_own_containers(own: dict[str, str], expected: str) -> None:
    policy = {"quota": {"limits.ephemeral-storage": "1"}, "defaultResources": {"limits": {"ephemeral-storage": "20"}}}
    quota = namespace.build_quota(build_shape(policy={"namespace": policy}), [{"limits": own}])
    assert quota["spec"]["hard"]["limits.ephemeral-storage"] == expected


NO_PORTS = {"services.nodeports": "0", "services.loadbalancers": "0"}
PORTS, BALANCERS = {"services": {"nodePorts": True}}, {"services": {"loadBalancers": True}}


@pytest.mark.parametrize(
    ("policy", "quota", "expected"),
    [
        # The Service by which cert-manager proves a host has node ports, unless the issuer says otherwise.
        ({}, {}, NO_PORTS),
        (ISSUER, {}, {"services.nodeports": None, "services.loadbalancers": "0"}),
        (ISSUER, {"services.nodeports": "0"}, NO_PORTS),
        # Services that are reached from outside have room where the class allows them.
        (PORTS, {}, {"services.nodeports": "10", "services.loadbalancers": "0"}),
        (BALANCERS, {}, {"services.nodeports": "10", "services.loadbalancers": "2"}),
        (BALANCERS, NO_PORTS | {"services.loadbalancers": "7"}, NO_PORTS | {"services.loadbalancers": "7"}),
        # Pods that have ended are counted too, and never keep as many from running as the class allows.
        ({}, {}, {"count/pods": "1002"}),
        ({}, {"requests.cpu": "4"}, {"count/pods": "1002"}),
        ({}, {"pods": "5"}, {"count/pods": "1002"}),
        ({}, {"pods": "2k"}, {"count/pods": "20002"}),
        ({}, {"pods": "500", "count/pods": "600"}, {"count/pods": "602"}),
    ],
)
def test_what_the_quota_has_by_default(policy: Object, quota: dict[str, str], expected: dict[str, str | None]) -> None:
    found = namespace.build_quota(build_shape(policy=policy | {"namespace": {"quota": quota}}), [])["spec"]["hard"]
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(("request_", "limit"), [("20Gi", "20Gi"), ("512Mi", "10Gi"), (5 * 2**30, "10Gi")])
def test_a_class_that_only_sets_a_request_of_storage_gets_no_limit_below_it(request_: str | int, limit: str) -> None:
    policy = {"namespace": {"defaultResources": {"requests": {"ephemeral-storage": request_}}}}
    (found,) = namespace.build_limit_range(build_shape(policy=policy))["spec"]["limits"]
    assert found["defaultRequest"]["ephemeral-storage"] == str(request_)
    assert found["default"]["ephemeral-storage"] == limit


@pytest.mark.parametrize(
    ("policy", "requests"),
    [
        ({"quota": {"cpu": 4, "memory": "1Gi"}}, {"cpu": "100m", "memory": "128Mi"}),
        ({"quota": {"pods": 4, "limits.cpu": 4}}, {}),
        ({"quota": {"cpu": 4}, "defaultResources": {"requests": {"cpu": "1"}}}, {"cpu": "1"}),
        ({"quota": {"cpu": 4}, "defaultResources": {"limits": {"cpu": "50m"}}}, {}),
        ({"quota": {"cpu": 4}, "maxResources": {"cpu": "50m", "memory": "1Gi"}}, {"cpu": "50m", "memory": "0"}),
    ],
)
def test_a_quota_refuses_no_container_because_it_says_nothing(policy: Object, requests: Object) -> None:
    (found,) = namespace.build_limit_range(build_shape(policy={"namespace": policy}))["spec"]["limits"]
    assert found["defaultRequest"] == {"ephemeral-storage": "0"} | requests


OWN = [{"limits": {"cpu": "2", "memory": "2Gi"}}, {"limits": {"cpu": "1", "memory": "512Mi"}}]


@pytest.mark.parametrize(
    ("most", "defaults", "expected"),
    [
        (None, {}, {"default": {"ephemeral-storage": "10Gi"}, "defaultRequest": {"ephemeral-storage": "0"}}),
        (
            {"cpu": 4, "memory": "1Gi"},
            {},
            {
                "default": {"cpu": "4", "memory": "1Gi", "ephemeral-storage": "10Gi"},
                "defaultRequest": {"cpu": "0", "memory": "0", "ephemeral-storage": "0"},
                # The cluster's own containers need as much.
                "max": {"cpu": "4", "memory": "2Gi"},
            },
        ),
        (
            {"cpu": 4, "ephemeral-storage": "5Gi"},
            {"limits": {"cpu": "1"}, "requests": {"cpu": "100m", "memory": "1Gi"}},
            {
                "default": {"cpu": "1", "ephemeral-storage": "5Gi"},
                "defaultRequest": {"cpu": "100m", "memory": "1Gi", "ephemeral-storage": "0"},
                "max": {"cpu": "4", "ephemeral-storage": "5Gi"},
            },
        ),
        (
            # API servers take no default above the limit.
            {"cpu": "2"},
            {"limits": {"cpu": "8"}, "requests": {"cpu": "4"}},
            {
                "default": {"cpu": "2", "ephemeral-storage": "10Gi"},
                "defaultRequest": {"cpu": "2", "ephemeral-storage": "0"},
                "max": {"cpu": "2"},
            },
        ),
    ],
)
def test_a_container_has_no_more_than_the_class_allows(most: Object | None, defaults: Object, expected: Object) -> None:
    policy = {"namespace": {"maxResources": most, "defaultResources": defaults}}
    (found,) = namespace.build_limit_range(build_shape(policy=policy), OWN)["spec"]["limits"]
    assert found == {"type": "Container"} | expected


@pytest.mark.parametrize(("request_", "limit"), [("8Gi", "8Gi"), ("1Gi", "5Gi")])
def test_a_server_for_which_a_class_only_requests_storage_gets_no_limit_below_it(request_: str, limit: str) -> None:
    policy = {"cluster": {"resources": {"requests": {"ephemeral-storage": request_}, "limits": {"cpu": "2"}}}}
    pod = server.build_stateful_set(build_shape(policy=policy), "10.43.0.5")["spec"]["template"]["spec"]
    found = next(item for item in pod["containers"] if item["name"] == "k3s")["resources"]
    assert found["requests"]["ephemeral-storage"] == request_
    assert found["limits"]["ephemeral-storage"] == limit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ((), "")),
        ("nameserver 10.96.0.10\nsearch x.svc.cluster.local svc.cluster.local cluster.local\n", (("10.96.0.10",), "")),
        ("search x.svc.corp.example. svc.corp.example. corp.example.\nnameserver fd00::a\n", (("fd00::a",), "corp.example")),
        ("nameserver fe80::1%eth0\nnameserver\nnameserver nobody\noptions ndots:5\n", (("fe80::1%eth0",), "")),
    ],
)
def test_the_hosts_dns_is_what_the_operator_itself_was_given(text: str, expected: tuple[tuple[str, ...], str]) -> None:
    assert read_resolver(text) == expected


@pytest.mark.parametrize(("domain", "hidden"), [("corp.example", "svc.corp.example pod.corp.example"), ("", "")])
def test_the_hosts_names_are_hidden_and_all_others_are_asked_for(domain: str, hidden: str) -> None:
    """Its resolver would list all Services of the host to whoever asks for one name after another."""
    lines = coredns.build_corefile(build_shape(host=Host(("10.43.0.0/16",), domain=domain)), "10.43.0.5").splitlines()
    found = [line.strip() for line in lines if "template" in line]
    assert found == ([f"template ANY ANY {hidden} {{"] if hidden else [])
    assert "    forward . /etc/resolv.conf" in lines


@pytest.mark.parametrize(
    ("name", "limit", "expected"),
    [
        ("requests.storage", "10Gi", "12884901888"),
        ("persistentvolumeclaims", "0", "1"),
        ("count/persistentvolumeclaims", "3", "4"),
        ("fast.storageclass.storage.k8s.io/requests.storage", "1Gi", "3221225472"),
        ("fast.storageclass.storage.k8s.io/persistentvolumeclaims", "1", "2"),
        ("slow.storageclass.storage.k8s.io/requests.storage", "1Gi", "1Gi"),
        ("requests.cpu", "1", "1"),
    ],
)
def test_the_volume_of_the_clusters_data_is_not_the_applications(name: str, limit: str, expected: str) -> None:
    shape = build_shape(persistence=Persistence(size="2Gi", storage_class_name="fast"))
    assert namespace.add_own_volume(name, limit, shape) == expected
    assert namespace.add_own_volume(name, limit, build_shape()) == limit
    in_default_class = build_shape(persistence=Persistence(size="500M"))
    assert namespace.add_own_volume("requests.storage", "1G", in_default_class) == "1500000000"


@pytest.mark.parametrize(
    ("image", "seed"),
    [
        ("docker.io/rancher/k3s:v1.36.3-k3s1", "v1.36.3"),
        ("registry.test:5000/k3s:v1.36.3", "v1.36.3"),
        ("docker.io/rancher/k3s:v1.36.3-k3s2@sha256:0123abcd", "v1.36.3"),
        ("docker.io/rancher/k3s:v1.36.4-k3s1", ""),
        ("docker.io/rancher/k3s:v1.36.30-k3s1", ""),
        ("docker.io/rancher/k3s:v1.36", ""),
        ("docker.io/rancher/k3s:latest", ""),
        ("docker.io/rancher/k3s@sha256:0123abcd", ""),
        ("registry.test/k3s:v1.36.3/mirror", ""),
    ],
)
def test_a_seed_is_for_images_of_its_very_version(image: str, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syncer, "SEEDS", ("v1.36.2", "v1.36.3"))
    assert replace(build_shape(), image=image).seed == seed

"""Whole host pods: what is in them, and what is not."""

import json
from dataclasses import replace
from typing import Any

import pytest

from nestor.api import names
from nestor.api.base import Resources
from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.pods.translate import env, fields, pod, update
from nestor.pods.translate.containers import fill_resources
from nestor.pods.translate.fields.containers import CONTAINER
from nestor.pods.translate.fields.pods import POD_SPEC
from nestor.pods.translate.labels import host_key, is_match
from nestor.pods.translate.pod import build_pod as build_host
from nestor.syncer.translate import service
from tests.unit.pods.translate.builders import BASELINE, PRIVILEGED, PULLED, TARGET, build_pod, build_service

RUNTIME_DEFAULT = {"type": "RuntimeDefault"}
READ: Object = {"os": {"name": "linux"}, "securityContext": {"runAsUser": 7}, "resources": {"limits": {"cpu": "1"}}}
PASSING: Object = {name: READ.get(name, f"any {name}") for name in fields.find(POD_SPEC, "Pass")}
PASSING_CONTAINER: Object = {name: READ.get(name, f"any {name}") for name in fields.find(CONTAINER, "Pass")}


def test_the_whole_of_a_host_pod_is_what_passes_and_what_nestor_adds() -> None:
    other = {"name": "first", "image": "b"}
    nested = build_pod(container=PASSING_CONTAINER, initContainers=[other], **PASSING)
    built = pod.build_pod(nested, TARGET, {}, BASELINE)
    added = {"env": env.build_env({}, "shop", TARGET.api_ip), "envFrom": [{"configMapRef": {"name": env.links_name("shop")}}]}
    assert built["spec"] == PASSING | {
        "securityContext": {"runAsUser": 7, "seccompProfile": RUNTIME_DEFAULT},
        "containers": [PASSING_CONTAINER | {"image": "example/web:1"} | added],
        "initContainers": [other | added],
        "volumes": [],
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "serviceAccountName": "default",
        "hostname": "web",
        "dnsPolicy": "None",
        "dnsConfig": {
            "nameservers": ["10.43.0.21"],
            "searches": ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local"],
            "options": [{"name": "ndots", "value": "5"}],
        },
        "tolerations": [],
    }
    assert built["metadata"].keys() == {"name", "namespace", "labels", "annotations", "ownerReferences"}


def test_service_links_are_for_those_who_want_them() -> None:
    assert "envFrom" not in pod.build_pod(build_pod(enableServiceLinks=False), TARGET, {}, BASELINE)["spec"]["containers"][0]


LOCAL = {"type": "Localhost", "localhostProfile": "x.json"}


@pytest.mark.parametrize(
    ("spec", "policy", "context"),
    [
        ({}, BASELINE, {"seccompProfile": RUNTIME_DEFAULT}),
        ({"securityContext": {"runAsUser": 7}}, BASELINE, {"runAsUser": 7, "seccompProfile": RUNTIME_DEFAULT}),
        ({"securityContext": {"seccompProfile": LOCAL}}, BASELINE, {"seccompProfile": LOCAL}),
        ({"os": {"name": "linux"}}, BASELINE, {"seccompProfile": RUNTIME_DEFAULT}),
        # An API server refuses it for Windows.
        ({"os": {"name": "windows"}}, BASELINE, None),
        ({}, PRIVILEGED, None),
        ({"securityContext": {"runAsUser": 7}}, PRIVILEGED, {"runAsUser": 7}),
    ],
)
def test_the_runtime_s_seccomp_profile_is_filled_in(spec: Object, policy: Policy, context: Object | None) -> None:
    assert pod.build_pod(build_pod(**spec), TARGET, {}, policy)["spec"].get("securityContext") == context


@pytest.mark.parametrize("said", [{}, {"imagePullPolicy": "Never"}, {"imagePullPolicy": "IfNotPresent"}])
def test_every_image_is_pulled_where_the_class_says_so(said: Object) -> None:
    volume = {"name": "data", "image": {"reference": "registry.test/another-teams:1"} | ({"pullPolicy": "Never"} if said else {})}
    other = {"name": "other", "image": "b", **said}
    nested = build_pod(container=said, initContainers=[other], ephemeralContainers=[other], volumes=[volume])
    built = pod.build_pod(nested, TARGET, {}, PULLED)
    spec = built["spec"]
    assert [item["imagePullPolicy"] for item in (*spec["containers"], *spec["initContainers"])] == ["Always", "Always"]
    assert spec["volumes"] == [{"name": "data", "image": {"reference": "registry.test/another-teams:1", "pullPolicy": "Always"}}]
    debug = update.build_debug(nested, built, TARGET, PULLED)
    assert debug is not None
    assert [item["imagePullPolicy"] for item in debug["spec"]["ephemeralContainers"]] == ["Always"]
    left = pod.build_pod(nested, TARGET, {}, BASELINE)["spec"]
    assert left["containers"][0].get("imagePullPolicy") == said.get("imagePullPolicy")
    assert left["volumes"] == [volume]


@pytest.mark.parametrize(
    ("default", "resources", "limit"),
    [
        ("10Gi", {"requests": {"cpu": "1", "ephemeral-storage": "20Gi"}, "limits": {"cpu": "1"}}, "20Gi"),
        ("10Gi", {"requests": {"ephemeral-storage": "10Gi"}}, None),
        ("100Gi", {"requests": {"ephemeral-storage": "20Gi"}}, None),
        (10 * 2**30, {"requests": {"ephemeral-storage": "20Gi"}, "limits": {"ephemeral-storage": "30Gi"}}, "30Gi"),
        (10 * 2**30, {"requests": {"ephemeral-storage": "20Gi"}}, "20Gi"),
        ("10Gi", {"requests": {"cpu": "1"}}, None),
        (None, {"requests": {"ephemeral-storage": "20Gi"}}, None),
    ],
)
def test_a_container_that_requests_more_storage_than_the_hosts_default_limit_gets_one_that_fits(
    default: str | int | None, resources: Object, limit: str | None
) -> None:
    policy = replace(BASELINE, ephemeral_storage_limit=default)
    nested = build_pod(container={"resources": resources}, initContainers=[{"name": "i", "image": "i", "resources": resources}])
    spec = pod.build_pod(nested, TARGET, {}, policy)["spec"]
    for container in (*spec["containers"], *spec["initContainers"]):
        found = container["resources"]
        assert found["requests"] == resources["requests"]
        assert found.get("limits", {}).get("ephemeral-storage") == limit
        assert (found.get("limits") or {}).get("cpu") == (resources.get("limits") or {}).get("cpu")
    assert update.build_resize(nested, {"spec": spec}) is None


def test_unknown_fields_do_not_reach_the_host() -> None:
    nested = build_pod(anythingNew={"x": 1}, schedulerName="own", priorityClassName="system-node-critical", priority=2000001000)
    nested["spec"]["containers"][0]["anythingNew"] = True
    nested["metadata"]["annotations"] = {"sidecar.istio.io/inject": "true", "cni.projectcalico.org/ipAddrs": "[]"}
    built = pod.build_pod(nested, TARGET, {}, BASELINE)
    assert not {"anythingNew", "schedulerName", "priorityClassName", "priority"} & built["spec"].keys()
    assert "anythingNew" not in built["spec"]["containers"][0]
    assert all(key.startswith("nestor.dev/") for key in built["metadata"]["annotations"])


def test_a_tenant_cannot_pose_as_another_cluster() -> None:
    forged = build_pod(labels={"nestor.dev/cluster": "other", "nestor.dev/component": "server"})
    own = pod.build_pod(forged, TARGET, {}, BASELINE)["metadata"]["labels"]
    assert (own["nestor.dev/cluster"], own["nestor.dev/component"]) == ("hello", "app")


def test_no_selector_of_others_finds_the_pod_and_its_own_do() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spread = [{"topologyKey": "zone", "maxSkew": 1, "labelSelector": {"matchLabels": {"app": "web"}}}]
    nested = build_pod(labels={"app": "web"}, affinity=affinity, topologySpreadConstraints=spread)
    built = pod.build_pod(nested, TARGET, {}, BASELINE)
    own = built["metadata"]["labels"]
    assert "app" not in own
    assert own[host_key("app", ())] == "web"
    assert pod.applied(built)["labels"] == [host_key("app", ())]

    selector = service.build_service(build_service(), TARGET, None)["spec"]["selector"]
    apart = built["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
    even = built["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert all(is_match(item, own) for item in ({"matchLabels": selector}, apart, even))
    assert all(host_key("app", ()) in item for item in (selector, apart["matchLabels"], even["matchLabels"]))


@pytest.mark.parametrize(
    ("spec", "built"),
    [
        ({"dnsPolicy": "Default"}, {"dnsPolicy": "Default"}),
        ({"dnsPolicy": "Default", "dnsConfig": {"searches": ["x"]}}, {"dnsPolicy": "Default", "dnsConfig": {"searches": ["x"]}}),
        (
            {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}},
            {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}},
        ),
        (
            {
                "dnsConfig": {
                    "searches": ["svc.cluster.local", "x"],
                    "nameservers": ["1.1.1.1"],
                    "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
                }
            },
            {
                "dnsPolicy": "None",
                "dnsConfig": {
                    "nameservers": ["10.43.0.21", "1.1.1.1"],
                    "searches": ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "x"],
                    "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
                },
            },
        ),
    ],
)
def test_dns(spec: Object, built: Object) -> None:
    assert pod.build_dns(build_pod(**spec), TARGET) == built


@pytest.mark.parametrize("field", ["hostNetwork", "hostPID", "hostIPC"])
def test_the_nodes_namespaces_are_for_the_privileged(field: str) -> None:
    nested = build_pod()
    nested["spec"][field] = True
    assert pod.build_pod(nested, TARGET, {}, PRIVILEGED)["spec"][field] is True
    assert field not in pod.build_pod(nested, TARGET, {}, BASELINE)["spec"]


def test_host_paths_are_for_the_privileged() -> None:
    volume = {"name": "v", "hostPath": {"path": "/dev", "type": "Directory"}}
    nested = build_pod(volumes=[volume])
    assert pod.build_pod(nested, TARGET, {}, PRIVILEGED)["spec"]["volumes"] == [volume]
    assert pod.build_pod(nested, TARGET, {}, BASELINE)["spec"]["volumes"] == [{"name": "v"}]


def test_a_pod_on_the_nodes_network_has_the_nodes_name_and_resolver() -> None:
    built = pod.build_pod(build_pod(hostNetwork=True), TARGET, {}, PRIVILEGED)["spec"]
    assert "hostname" not in built
    assert built["dnsPolicy"] == "Default"


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


def host(pod: Object, **overflow: Any) -> Object:
    backends = [{"name": "aci", "imagePullSecrets": ["acr"]}, {"name": "hpc", "weight": 80, "imagePullSecrets": ["acr", "site"]}]
    rules = read(Placement, {"overflow": {"backends": backends, "backendResources": ACI} | overflow})
    return build_host(pod, TARGET, {}, Policy(placement=rules))


@pytest.mark.parametrize(("mode", "is_there"), [("Never", False), ("WhenFull", False), ("Always", True)])
def test_resources_are_those_of_the_place_where_the_pod_can_only_run_there(mode: str, is_there: bool) -> None:
    pod = build_pod(initContainers=[{"name": "first", "image": "a"}])
    made = host(pod, mode=mode)
    for container in (*made["spec"]["containers"], *made["spec"]["initContainers"]):
        assert container.get("resources") == (ACI if is_there else None)
    note = made["metadata"]["annotations"].get("nestor.dev/backend-resources")
    assert (json.loads(note) if note else None) == (ACI if mode == "WhenFull" else None)


@pytest.mark.parametrize(("mode", "is_there"), [("Never", False), ("WhenFull", True), ("Always", True)])
def test_a_backend_is_told_of_annotations_and_the_host_has_none_of_them(mode: str, is_there: bool) -> None:
    pod, wish = build_pod(), {"slurm-job.vk.io/flags": "--time=9"}
    pod["metadata"]["annotations"] = wish | {"nestor.dev/created-by": "me", "kubernetes.io/egress-bandwidth": "1k"}
    notes = host(pod, mode=mode)["metadata"]["annotations"]
    assert json.loads(notes.get("nestor.dev/backend-annotations", "{}")) == (wish if is_there else {})
    assert all(key.startswith("nestor.dev/") for key in notes)


@pytest.mark.parametrize(("mode", "expected"), [("Never", []), ("WhenFull", ["acr", "site"]), ("Always", ["acr", "site"])])
def test_pull_secrets_are_those_of_all_backends_that_the_pod_may_go_to(mode: str, expected: list[str]) -> None:
    spec = host(build_pod(imagePullSecrets=[{"name": "own"}]), mode=mode)["spec"]
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

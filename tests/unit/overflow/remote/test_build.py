"""Host pods as pods of another cluster, their copies, and what they cannot have."""

import base64

import pytest

from nestor.api import labels, names
from nestor.api.objects import Object, annotations_of, labels_of
from nestor.overflow.remote.build import Machines, build_copies, build_pod, is_gated, read_labels
from nestor.overflow.remote.refusals import find_refusals
from nestor.overflow.remote.settings import Access, Settings
from nestor.pods.providers.base import Inputs
from tests.unit.overflow.remote.conftest import build_pod as host_pod

SETTINGS = Settings(Access({"users": []}), "big", "backend-uid", "far", node_selector={"pool": "batch"})
GPU = "nvidia.com/gpu"
NESTED = {labels.CLUSTER: "hello", labels.NESTED_UID: "n"}
"""Labels of the host pod of a nested pod."""


def build(pod: Object, machines: Machines | None = None, *, has_links: bool = False, is_gated: bool = False) -> Object:
    return build_pod(pod, SETTINGS, machines or Machines(), has_links=has_links, is_gated=is_gated)


def test_a_pod_there_is_found_by_its_host_pods_uid() -> None:
    pod = build(host_pod("web.v2", "uid-1"))
    meta = pod["metadata"]
    assert meta["name"] == names.remote_pod("web.v2", "uid-1")
    assert meta["name"] != names.remote_pod("web.v2", "uid-2")
    assert meta["name"].startswith("web-v2-")
    assert meta["namespace"] == "far"
    marks = {labels.BACKEND: "big", labels.BACKEND_UID: "backend-uid", labels.HOST_UID: "uid-1", labels.HOST_NAMESPACE: "shop"}
    assert marks.items() <= labels_of(pod).items()
    assert read_labels(pod) == {"app": "web"}
    assert labels_of(pod)["tenant.nestor.dev/app-" + names.digest("app")] == "web"


def test_names_are_no_longer_than_a_label() -> None:
    assert len(names.remote_pod("x" * 253, "u")) == len(names.remote_input("x" * 253, "u")) == 63


def test_a_pod_has_no_identity_there_and_knows_no_services() -> None:
    pod = build(host_pod(serviceAccountName="builder", serviceAccount="builder", enableServiceLinks=True))
    spec = pod["spec"]
    assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
    assert not {"serviceAccountName", "serviceAccount", "nodeName"} & spec.keys()


def test_what_the_hosts_scheduler_has_read_stays_behind() -> None:
    stay: Object = {"nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {}}, "priorityClassName": "high", "priority": 7}
    stay |= {"schedulerName": "other", "preemptionPolicy": "Never", "overhead": {"cpu": "1"}}
    stay |= {"topologySpreadConstraints": [{"maxSkew": 1}], "readinessGates": [{"conditionType": "x"}]}
    spec = build(host_pod(**stay))["spec"]
    assert spec["nodeSelector"] == {"pool": "batch"}
    assert not (stay.keys() - {"nodeSelector"}) & spec.keys()


def test_what_a_pod_is_goes_with_it() -> None:
    own: Object = {
        "activeDeadlineSeconds": 60,
        "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a"]}],
        "restartPolicy": "Never",
        "runtimeClassName": "nvidia",
        "terminationGracePeriodSeconds": 7,
        "shareProcessNamespace": True,
    }
    container = {"command": ["run"], "args": ["$(A)"], "resources": {"limits": {"cpu": "1"}}, "livenessProbe": {"exec": {}}}
    spec = build(host_pod(container=container, **own))["spec"]
    assert own.items() <= spec.items()
    assert container.items() <= spec["containers"][0].items()
    assert spec["hostname"] == "web"
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}


def test_the_machines_of_the_shape() -> None:
    machines = Machines((("kubernetes.io/arch", "arm64"), ("tier", None)))
    terms = build(host_pod(), machines)["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"] == [
        {
            "matchExpressions": [
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
                {"key": "tier", "operator": "DoesNotExist"},
            ]
        }
    ]


def test_only_taints_of_the_wanted_devices_and_of_lost_nodes_are_tolerated() -> None:
    lost = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 7}
    given = [lost, {"operator": "Exists"}, {"key": "virtual-kubelet.io/provider", "operator": "Exists"}]
    container = {"resources": {"limits": {GPU: 1, "cpu": 1, "example.kubernetes.io/x": 1}}}
    assert build(host_pod(container=container, tolerations=given))["spec"]["tolerations"] == [
        lost,
        {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
    ]
    assert "tolerations" not in build(host_pod(tolerations=given[1:]))["spec"]


@pytest.mark.parametrize("amount", ["0", 0, "0.0", "0e3", "0Ki"])
@pytest.mark.parametrize("side", ["requests", "limits"])
@pytest.mark.parametrize("group", ["containers", "initContainers"])
def test_none_of_a_resource_opens_no_reserved_node(group: str, side: str, amount: object) -> None:
    asking = {"name": "x", "image": "y", "resources": {side: {"example.com/dedicated": amount}}}
    pod = host_pod()
    pod["spec"][group] = [*(pod["spec"].get(group) or []), asking]
    assert "tolerations" not in build(pod)["spec"]


@pytest.mark.parametrize(
    ("marks", "dns", "found"),
    [
        ({}, {}, {"dnsPolicy": "ClusterFirst"}),
        ({}, {"dnsPolicy": "Default"}, {"dnsPolicy": "Default"}),
        ({}, {"dnsPolicy": "ClusterFirstWithHostNet"}, {"dnsPolicy": "ClusterFirst"}),
        ({}, {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.53"]}}, {"dnsConfig": {"nameservers": ["192.0.2.53"]}}),
        (NESTED, {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.43.0.9"]}}, {"dnsPolicy": "ClusterFirst"}),
    ],
)
def test_the_dns_is_that_of_the_cluster_there(marks: dict[str, str], dns: Object, found: Object) -> None:
    pod = host_pod(**dns)
    pod["metadata"]["labels"] |= marks
    spec = build(pod)["spec"]
    assert found.items() <= spec.items()
    assert ("dnsConfig" in spec) is ("dnsConfig" in found)


def test_what_a_pod_reads_of_itself_is_the_host_pods() -> None:
    fields = ["metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels['app']"]
    env = [{"name": f"F{index}", "valueFrom": {"fieldRef": {"fieldPath": path}}} for index, path in enumerate(fields)]
    pod = build(host_pod(container={"env": env}))
    read = [item["valueFrom"]["fieldRef"]["fieldPath"].split("'")[1] for item in pod["spec"]["containers"][0]["env"]]
    assert [annotations_of(pod)[key] for key in read] == ["web", "shop", "host-uid", "web"]


def test_other_variables_count_more_than_those_of_services() -> None:
    container = {"envFrom": [{"configMapRef": {"name": "settings"}}], "env": [{"name": "A", "value": "1"}]}
    (built,) = build(host_pod(container=container), has_links=True)["spec"]["containers"]
    copy = names.remote_input("settings", "host-uid")
    assert built["envFrom"] == [
        {"configMapRef": {"name": f"{names.remote_pod('web', 'host-uid')}-env"}},
        {"configMapRef": {"name": copy}},
    ]
    assert built["env"] == [{"name": "A", "value": "1"}]


def test_the_gate_is_ours() -> None:
    assert is_gated(build(host_pod(), is_gated=True))
    assert not is_gated(build(host_pod()))
    assert not is_gated({"spec": {"schedulingGates": [{"name": "somebody.else/queue"}]}})


def test_copies_are_of_the_pod_alone() -> None:
    pod = host_pod(
        container={
            "envFrom": [{"secretRef": {"name": "keys"}}],
            "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "plain", "key": "a"}}}],
        },
        initContainers=[{"name": "first", "image": "x", "envFrom": [{"configMapRef": {"name": "plain"}}]}],
        volumes=[{"name": "p", "projected": {"sources": [{"secret": {"name": "keys"}}, {"configMap": {"name": "plain"}}]}}],
        imagePullSecrets=[{"name": "pull"}],
    )
    secrets: dict[str, Object] = {
        "keys": {"type": "kubernetes.io/service-account-token", "data": {"k": "dg=="}, "immutable": True},
        "pull": {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "e30="}},
    }
    inputs = Inputs({"plain": {"binaryData": {"b": "AA=="}}}, secrets, environment={"A_HOST": "1", "not a key": "2"})
    copies = {item["metadata"]["name"]: item for item in build_copies(pod, inputs, SETTINGS)}
    plain, keys, pull = (names.remote_input(name, "host-uid") for name in ("plain", "keys", "pull"))
    links = f"{names.remote_pod('web', 'host-uid')}-env"
    assert copies.keys() == {plain, keys, pull, links}
    assert copies[plain]["binaryData"] == {"b": "AA=="}
    # A controller there would delete a Secret of that type, whose account it does not know.
    assert (copies[keys]["type"], copies[pull]["type"]) == ("Opaque", "kubernetes.io/dockerconfigjson")
    assert copies[links]["data"] == {"A_HOST": "1"}
    assert not any("immutable" in item for item in copies.values())
    assert {labels_of(item)[labels.HOST_UID] for item in copies.values()} == {"host-uid"}
    spec = build(pod, has_links=True)["spec"]
    assert spec["imagePullSecrets"] == [{"name": pull}]
    assert spec["volumes"][0]["projected"]["sources"] == [{"secret": {"name": keys}}, {"configMap": {"name": plain}}]
    assert spec["initContainers"][0]["envFrom"] == [{"configMapRef": {"name": links}}, {"configMapRef": {"name": plain}}]
    assert spec["containers"][0]["env"][0]["valueFrom"]["configMapKeyRef"]["name"] == plain


def test_tokens_are_files_of_a_secret() -> None:
    sources = [{"serviceAccountToken": {"path": "token"}}, {"serviceAccountToken": {"path": "vault", "audience": "vault"}}]
    pod = host_pod(volumes=[{"name": "t", "projected": {"sources": sources, "defaultMode": 0o400}}])
    (copy,) = build_copies(pod, Inputs(tokens={("t", "token"): "one", ("t", "vault"): "two"}), SETTINGS)
    assert {key: base64.b64decode(value) for key, value in copy["data"].items()} == {"token-0-0": b"one", "token-0-1": b"two"}
    volume = build(pod)["spec"]["volumes"][0]["projected"]
    assert [item["secret"]["items"][0]["path"] for item in volume["sources"]] == ["token", "vault"]
    assert volume["defaultMode"] == 0o400


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]}, "`spec.volumes[0].persistentVolumeClaim`"),
        ({"volumes": [{"name": "d", "hostPath": {"path": "/"}}]}, "`spec.volumes[0].hostPath`"),
        ({"volumes": [{"name": "d", "ephemeral": {}}]}, "`spec.volumes[0].ephemeral`"),
        ({"volumes": [{"name": "d", "nfs": {}}]}, "`spec.volumes[0].nfs`"),
        ({"volumes": [{"name": "d", "projected": {"sources": [{"clusterTrustBundle": {}}]}}]}, "sources[0].clusterTrustBundle"),
        ({"hostNetwork": True}, "`spec.hostNetwork`"),
        ({"hostPID": True}, "`spec.hostPID`"),
        ({"hostIPC": True}, "`spec.hostIPC`"),
        ({"resourceClaims": [{"name": "c"}]}, "`spec.resourceClaims`"),
        ({"fieldOfTheFuture": 1}, "`spec.fieldOfTheFuture`"),
        ({"container": {"securityContext": {"privileged": True}}}, "privileged"),
        ({"container": {"ports": [{"containerPort": 1, "hostPort": 80}]}}, "hostPort"),
        ({"container": {"volumeDevices": [{"name": "d"}]}}, "volumeDevices"),
        ({"container": {"resources": {"claims": [{"name": "c"}]}}}, "resources.claims"),
        ({"container": {"fieldOfTheFuture": 1}}, "`spec.containers[0].fieldOfTheFuture`"),
    ],
)
def test_what_a_pod_cannot_have_there_is_named(spec: Object, words: str) -> None:
    (message,) = find_refusals(host_pod(**spec))
    assert words in message


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AT_BACKEND: Object = {"key": labels.BACKEND, "operator": "In", "values": ["far"]}


def test_most_pods_are_not_refused() -> None:
    admitted: Object = {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {labels.BACKEND: "far"},
        "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [AT_BACKEND]}]}}},
        "runtimeClassName": "nvidia",
        "hostNetwork": False,
    }
    volumes = [{"name": "tmp", "emptyDir": {}}, {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]
    container = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always",
    }
    assert find_refusals(host_pod(container=container, volumes=volumes, **admitted)) == []

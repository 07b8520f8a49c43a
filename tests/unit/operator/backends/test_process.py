"""What serves a backend, and what it may do."""

from typing import Any

import pytest

from nestor.api import labels
from nestor.api.contracts import vnode
from nestor.api.objects import Object
from nestor.kube import Kind, kinds
from nestor.operator.backends.process import VNODE_ROLE, build_process
from nestor.operator.settings import Settings
from tests.unit.operator.backends.builders import UID, build_backend, build_spec
from tests.unit.operator.builders import UNPRIVILEGED

LINK: Object = {
    "url": "https://link.test",
    "oidc": {
        "tokenURL": "https://id.test/token",
        "clientID": "nestor",
        "clientSecretRef": {"name": "link-oidc", "key": "secret"},
    },
    "tls": {"caRef": {"name": "link-ca", "key": "ca.crt"}, "clientCertificateSecretName": "link-client"},
}


def build(settings: Settings | None = None, **spec: Any) -> dict[Kind, Object]:
    found = build_process(build_backend(), build_spec(**spec), settings or Settings(image="nestor:1"))
    assert len({kind for kind, _ in found}) == len(found)
    return dict(found)


def read_container(**spec: Any) -> Object:
    (found,) = build(**spec)[kinds.DEPLOYMENT]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_everything_goes_with_the_backend_and_is_its_own() -> None:
    for kind, body in build().items():
        meta = body["metadata"]
        assert (meta["name"], [item["uid"] for item in meta["ownerReferences"]]) == ("vnode-link", [UID])
        assert meta.get("namespace") == ("nestor-system" if kind.namespaced else None)
        assert meta["labels"].items() >= {labels.MANAGED_BY: "nestor", labels.BACKEND: "link"}.items()


@pytest.mark.parametrize(("spec", "secrets"), [({}, []), ({"interlink": LINK}, ["link-ca", "link-client", "link-oidc"])])
def test_it_reads_the_secrets_that_its_backend_names_and_no_others(spec: Object, secrets: list[str]) -> None:
    """A rule without names would hold for all."""
    rules = build(**spec)[kinds.ROLE]["rules"]
    expected = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": secrets, "verbs": ["get"]}
    assert rules == ([expected] if secrets else [])


def test_its_rights_are_given_to_its_own_account_alone() -> None:
    found = build()
    account = [{"kind": "ServiceAccount", "name": "vnode-link", "namespace": "nestor-system"}]
    group = "rbac.authorization.k8s.io"
    assert found[kinds.ROLE_BINDING]["subjects"] == found[kinds.CLUSTER_ROLE_BINDING]["subjects"] == account
    assert found[kinds.ROLE_BINDING]["roleRef"] == {"apiGroup": group, "kind": "Role", "name": "vnode-link"}
    assert found[kinds.CLUSTER_ROLE_BINDING]["roleRef"] == {"apiGroup": group, "kind": "ClusterRole", "name": VNODE_ROLE}
    assert found[kinds.DEPLOYMENT]["spec"]["template"]["spec"]["serviceAccountName"] == "vnode-link"


def test_there_is_never_more_than_one_and_it_runs_on_no_virtual_node() -> None:
    spec = build()[kinds.DEPLOYMENT]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert spec["selector"]["matchLabels"] == {labels.BACKEND: "link", labels.COMPONENT: "vnode"}
    required = spec["template"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"] == [{"matchExpressions": [{"key": labels.BACKEND, "operator": "DoesNotExist"}]}]


def test_its_container_can_change_nothing_but_its_own_files() -> None:
    pod, container = build()[kinds.DEPLOYMENT]["spec"]["template"]["spec"], read_container()
    assert container["args"] == ["vnode", "--backend", "link"]
    assert container["securityContext"] == UNPRIVILEGED
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert {"livenessProbe", "readinessProbe"} <= container.keys()
    assert {item["name"] for item in container["env"]} == {"POD_NAMESPACE", "POD_NAME", "POD_IP"}
    mounted = {item["mountPath"]: item["name"] for item in container["volumeMounts"]}
    assert mounted.keys() == {"/tmp", vnode.IDENTITY_FOLDER}
    assert {item["name"]: item["emptyDir"]["medium"] for item in pod["volumes"]} == dict.fromkeys(mounted.values(), "Memory")


def test_its_resources_are_the_backends_or_the_default() -> None:
    assert read_container()["resources"] == {"requests": {"cpu": "50m", "memory": "160Mi"}, "limits": {"memory": "512Mi"}}
    found = read_container(resources={"limits": {"memory": "1Gi", "cpu": 2}})["resources"]
    assert found == {"requests": {"cpu": "50m", "memory": "160Mi"}, "limits": {"memory": "1Gi", "cpu": "2"}}


def test_admins_say_where_it_runs_and_when_its_image_is_pulled() -> None:
    fields: Object = {"nodeSelector": {"pool": "b"}, "priorityClassName": "c"}
    settings = Settings(image="x", vnode_pod=fields, image_pull_policy="Always", image_pull_secrets=("a",))
    fields |= {"imagePullSecrets": [{"name": "a"}]}
    default, other = (build(given)[kinds.DEPLOYMENT]["spec"]["template"]["spec"] for given in (None, settings))
    assert other.items() >= fields.items()
    assert default.keys() & fields.keys() == set()
    assert [pod["containers"][0]["imagePullPolicy"] for pod in (default, other)] == ["IfNotPresent", "Always"]


NOT_READY, UNREACHABLE = (
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    for name in ("not-ready", "unreachable")
)
MINE: Object = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600}
POOL: Object = {"key": "pool", "value": "system", "effect": "NoSchedule"}
ALL: Object = {"operator": "Exists"}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [([], [NOT_READY, UNREACHABLE]), ([POOL], [POOL, NOT_READY, UNREACHABLE]), ([MINE], [MINE, NOT_READY]), ([ALL], [ALL])],
)
def test_it_leaves_a_lost_machine_soon_unless_admins_say_otherwise(chosen: list[Object], expected: list[Object]) -> None:
    """After 300 s, pods on its nodes would be given up as well."""
    settings = Settings(image="x", vnode_pod={"tolerations": chosen} if chosen else {})
    assert build(settings)[kinds.DEPLOYMENT]["spec"]["template"]["spec"]["tolerations"] == expected


def test_only_the_kubelet_api_and_metrics_can_be_reached_and_no_metadata_service() -> None:
    spec = build()[kinds.NETWORK_POLICY]["spec"]
    assert spec["podSelector"]["matchLabels"] == {labels.BACKEND: "link", labels.COMPONENT: "vnode"}
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["ingress"] == [{"ports": [{"protocol": "TCP", "port": 10250}, {"protocol": "TCP", "port": 8081}]}]
    assert {item["port"] for item in spec["ingress"][0]["ports"]} == {item["containerPort"] for item in read_container()["ports"]}
    (four, six, _), (cache,) = (rule["to"] for rule in spec["egress"])
    assert {"169.254.0.0/16", "168.63.129.16/32"} <= set(four["ipBlock"]["except"])
    assert {"fe80::/10", "fd00:ec2::254/128"} <= set(six["ipBlock"]["except"])
    assert cache == {"ipBlock": {"cidr": "169.254.20.10/32"}}
    assert [item["port"] for item in spec["egress"][1]["ports"]] == [53, 53]

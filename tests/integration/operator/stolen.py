"""What a thief of the operator's token tries, as data: each is a row of docs/evidence/attacks.md.
What users wish, and Kueue's Workloads, are in `stolen_wishes.py`.

The names in the bodies are those of `test_stolen_token.py`, whose world has all that is attacked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nestor.api import labels
from nestor.api.contracts import vnode
from nestor.kube import Kind, kinds

Object = dict[str, Any]

STRANGER, HOME, USER, SYSTEM, ARGO = "stranger", "nestor-owner-hello-00000001", "owner", "nestor-system", "with-argocd"
"""The namespaces of somebody who has nothing to do with Nestor, of a job, of a user with a job, of the operator, and of
an Argo CD whose owner has agreed to know jobs' clusters."""
POOLED = "nestor--a-0123abcd"
"""Of a cluster that no job has."""
MARKED = {labels.MANAGED_BY: "nestor", labels.CLUSTER: "x"}
VNODE = {labels.MANAGED_BY: "nestor", labels.BACKEND: "x", labels.COMPONENT: labels.COMPONENT_VNODE}
"""The labels of pods of a backend's process."""
PORTAL = {"app.kubernetes.io/name": "nestor-portal", "app.kubernetes.io/instance": "nestor"}
GONE: Object = {"ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "gone"}]}
"""An owner that is not there: the API server's own controllers delete what it is said to have."""
STAYS: Object = {"finalizers": ["evil.example/stay"]}
RBAC = "rbac.authorization.k8s.io"
NOT_HERE, NOT_OURS = "may not write this in namespaces", "its own objects only"
ONLY_KUBECONFIGS = "kubeconfigs of jobs only"
MARKS_ONLY = "its own labels and annotations, and no owners"
OWNED: Object = {"labels": {labels.JOB_NAMESPACE: USER}}
RETAIN: Object = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
CRITICAL = "no priority of the system's"
NEW_VOLUME = "has a new volume for the data"
CONFINED: Object = {"seccompProfile": {"type": "RuntimeDefault"}}
RUNS, NODE = "account of a syncer, or of a backend's", "shares nothing of its node"
OF_BACKEND = {"metadata": {"labels": {labels.BACKEND: "x"}}}


@dataclass(frozen=True)
class Attack:
    """One request that must be refused, with the reason that is expected."""

    id: str
    says: str
    verb: Literal[
        "create", "patch", "delete", "deletecollection", "approve", "get", "list", "status", "ephemeralcontainers", "resize"
    ]
    kind: Kind
    name: str
    namespace: str | None
    refused: str
    body: Object = field(default_factory=dict)
    """What is created, without its name and namespace, or the patch. A verb that is none means the patch of that subresource."""


def pod(**spec: Any) -> Object:
    """A pod that only a thief wants."""
    return {"containers": [{"name": "c", "image": "i", "securityContext": {"allowPrivilegeEscalation": False}}], **spec}


def template(own: Mapping[str, str], /, **spec: Any) -> Object:
    """What a StatefulSet or Deployment runs, in pods with these labels."""
    pods = {"metadata": {"labels": dict(own)}, "spec": pod(**{"securityContext": CONFINED} | spec)}
    return {"replicas": 1, "selector": {"matchLabels": dict(own)}, "template": pods}


def stateful(own: Mapping[str, str] = MARKED, /, **spec: Any) -> Object:
    """A server like those of nested clusters, and something more."""
    return {"spec": {"serviceName": "x", **template(own, **{"serviceAccountName": "x-syncer"} | spec)}}


def claiming(name: str, **spec: Any) -> Object:
    """A server with a volume of its own, and something more."""
    body = stateful()
    room = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": name}, "spec": room | spec}]
    return body


def given(namespace: str) -> Object:
    """A volume for a claim that is not there yet."""
    return {"spec": {"claimRef": {"namespace": namespace, "name": "mine", "uid": None}}}


def claim(storage_class: str, **spec: Any) -> Object:
    """A claim, and something more."""
    room = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"spec": room | {"storageClassName": storage_class} | spec}


def deployment(own: Mapping[str, str] = VNODE, /, **spec: Any) -> Object:
    """A backend's process, and something more."""
    return {"spec": template(own, **{"serviceAccountName": "vnode-x"} | spec)} | OF_BACKEND


def binding(role: str, *subjects: Object, kind: str = "ClusterRole") -> Object:
    """A binding of a role to accounts."""
    return {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": role}, "subjects": list(subjects)}


def account(name: str, namespace: str) -> Object:
    """A subject."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


PRIVILEGED = {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]}
HOST_PATH = {"volumes": [{"name": "n", "hostPath": {"path": "/"}}]}
TOKEN_SECRET: Object = {
    "type": "kubernetes.io/service-account-token",
    "metadata": {"annotations": {"kubernetes.io/service-account.name": "powerful"}},
}
RESERVED = "x 2100-01-01T00:00:00Z"
"""What the operator writes with the name of a virtual node."""
TAKEN = {"metadata": {"labels": {labels.JOB_UID: "1"}}}

PODS = (
    Attack("pod-in-kube-system", "a privileged pod in `kube-system`", "create", kinds.POD, "x", "kube-system", NOT_HERE,
           {"spec": pod(**PRIVILEGED)}),
    Attack("pod-of-stranger", "a pod in a stranger's namespace, with its most powerful account", "create", kinds.POD, "x",
           STRANGER, NOT_HERE, {"spec": pod(serviceAccountName="powerful")}),
    Attack("pod-with-account", "a pod in a job's namespace with the syncer's account", "create", kinds.POD, "x", HOME,
           "has no account", {"spec": pod(serviceAccountName="hello-syncer")}),
    Attack("pod-on-node", "a pod in a job's namespace on a node of its choice", "create", kinds.POD, "x", HOME,
           "does not choose its node", {"spec": pod(nodeName="real")}),
    Attack("pod-critical", "a pod in a job's namespace that puts others off their node", "create", kinds.POD, "x", HOME,
           CRITICAL, {"spec": pod(priorityClassName="system-node-critical")}),
    Attack("pod-privileged", "a privileged pod in a job's namespace", "create", kinds.POD, "x", HOME, "violates PodSecurity",
           {"spec": pod(**PRIVILEGED)}),
    Attack("pod-resized", "all of a node's processor time for a stranger's pod", "resize", kinds.POD, "theirs", STRANGER,
           NOT_HERE, {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "900"}}}]}}),
    Attack("server-in-kube-system", "a StatefulSet in `kube-system`", "create", kinds.STATEFUL_SET, "x", "kube-system",
           NOT_HERE, stateful()),
    Attack("server-of-stranger", "a StatefulSet in a stranger's namespace", "create", kinds.STATEFUL_SET, "x", STRANGER,
           NOT_HERE, stateful()),
    Attack("server-with-account", "a StatefulSet with another account of a job's namespace", "create", kinds.STATEFUL_SET, "x",
           HOME, RUNS, stateful(serviceAccountName="powerful")),
    Attack("server-privileged", "a privileged StatefulSet in a job's namespace", "create", kinds.STATEFUL_SET, "x", HOME,
           "has no privileges", stateful(**PRIVILEGED)),
    Attack("server-capability", "the same with a capability", "create", kinds.STATEFUL_SET, "x", HOME, "has no privileges",
           stateful(containers=[{"name": "c", "image": "i", "securityContext": {"allowPrivilegeEscalation": False,
                                                                               "capabilities": {"add": ["SYS_ADMIN"]}}}])),
    Attack("server-host-path", "a StatefulSet with a node's files", "create", kinds.STATEFUL_SET, "x", HOME, NODE,
           stateful(**HOST_PATH)),
    Attack("server-host-network", "a StatefulSet in a node's network", "create", kinds.STATEFUL_SET, "x", HOME, NODE,
           stateful(hostNetwork=True)),
    Attack("server-unconfined", "a StatefulSet without seccomp", "create", kinds.STATEFUL_SET, "x", HOME,
           "default seccomp profile",
           stateful(securityContext={"seccompProfile": {"type": "Unconfined"}})),
    Attack("server-critical", "a StatefulSet that puts others off their node", "create", kinds.STATEFUL_SET, "x", HOME, CRITICAL,
           stateful(priorityClassName="system-cluster-critical")),
    Attack("server-sysctl", "a StatefulSet with settings of the kernel", "create", kinds.STATEFUL_SET, "x", HOME,
           "settings of security that",
           stateful(securityContext=CONFINED | {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]})),
    Attack("server-proc-mount", "a StatefulSet that sees all of /proc", "create", kinds.STATEFUL_SET, "x", HOME,
           "settings of security that", stateful(hostUsers=False, containers=[
               {"name": "c", "image": "i", "securityContext": {"allowPrivilegeEscalation": False, "procMount": "Unmasked"}}])),
    Attack("server-claim", "a StatefulSet with a claim of the user's", "create", kinds.STATEFUL_SET, "x", HOME, NODE,
           stateful(volumes=[{"name": "n", "persistentVolumeClaim": {"claimName": "theirs"}}])),
    Attack("server-claim-by-name", "the same, by a claim that is there under the name of its own", "create", kinds.STATEFUL_SET,
           "theirs", HOME, NEW_VOLUME, claiming("data")),
    Attack("server-volume", "a StatefulSet with a volume of the host that is nobody's yet", "create", kinds.STATEFUL_SET, "x-k3s",
           HOME, NEW_VOLUME, claiming("data", volumeName="theirs")),
    Attack("server-copy", "a StatefulSet with a copy of a claim of the user's", "create", kinds.STATEFUL_SET, "x-k3s", HOME,
           NEW_VOLUME, claiming("data", dataSource={"kind": "PersistentVolumeClaim", "name": "theirs"})),
    Attack("backend-elsewhere", "a Deployment in a stranger's namespace", "create", kinds.DEPLOYMENT, "vnode-x", STRANGER,
           "cannot create resource", deployment()),
    Attack("backend-with-account", "a Deployment in its own namespace with another account", "create", kinds.DEPLOYMENT,
           "vnode-x", SYSTEM, RUNS, deployment(serviceAccountName="nestor")),
    Attack("backend-host-path", "a Deployment in its own namespace with a node's files", "create", kinds.DEPLOYMENT, "vnode-x",
           SYSTEM, NODE, deployment(**HOST_PATH)),
    Attack("backend-other-name", "a Deployment of another name in its own namespace", "create", kinds.DEPLOYMENT, "other", SYSTEM,
           NOT_HERE, deployment(serviceAccountName="other")),
    Attack("backend-as-portal", "a Deployment that the portal's Service takes for the portal, to be shown its users' sessions",
           "create", kinds.DEPLOYMENT, "vnode-x", SYSTEM, "has the labels of one, and no others", deployment(VNODE | PORTAL)),
    Attack("server-as-users", "a StatefulSet that a Service of the user's takes for the user's own pods", "create",
           kinds.STATEFUL_SET, "x", USER, NOT_HERE, stateful(MARKED | {"app": "web"})),
)  # fmt: skip
RIGHTS = (
    Attack("bind-cluster-admin", "to bind `cluster-admin`", "create", kinds.CLUSTER_ROLE_BINDING, "x", None,
           "attempting to grant RBAC|may bind", binding("cluster-admin", account("x-syncer", STRANGER))),
    Attack("bind-itself", "to give its own rights to another account", "create", kinds.CLUSTER_ROLE_BINDING, "x", None,
           "may bind", binding("nestor-operator", account("x-syncer", STRANGER))),
    Attack("bind-nodes", "to bind a syncer's right to read nodes to another account", "create", kinds.CLUSTER_ROLE_BINDING, "x",
           None, "to syncers and to processes of backends", binding("nestor-syncer-nodes", account("powerful", STRANGER))),
    Attack("bind-backend", "to bind a backend's rights to an account elsewhere", "create", kinds.CLUSTER_ROLE_BINDING, "x", None,
           "to syncers and to processes of backends", binding("nestor-vnode", account("vnode-x", STRANGER))),
    Attack("bind-syncer-kube-system", "to bind a syncer's role in `kube-system`, which may list Secrets", "create",
           kinds.ROLE_BINDING, "x", "kube-system", NOT_HERE, binding("nestor-syncer", account("x-syncer", "kube-system"))),
    Attack("bind-syncer-stranger", "to bind it in a stranger's namespace", "create", kinds.ROLE_BINDING, "x", STRANGER,
           NOT_HERE, binding("nestor-syncer", account("x-syncer", STRANGER))),
    Attack("bind-syncer-across", "to bind it in a job's namespace to an account elsewhere", "create", kinds.ROLE_BINDING, "x",
           HOME, "syncers of the same namespace", binding("nestor-syncer", account("x-syncer", STRANGER))),
    Attack("bind-own-in-namespace", "to bind its own role in a job's namespace", "create", kinds.ROLE_BINDING, "x", HOME,
           "may bind `nestor-syncer` only", binding("nestor-operator", account("x-syncer", HOME))),
    Attack("unbind", "to delete a stranger's RoleBinding", "delete", kinds.ROLE_BINDING, "theirs", STRANGER, NOT_HERE),
    Attack("unbind-cluster", "to delete a ClusterRoleBinding, such as that of `cluster-admin`", "delete",
           kinds.CLUSTER_ROLE_BINDING, "theirs", None, "may bind"),
    Attack("role-wide", "a Role in its own namespace that reads all Secrets", "create", kinds.ROLE, "vnode-x", SYSTEM,
           "read named Secrets only", OF_BACKEND | {"rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]}),
    Attack("account-of-stranger", "an account in a stranger's namespace", "create", kinds.SERVICE_ACCOUNT, "x-syncer", STRANGER,
           NOT_HERE),
    Attack("account-as-backends", "the same, marked as if it were a backend's", "create", kinds.SERVICE_ACCOUNT, "x-syncer",
           STRANGER, NOT_HERE, {"metadata": {"labels": {labels.BACKEND: "x"}}}),
    Attack("account-changed", "to change another account", "patch", kinds.SERVICE_ACCOUNT, "powerful", STRANGER,
           NOT_HERE, {"metadata": {"labels": MARKED}}),
    Attack("policy-deleted", "to delete what holds it", "delete",
           Kind("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "", namespaced=False),
           "nestor-operator-objects", None, "cannot delete resource"),
)  # fmt: skip
SECRETS = (
    Attack("token-secret-kube-system", "a Secret in `kube-system` that gets an account's token", "create", kinds.SECRET, "x",
           "kube-system", ONLY_KUBECONFIGS, TOKEN_SECRET),
    Attack("token-secret-home", "the same in a job's namespace", "create", kinds.SECRET, "x", HOME, "gets a token", TOKEN_SECRET),
    Attack("token-request", "a token of the API server's, for another account", "create",
           Kind("", "v1", "serviceaccounts/powerful/token", "TokenRequest"), "", STRANGER, "cannot create resource",
           {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}),
    Attack("secrets-listed", "to list Secrets", "list", kinds.SECRET, "", STRANGER, "cannot list resource"),
    Attack("secret-changed", "to change a stranger's Secret", "patch", kinds.SECRET, "theirs", STRANGER,
           NOT_OURS, {"metadata": {"labels": MARKED}}),
    Attack("secret-deleted", "to delete a stranger's Secret", "delete", kinds.SECRET, "theirs", STRANGER, NOT_OURS),
    Attack("secrets-deleted", "all Secrets of a stranger deleted, or their names told by a precondition", "deletecollection",
           kinds.SECRET, "", STRANGER, "cannot deletecollection"),
    Attack("services-deleted", "to delete all Services of a stranger", "deletecollection", kinds.SERVICE, "", STRANGER, NOT_HERE),
    Attack("claims-deleted", "to delete all claims of a stranger, and their data", "deletecollection",
           kinds.PERSISTENT_VOLUME_CLAIM, "", STRANGER, NOT_HERE),
    Attack("secret-unmarked", "a Secret that is not marked as its own", "create", kinds.SECRET, "x", STRANGER, NOT_OURS,
           {"metadata": {"labels": {labels.MANAGED_BY: "Helm"}}}),
    Attack("secret-of-argo-cd", "a repository for Argo CD", "create", kinds.SECRET, "x", STRANGER, "of what Argo CD acts on",
           {"metadata": {"labels": {"argocd.argoproj.io/secret-type": "repository"}}}),
    Attack("secret-of-argo-cd-cluster", "a cluster for Argo CD, which runs the programs that it names, where nobody has agreed",
           "create", kinds.SECRET, "nestor-x", STRANGER, "argocd-clusters: allowed",
           {"metadata": {"labels": {"argocd.argoproj.io/secret-type": "cluster"}}}),
    Attack("secret-of-argo-cd-other", "a cluster for Argo CD with the name of one that is no job's", "create", kinds.SECRET,
           "production", ARGO, "clusters of jobs only", {"metadata": {"labels": {"argocd.argoproj.io/secret-type": "cluster"}}}),
    Attack("secret-marked", "a Secret in `kube-system` or elsewhere, marked as a nested cluster's", "create", kinds.SECRET, "x",
           "kube-system", ONLY_KUBECONFIGS),
    Attack("secret-labeled", "a Secret that others know by a label, such as a service mesh", "create", kinds.SECRET,
           "x-kubeconfig", STRANGER, "no labels of others",
           {"metadata": {"labels": {labels.CLUSTER: None, labels.JOB: "x", "istio/multiCluster": "true"}}}),
    Attack("secret-for-job", "a Secret for a job, in its user's namespace, that is no kubeconfig", "create", kinds.SECRET, "x",
           USER, ONLY_KUBECONFIGS, {"metadata": {"labels": {labels.CLUSTER: None, labels.JOB: "theirs"}}}),
    Attack("configmap-changed", "to change a ConfigMap of `kube-system`, such as `aws-auth`", "patch", kinds.CONFIG_MAP, "theirs",
           "kube-system", NOT_HERE, {"data": {"mapUsers": "me"}}),
    Attack("configmap-planted", "a ConfigMap in `kube-system` for others than nested clusters", "create", kinds.CONFIG_MAP,
           "aws-auth", "kube-system", NOT_HERE, {"metadata": {"labels": {labels.CLUSTER: None}}}),
    Attack("configmap-marked", "the same, marked as a nested cluster's", "create", kinds.CONFIG_MAP, "coredns-custom",
           "kube-system", NOT_HERE),
)  # fmt: skip
NAMESPACES = (
    Attack("namespace-deleted", "to delete a stranger's namespace", "delete", kinds.NAMESPACE, STRANGER, None, "of jobs only"),
    Attack("namespace-system-deleted", "to delete its own namespace", "delete", kinds.NAMESPACE, SYSTEM, None, "of jobs only"),
    Attack("namespace-taken", "to label a stranger's namespace as a job's", "patch", kinds.NAMESPACE, STRANGER, None,
           "of jobs only", TAKEN),
    Attack("namespace-system-taken", "to label its own namespace as a job's", "patch", kinds.NAMESPACE, SYSTEM, None,
           "of jobs only", TAKEN),
    Attack("namespace-security", "to take Pod Security off `kube-system`, or another namespace", "patch", kinds.NAMESPACE,
           STRANGER, None, "of jobs only", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}),
    Attack("namespace-home-security", "to take Pod Security off a job's namespace", "patch", kinds.NAMESPACE, HOME, None,
           "operator.allowPrivileged", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}),
    Attack("namespace-home-version", "to have it judged by an old version of the standards", "patch", kinds.NAMESPACE, HOME, None,
           "operator.allowPrivileged", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce-version": "v1.20"}}}),
    Attack("namespace-home-devices", "to have claims of a job get devices that others are using", "patch", kinds.NAMESPACE, HOME,
           None, "devices that others are using", {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}),
    Attack("namespace-home-given", "to give a job's namespace to another job", "patch", kinds.NAMESPACE, HOME, None,
           "to another job", {"metadata": {"labels": {labels.JOB_UID: "2"}}}),
    Attack("namespace-home-pooled", "to put a job's namespace into a pool, where another gets it", "patch", kinds.NAMESPACE,
           HOME, None, "into a pool", {"metadata": {"labels": {labels.POOL: "x"}}}),
    Attack("namespace-home-unnamed", "the same, into one without a name", "patch", kinds.NAMESPACE, HOME, None, "into a pool",
           {"metadata": {"labels": {labels.POOL: ""}}}),
    Attack("namespace-pool-given", "to give a cluster to a job, and keep it in its pool", "patch", kinds.NAMESPACE, POOLED,
           None, "to another job", {"metadata": {"labels": {labels.JOB_UID: "2"}}}),
    Attack("namespace-pool-moved", "to put a cluster of a pool into another class's", "patch", kinds.NAMESPACE, POOLED, None,
           "or into another one", {"metadata": {"labels": {labels.POOL: "y"}}}),
    Attack("namespace-privileged", "a new namespace for a job, without Pod Security", "create", kinds.NAMESPACE, "nestor-x", None,
           "operator.allowPrivileged", {"metadata": {"labels": {labels.JOB_UID: "3"}}}),
    Attack("namespace-other", "a new namespace that is no job's", "create", kinds.NAMESPACE, "elsewhere", None, "of jobs only",
           {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}),
)  # fmt: skip
NETWORK = (
    Attack("service-external-ip", "a Service that takes traffic for any address", "create", kinds.SERVICE, "x", HOME,
           "has a cluster IP", {"spec": {"selector": {labels.CLUSTER: "x"}, "ports": [{"port": 80}],
                                         "externalIPs": ["192.0.2.1"]}}),
    Attack("service-external-name", "a Service that leads to another name", "create", kinds.SERVICE, "x", HOME,
           "has a cluster IP", {"spec": {"type": "ExternalName", "externalName": "example.org"}}),
    Attack("service-node-port", "a Service at a port of all nodes", "create", kinds.SERVICE, "x", HOME, "has a cluster IP",
           {"spec": {"type": "NodePort", "selector": {labels.CLUSTER: "x"}, "ports": [{"port": 80}]}}),
    Attack("service-changed", "to lead a stranger's Service elsewhere", "patch", kinds.SERVICE, "theirs", STRANGER, NOT_HERE,
           {"spec": {"selector": {labels.CLUSTER: "x"}}}),
    Attack("ingress-of-stranger", "an Ingress in a stranger's namespace", "create", kinds.INGRESS, "x", STRANGER, NOT_HERE,
           {"spec": {"defaultBackend": {"service": {"name": "theirs", "port": {"number": 80}}}}}),
    Attack("policy-of-stranger", "to delete a stranger's NetworkPolicy", "delete", kinds.NETWORK_POLICY, "theirs", STRANGER,
           NOT_HERE),
    Attack("service-marked", "a Service in a stranger's namespace, marked as a nested cluster's", "create", kinds.SERVICE, "x",
           STRANGER, NOT_HERE, {"spec": {"selector": {labels.CLUSTER: "x"}, "ports": [{"port": 80}]}}),
    Attack("policy-marked", "a NetworkPolicy there", "create", kinds.NETWORK_POLICY, "x", STRANGER, NOT_HERE,
           {"spec": {"podSelector": {"matchLabels": {labels.CLUSTER: "x"}}}}),
    Attack("policy-for-all", "a NetworkPolicy for all pods of a user's namespace", "create", kinds.NETWORK_POLICY, "x", USER,
           NOT_HERE, {"spec": {"podSelector": {}}}),
)  # fmt: skip
HOST = (
    Attack("node-deleted", "to delete a real node", "delete", kinds.NODE, "real", None, "virtual nodes only"),
    Attack("node-changed", "to change a real node", "patch", kinds.NODE, "real", None, "virtual nodes only",
           {"metadata": {"labels": {labels.BACKEND: "x"}}}),
    Attack("node-made", "a node that is none of a backend", "create", kinds.NODE, "fake", None, "virtual nodes only"),
    Attack("node-open", "a virtual node without a taint, which all pods would choose", "create", kinds.NODE, "fake", None,
           "operator.allowOpenNodes", {"metadata": {"labels": {labels.BACKEND: "x"}}}),
    Attack("node-preferred", "a virtual node with a taint that keeps no pod away", "create", kinds.NODE, "fake", None,
           "operator.allowOpenNodes", {"metadata": {"labels": {labels.BACKEND: "x"}},
                                     "spec": {"taints": [{"key": "x", "effect": "PreferNoSchedule"}]}}),
    Attack("node-opened", "to take the taint off a virtual node", "patch", kinds.NODE, "virtual", None, "operator.allowOpenNodes",
           {"spec": {"taints": None}}),
    Attack("node-reserved", "to cut a real node off, by its name among those of virtual nodes", "patch", kinds.CONFIG_MAP,
           vnode.RESERVED_CONFIG_MAP, SYSTEM, "reserve names of virtual nodes only", {"data": {"real": RESERVED}}),
    Attack("volume-taken", "to give a stranger's volume to another claim", "patch", kinds.PERSISTENT_VOLUME, "theirs", None,
           "keep volumes of jobs", {"spec": {"claimRef": {"namespace": HOME, "name": "mine", "uid": None}}}),
    Attack("volume-of-job-taken", "to give a job's volume to another claim", "patch", kinds.PERSISTENT_VOLUME, "of-job", None,
           "keep volumes of jobs", {"spec": {"persistentVolumeReclaimPolicy": "Retain", "claimRef": {"name": "mine"}}}),
    Attack("volume-left-taken", "to give a volume that a job has left to a stranger's claim", "patch", kinds.PERSISTENT_VOLUME,
           "left", None, "keep volumes of jobs", given("stranger")),
    Attack("volume-left-to-others", "to give it to a job of another namespace", "patch", kinds.PERSISTENT_VOLUME, "left", None,
           "not for those of another", given("nestor-stranger-hello-00000002")),
    Attack("volume-left-relabeled", "the same, with another label", "patch", kinds.PERSISTENT_VOLUME, "left", None,
           "not for those of another",
           {"metadata": {"labels": {labels.JOB_NAMESPACE: STRANGER}}, **given("nestor-stranger-hello-00000002")}),
    Attack("volume-of-job-nobodys", "to label a job's volume as one that any job may get", "patch", kinds.PERSISTENT_VOLUME,
           "of-job", None, "not for those of another", {"metadata": {"labels": {labels.JOB_NAMESPACE: ""}}, **RETAIN}),
    Attack("volume-left-deleted", "to have it deleted after its next use", "patch", kinds.PERSISTENT_VOLUME, "left", None,
           "keep volumes of jobs",
           {"spec": given("nestor-owner-hello-00000002")["spec"] | {"persistentVolumeReclaimPolicy": "Delete"}}),
    Attack("volume-in-use", "to give a volume to another job while one uses it", "patch", kinds.PERSISTENT_VOLUME, "used", None,
           "keep volumes of jobs", given("nestor-owner-hello-00000002")),
    Attack("claim-of-volume", "a claim in a job's namespace for a volume of the host that is nobody's yet", "create",
           kinds.PERSISTENT_VOLUME_CLAIM, "x", HOME, "does not choose its volume", claim("fast", volumeName="theirs")),
    Attack("claim-of-any-volume", "a claim there for any volume that was made by hand", "create", kinds.PERSISTENT_VOLUME_CLAIM,
           "x", HOME, "does not choose its volume", claim("")),
    Attack("volume-of-job-orphaned", "to have a job's volume deleted, by an owner that is not there", "patch",
           kinds.PERSISTENT_VOLUME, "of-job", None, MARKS_ONLY, {"metadata": OWNED | GONE, **RETAIN}),
    Attack("volume-of-job-stays", "a finalizer on a job's volume", "patch", kinds.PERSISTENT_VOLUME, "of-job", None, MARKS_ONLY,
           {"metadata": OWNED | STAYS, **RETAIN}),
    Attack("snapshot-deleted", "to delete a stranger's VolumeSnapshot", "delete", kinds.VOLUME_SNAPSHOT, "theirs", STRANGER,
           NOT_HERE),
    Attack("content-taken", "to have a stranger's snapshot stay, or go", "patch", kinds.VOLUME_SNAPSHOT_CONTENT, "theirs", None,
           "keep snapshots of jobs", {"spec": {"deletionPolicy": "Retain"}}),
    Attack("content-of-job-deleted", "to have a job's snapshot go", "patch", kinds.VOLUME_SNAPSHOT_CONTENT, "of-job", None,
           "keep snapshots of jobs", {"spec": {"deletionPolicy": "Delete"}}),
    Attack("content-of-job-given", "to name the Secret with which a driver deletes a job's snapshot", "patch",
           kinds.VOLUME_SNAPSHOT_CONTENT, "of-job", None, MARKS_ONLY,
           {"metadata": {"annotations": {"snapshot.storage.kubernetes.io/deletion-secret-name": "theirs"}},
            "spec": {"deletionPolicy": "Retain"}}),
    Attack("content-of-job-orphaned", "to have a job's snapshot deleted, by an owner that is not there", "patch",
           kinds.VOLUME_SNAPSHOT_CONTENT, "of-job", None, MARKS_ONLY, {"metadata": GONE}),
    Attack("claim-deleted", "to delete a stranger's claim, and its data", "delete", kinds.PERSISTENT_VOLUME_CLAIM, "theirs",
           STRANGER, NOT_HERE),
    Attack("server-of-others-deleted", "to delete a stranger's StatefulSet", "delete", kinds.STATEFUL_SET, "theirs", STRANGER,
           NOT_HERE),
    Attack("certificate-approved", "to approve a certificate that no backend's process has asked for", "approve",
           kinds.CERTIFICATE_REQUEST, "theirs", None, "requests of backends' processes only"),
)  # fmt: skip
ATTACKS = (*PODS, *RIGHTS, *SECRETS, *NAMESPACES, *NETWORK, *HOST)

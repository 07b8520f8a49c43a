"""What a thief of a syncer's token tries in the namespace of its job, as data: each is a row of docs/evidence/attacks.md.

The names in the bodies are those of `test_stolen_syncer.py`, whose world has all that is attacked.
"""

from typing import Any

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import kinds
from nestor.syncer.pods.gangs import POD_GROUPS
from tests.integration.operator.stolen import STRANGER, TOKEN_SECRET, Attack

HOME = "nestor-a-stolen-1"
COPY = {labels.NESTED_UID: "u", labels.CLUSTER: "hello", labels.COMPONENT: labels.COMPONENT_APP}
"""The labels of what a syncer writes; a thief sets them, too."""
NOT_A_COPY, NO_PART, ACCOUNT = "copies of nested objects only", "no part of what the cluster", "has no account"
NO_BUDGETS = "no budgets hold up drains"
"""Where two policies refuse, either may say so first."""
AS_COPY: Object = {"metadata": {"labels": COPY}}
GANG = {labels.GANG: "g"}
OF_ONE: Object = {"schedulingPolicy": {"gang": {"minCount": 1}}}
AS_GROUP: Object = {"metadata": {"labels": GANG}, "spec": OF_ONE}
POD_GROUP = POD_GROUPS[-1]


def unmarked(**body: Any) -> Object:
    """Something that is no copy."""
    return body | {"metadata": {"labels": dict.fromkeys(COPY)}}


def pod(**spec: Any) -> Object:
    """A pod that only a thief wants."""
    return {"spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def claim(**spec: Any) -> Object:
    """A claim that only a thief wants."""
    return {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}}


def status(**status: Any) -> Object:
    """What a kubelet says."""
    return {"status": status}


PODS = (
    Attack("pod-with-account", "a pod with its own account, or another one", "create", kinds.POD, "x", HOME, ACCOUNT,
           pod(serviceAccountName="hello-syncer")),
    Attack("pod-on-node", "a pod on a node of its choice", "create", kinds.POD, "x", HOME, "does not choose its node",
           pod(nodeName="any")),
    Attack("pod-of-system", "a pod that pushes everybody's off their nodes", "create", kinds.POD, "x", HOME,
           "none of the host's own priorities", pod(priorityClassName="system-node-critical")),
    Attack("pod-privileged", "a pod in its node's network", "create", kinds.POD, "x", HOME, "violates PodSecurity",
           pod(hostNetwork=True)),
    Attack("pod-as-server", "a pod that NetworkPolicies take for the server, and let reach the host's API server", "create",
           kinds.POD, "x", HOME, NO_PART, pod() | {"metadata": {"labels": {labels.COMPONENT: labels.COMPONENT_SERVER}}}),
    Attack("pod-becomes-server", "the same, by a label that comes later", "patch", kinds.POD, "copy", HOME, NO_PART,
           {"metadata": {"labels": {labels.COMPONENT: labels.COMPONENT_SERVER}}}),
    Attack("pod-unmarked", "a pod that is no copy", "create", kinds.POD, "x", HOME, NOT_A_COPY, unmarked(**pod())),
    Attack("pod-stays", "a pod with a finalizer, so that the namespace stays for ever", "create", kinds.POD, "x", HOME,
           "has no finalizers", pod() | {"metadata": {"finalizers": ["evil.example/stay"]}}),
    Attack("group-stays", "the group of a gang with a finalizer", "create", POD_GROUP, "x", HOME, "has no finalizers",
           AS_GROUP | {"metadata": {"labels": GANG, "finalizers": ["evil.example/stay"]}}),
    Attack("group-of-system", "a gang that pushes everybody's pods off their nodes", "create", POD_GROUP, "x", HOME,
           "less than or equal to 1000000000", AS_GROUP | {"spec": OF_ONE | {"priorityClassName": "system-node-critical"}}),
    Attack("group-unmarked", "to delete a group that is none of its gangs'", "delete", POD_GROUP, "theirs", HOME, NOT_A_COPY),
    Attack("copy-stays", "a copy with the finalizer that the API server gives to claims", "create", kinds.CONFIG_MAP, "x", HOME,
           "has no finalizers", {"metadata": {"finalizers": ["kubernetes.io/pvc-protection"]}}),
    Attack("server-taken", "to mark the server's pod as a copy", "patch", kinds.POD, "server", HOME, NOT_A_COPY, AS_COPY),
    Attack("server-deleted", "to delete the server's pod", "delete", kinds.POD, "server", HOME, NOT_A_COPY),
    Attack("server-debugged", "a container of its own in the server's pod", "ephemeralcontainers", kinds.POD, "server", HOME,
           NOT_A_COPY, {"spec": {"ephemeralContainers": [{"name": "d", "image": "i", "targetContainerName": "c"}]}}),
    Attack("pod-address", "another address for a pod, as the endpoint of a Service", "status", kinds.POD, "copy", HOME,
           "conditions of pods only", status(phase="Running", podIP="10.2.3.4", podIPs=[{"ip": "10.2.3.4"}])),
    Attack("pod-nominated", "a node that the scheduler keeps free for a pod that fits on none", "status", kinds.POD, "copy", HOME,
           "conditions of pods only", status(nominatedNodeName="real")),
)  # fmt: skip
REST = (
    Attack("service-external-ip", "a Service that takes traffic for any address", "create", kinds.SERVICE, "x", HOME,
           "takes no addresses of others", {"spec": {"ports": [{"port": 80}], "externalIPs": ["192.0.2.1"]}}),
    Attack("service-external-name", "a Service that leads to another name", "create", kinds.SERVICE, "x", HOME,
           "is no other name for one", {"spec": {"type": "ExternalName", "externalName": "kubernetes.default.svc"}}),
    Attack("service-node-port", "a Service at a port of all nodes, where the class allows none", "create", kinds.SERVICE, "x",
           HOME, "the class allows no node ports", {"spec": {"type": "NodePort", "ports": [{"port": 80}]}}),
    Attack("service-becomes-node-port", "the same, by a change", "patch", kinds.SERVICE, "copy", HOME,
           "the class allows no node ports", {"spec": {"type": "LoadBalancer"}}),
    Attack("service-of-server", "to lead the Service of the nested API server elsewhere", "patch", kinds.SERVICE, "server", HOME,
           NOT_A_COPY, AS_COPY),
    Attack("endpoints-unmarked", "endpoints that are no copy", "create", kinds.ENDPOINT_SLICE, "x", HOME, NOT_A_COPY,
           unmarked(addressType="IPv4", endpoints=[])),
    Attack("secret-with-token", "a Secret that gets an account's token", "create", kinds.SECRET, "x", HOME, "gets no token",
           TOKEN_SECRET),
    Attack("secret-unmarked", "a Secret that is no copy, such as Argo CD acts on", "create", kinds.SECRET, "x", HOME, NOT_A_COPY,
           unmarked()),
    Attack("keys-changed", "to change the keys of its cluster", "patch", kinds.SECRET, "server", HOME, NOT_A_COPY, AS_COPY),
    Attack("keys-deleted", "to delete them", "delete", kinds.SECRET, "server", HOME, NOT_A_COPY),
    Attack("plan-changed", "to change what the runner does", "patch", kinds.CONFIG_MAP, "server", HOME, NOT_A_COPY, AS_COPY),
    Attack("claim-of-volume", "a claim for a volume of the host that is nobody's yet", "create", kinds.PERSISTENT_VOLUME_CLAIM,
           "x", HOME, "does not choose its volume",
           claim(storageClassName="fast", volumeName="theirs")),
    Attack("claim-of-any-volume", "a claim for any volume that was made by hand, such as one with somebody's old data", "create",
           kinds.PERSISTENT_VOLUME_CLAIM, "x", HOME, "does not choose its volume", claim(storageClassName="")),
    Attack("claim-by-label", "the same, by the volume's labels", "create", kinds.PERSISTENT_VOLUME_CLAIM, "x", HOME,
           "does not choose its volume", claim(storageClassName="manual", selector={"matchLabels": {"of": "theirs"}})),
    Attack("claim-becomes-of-volume", "the same, by a change", "patch", kinds.PERSISTENT_VOLUME_CLAIM, "copy", HOME,
           "does not choose its volume", {"spec": {"volumeName": "theirs"}}),
    Attack("data-deleted", "to delete the claim with the cluster's data", "delete", kinds.PERSISTENT_VOLUME_CLAIM, "server", HOME,
           NOT_A_COPY),
    Attack("snapshot-of-content", "a VolumeSnapshot of what the host has for somebody else", "create", kinds.VOLUME_SNAPSHOT, "x",
           HOME, "does not choose its content", {"spec": {"source": {"volumeSnapshotContentName": "theirs"}}}),
    Attack("devices-unmarked", "a ResourceClaim that is no copy", "create", kinds.RESOURCE_CLAIM, "x", HOME, NOT_A_COPY,
           unmarked(spec={})),
    Attack("budget-unmarked", "a PodDisruptionBudget that is no copy, and holds up drains", "create",
           kinds.POD_DISRUPTION_BUDGET, "x", HOME, f"{NOT_A_COPY}|{NO_BUDGETS}",
           unmarked(spec={"maxUnavailable": 0, "selector": {}})),
    Attack("budget-marked", "a PodDisruptionBudget that holds up drains, where the class allows none", "create",
           kinds.POD_DISRUPTION_BUDGET, "x", HOME, NO_BUDGETS, {"spec": {"maxUnavailable": 0, "selector": {}}}),
    Attack("policy-stays", "a NetworkPolicy with a finalizer", "create", kinds.NETWORK_POLICY, "x", HOME, "has no finalizers",
           {"metadata": {"finalizers": ["evil.example/stay"]},
            "spec": {"podSelector": {"matchLabels": {labels.CLUSTER: "hello", labels.COMPONENT: labels.COMPONENT_APP}}}}),
    Attack("class-changed", "to allow itself what its class does not, in its NestedCluster's status", "status",
           kinds.NESTED_CLUSTER, "hello", HOME, "what its class allows", status(policy={"podSecurity": "Privileged"})),
    Attack("cluster-changed", "to change its NestedCluster itself", "patch", kinds.NESTED_CLUSTER, "hello", HOME,
           "cannot patch resource", {"spec": {"image": "evil:1"}}),
    Attack("server-set", "a StatefulSet", "create", kinds.STATEFUL_SET, "x", HOME, "cannot create resource", {"spec": {}}),
    Attack("rights-more", "more rights for itself", "create", kinds.ROLE_BINDING, "x", HOME, "cannot create resource"),
    Attack("secrets-elsewhere", "to read Secrets elsewhere", "list", kinds.SECRET, "", STRANGER, "cannot list resource"),
    Attack("pod-elsewhere", "a pod elsewhere", "create", kinds.POD, "x", STRANGER, "cannot create resource", pod()),
)  # fmt: skip
ATTACKS = (*PODS, *REST)

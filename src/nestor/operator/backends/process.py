"""What serves a backend: a Deployment in the operator's namespace, with an identity and rights of its own. Pure."""

from nestor.api import labels, names
from nestor.api.contracts import addresses, vnode
from nestor.api.objects import Object, owner_reference
from nestor.api.overflowbackend import OverflowBackendSpec
from nestor.cluster.k3s import build_resources
from nestor.cluster.policies import NODE_LOCAL_DNS
from nestor.kube import Kind, kinds
from nestor.operator import oneshot
from nestor.operator.settings import Settings

VNODE_ROLE = "nestor-vnode"
"""ClusterRole of the chart."""
DEFAULT_RESOURCES: Object = {"requests": {"cpu": "50m", "memory": "160Mi"}, "limits": {"memory": "512Mi"}}
"""With a thousand pods, it takes 150 MB."""
LOST_SECONDS = 30
"""How long it stays on a machine that is not ready. By default, pods of others are given up no later than its nodes would be."""

_RBAC = "rbac.authorization.k8s.io"
_FOLDERS = {"identity": vnode.IDENTITY_FOLDER, "tmp": "/tmp"}  # noqa: S108 - the container's own


def build_process(backend: Object, spec: OverflowBackendSpec, settings: Settings) -> list[tuple[Kind, Object]]:
    """All objects, in the order in which they are needed. They are deleted with the backend."""
    return [
        (kinds.SERVICE_ACCOUNT, {"metadata": _metadata(backend, settings), "automountServiceAccountToken": False}),
        (kinds.ROLE, _build_role(backend, spec, settings)),
        (kinds.ROLE_BINDING, _bind(backend, settings, "Role", _metadata(backend, settings))),
        (kinds.CLUSTER_ROLE_BINDING, _bind(backend, settings, "ClusterRole", _metadata(backend, None))),
        (kinds.NETWORK_POLICY, _build_network_policy(backend, settings)),
        (kinds.DEPLOYMENT, _build_deployment(backend, spec, settings)),
    ]


def build_owner(backend: Object) -> Object:
    """The reference by which an object belongs to the backend, and is deleted with it."""
    meta = backend["metadata"]
    return owner_reference(kinds.OVERFLOW_BACKEND.api_version, kinds.OVERFLOW_BACKEND.name, meta["name"], meta["uid"])


def account_of(backend: str, namespace: str) -> str:
    return f"system:serviceaccount:{namespace}:{names.vnode(backend)}"


def _metadata(backend: Object, settings: Settings | None) -> Object:
    """`settings` is None for what is in no namespace."""
    name = backend["metadata"]["name"]
    own = {labels.MANAGED_BY: "nestor", **_select(backend)}
    found: Object = {"name": names.vnode(name), "labels": own, "ownerReferences": [build_owner(backend)]}
    return found | ({"namespace": settings.namespace} if settings else {})


def _select(backend: Object) -> dict[str, str]:
    return {labels.BACKEND: backend["metadata"]["name"], labels.COMPONENT: labels.COMPONENT_VNODE}


def _build_role(backend: Object, spec: OverflowBackendSpec, settings: Settings) -> Object:
    """Reads the Secrets that the backend names, and no others."""
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": spec.secret_names(), "verbs": ["get"]}
    # Without names, a rule holds for all.
    return {"metadata": _metadata(backend, settings), "rules": [rule] if spec.secret_names() else []}


def _bind(backend: Object, settings: Settings, kind: str, metadata: Object) -> Object:
    """Gives the process the rights of its own Role, or of the chart's ClusterRole."""
    own = names.vnode(backend["metadata"]["name"])
    role = {"apiGroup": _RBAC, "kind": kind, "name": own if kind == "Role" else VNODE_ROLE}
    subject = {"kind": "ServiceAccount", "name": own, "namespace": settings.namespace}
    return {"metadata": metadata, "roleRef": role, "subjects": [subject]}


def _build_network_policy(backend: Object, settings: Settings) -> Object:
    """In: the kubelet API, for whose caller there is no selector, and metrics. Out: all but the cloud's metadata addresses."""
    closed = [*addresses.LINK_LOCAL, *addresses.METADATA]
    blocks = [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": [cidr for cidr in closed if ":" not in cidr]}},
        {"ipBlock": {"cidr": "::/0", "except": [cidr for cidr in closed if ":" in cidr]}},
    ]
    dns = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return {
        "metadata": _metadata(backend, settings),
        "spec": {
            "podSelector": {"matchLabels": _select(backend)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": port} for port in (vnode.KUBELET_PORT, vnode.HEALTH_PORT)]}],
            # Some network plugins do not count pods as addresses.
            "egress": [
                {"to": [*blocks, {"namespaceSelector": {}}]},
                {"to": [{"ipBlock": {"cidr": f"{NODE_LOCAL_DNS}/32"}}], "ports": dns},
            ],
        },
    }


def _build_deployment(backend: Object, spec: OverflowBackendSpec, settings: Settings) -> Object:
    own = _select(backend)
    return {
        "metadata": _metadata(backend, settings),
        "spec": {
            "replicas": 1,
            # Never two at a time: both would run the same pods.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": own},
            "template": {
                "metadata": {"labels": {labels.MANAGED_BY: "nestor", **own}},
                "spec": _build_pod(backend, spec, settings),
            },
        },
    }


def _build_pod(backend: Object, spec: OverflowBackendSpec, settings: Settings) -> Object:
    elsewhere = {"matchExpressions": [{"key": labels.BACKEND, "operator": "DoesNotExist"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [elsewhere]}}
    return {
        "serviceAccountName": names.vnode(backend["metadata"]["name"]),
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 15,
        "securityContext": oneshot.build_user(),
        # Its own virtual node, or another's, cannot run it.
        "affinity": {"nodeAffinity": required},
        **({"imagePullSecrets": [{"name": name} for name in secrets]} if (secrets := settings.image_pull_secrets) else {}),
        **settings.vnode_pod,
        "tolerations": _build_tolerations(settings.vnode_pod.get("tolerations") or []),
        "containers": [_build_container(backend, spec, settings)],
        "volumes": [{"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}} for name in _FOLDERS],
    }


def _build_tolerations(chosen: list[Object]) -> list[Object]:
    """Those that admins have chosen, and for how long a lost machine is waited for, unless they say that too. Another process may
    begin while the old one still works: neither takes a pod for new that the other has sent.
    """
    keys = {item.get("key") or "" for item in chosen}
    lost = [] if "" in keys else [f"node.kubernetes.io/{name}" for name in ("not-ready", "unreachable")]
    own: Object = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": LOST_SECONDS}
    return [*chosen, *({"key": key, **own} for key in lost if key not in keys)]


def _build_container(backend: Object, spec: OverflowBackendSpec, settings: Settings) -> Object:
    fields = {
        vnode.NAMESPACE_VARIABLE: "metadata.namespace",
        vnode.POD_NAME_VARIABLE: "metadata.name",
        vnode.POD_IP_VARIABLE: "status.podIP",
    }
    return {
        "name": "vnode",
        "image": settings.image,
        "imagePullPolicy": settings.image_pull_policy,
        "args": ["vnode", vnode.BACKEND_FLAG, backend["metadata"]["name"]],
        "env": [
            {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}} for name, path in fields.items()
        ],
        "ports": [
            {"name": "health", "containerPort": vnode.HEALTH_PORT, "protocol": "TCP"},
            {"name": "kubelet", "containerPort": vnode.KUBELET_PORT, "protocol": "TCP"},
        ],
        "readinessProbe": _probe("/readyz", periodSeconds=5, timeoutSeconds=3),
        "livenessProbe": _probe("/healthz", initialDelaySeconds=30, periodSeconds=10, timeoutSeconds=5, failureThreshold=6),
        "resources": build_resources(spec.resources, DEFAULT_RESOURCES),
        "securityContext": oneshot.UNPRIVILEGED,
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in _FOLDERS.items()],
    }


def _probe(path: str, **times: int) -> Object:
    return {"httpGet": {"path": path, "port": vnode.HEALTH_PORT, "scheme": "HTTP"}, **times}

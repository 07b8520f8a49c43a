"""The nested cluster's own pod (K3s without agent and scheduler, CoreDNS, the syncer), and the Services of its API and DNS."""

from __future__ import annotations

from nestor.api import labels
from nestor.api.base import Resources
from nestor.api.contracts import syncer
from nestor.api.contracts.cluster import API_PORT, DOMAIN
from nestor.api.names import DATA_VOLUME, SERVER_CONTAINER, Part
from nestor.api.objects import Object
from nestor.api.quantities import find_larger
from nestor.cluster import coredns, pki
from nestor.cluster.home import LOCKED, probe, secret_volume
from nestor.cluster.shape import DNS_PORT, Shape, choose_cluster_cidr

DATA_FOLDER = "/var/lib/rancher/k3s"
TLS_FOLDER = f"{DATA_FOLDER}/server/tls"
CLIENTS_FOLDER = "/etc/nestor/clients"
TOKEN_FILE = "/etc/nestor/token"  # noqa: S105 - a path
HOST_TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path
DEFAULT_RESOURCES: Object = {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
DATA_LIMIT = "4Gi"
"""Size of the data volume in the pod: a nested cluster that fills it is ended, not its neighbors on the node."""
EPHEMERAL_LIMIT = "5Gi"
"""For data, logs and everything else that K3s writes. Without a request, as not every node offers any."""
_CONTROLLERS_OFF = (
    "node-lifecycle-controller",
    "node-ipam-controller",
    "node-route-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-expander-controller",
)
CONTROLLERS = ",".join(["*", "tokencleaner", *(f"-{name}" for name in _CONTROLLERS_OFF)])
"""Without those for nodes: nodes mirror the host's, which decides on their health and pod ranges. The one that ends pods for
taints runs: it sees `NoExecute` only where tenants have set it (see `nestor.syncer.translate.node`). And without those that
attach and enlarge volumes, which the host does as well.
"""


def build_services(shape: Shape) -> tuple[Object, Object]:
    """The Services of its API and its DNS, the only nameserver of its pods. Other objects depend on their addresses.

    They include unready pods, because the runner and the syncer wait for the API themselves.
    """
    dns = [
        {"name": "dns", "port": 53, "targetPort": DNS_PORT, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "targetPort": DNS_PORT, "protocol": "TCP"},
    ]
    api = [{"name": "https", "port": 443, "targetPort": API_PORT, "protocol": "TCP"}]
    return _build_service(shape, Part.SERVER, api), _build_service(shape, Part.DNS, dns)


def build_stateful_set(shape: Shape, api_address: str) -> Object:
    """The StatefulSet. OnDelete, because data may be lost with the pod: an operator upgrade must not restart running clusters."""
    pod_labels = shape.labels | shape.pod_labels(labels.COMPONENT_SERVER)
    return {
        "metadata": shape.metadata(shape.child(Part.SERVER), component=labels.COMPONENT_SERVER),
        "spec": {
            "replicas": shape.replicas,
            "serviceName": shape.child(Part.SERVER),
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": shape.pod_labels(labels.COMPONENT_SERVER)},
            "template": {"metadata": {"labels": pod_labels}, "spec": _build_pod_spec(shape, api_address)},
            **_build_claims(shape),
        },
    }


def _build_service(shape: Shape, part: Part, ports: list[Object]) -> Object:
    return {
        "metadata": shape.metadata(shape.child(part)),
        "spec": {
            "type": "ClusterIP",
            "publishNotReadyAddresses": True,
            "ports": ports,
            "selector": shape.pod_labels(labels.COMPONENT_SERVER),
        },
    }


def _build_claims(shape: Shape) -> Object:
    """The claim for the data volume, if there is one. It stays while the cluster is suspended, and is deleted with it."""
    if shape.persistence is None:
        return {}
    spec: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": str(shape.persistence.size)}}}
    if shape.persistence.storage_class_name:
        spec["storageClassName"] = shape.persistence.storage_class_name
    metadata = {"name": DATA_VOLUME, "labels": shape.labels | {labels.CLUSTER: shape.name}}
    return {
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"},
        "volumeClaimTemplates": [{"metadata": metadata, "spec": spec}],
    }


def _build_pod_spec(shape: Shape, api_address: str) -> Object:
    return {
        **shape.nodes.to_pod(),
        "serviceAccountName": shape.child(Part.SYNCER),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        # Kubelets start them in this order: CoreDNS after the syncer, whose gate it connects to.
        "containers": [_build_k3s(shape, api_address), _build_syncer(shape), coredns.build_container(shape)],
        "volumes": [
            *([] if shape.persistence else [{"name": DATA_VOLUME, "emptyDir": {"sizeLimit": DATA_LIMIT}}]),
            {"name": "pki", "secret": {"secretName": shape.child(Part.AUTHORITIES), "defaultMode": 0o400}},
            # A volume of its own: kubelet writes changes into it, unlike into files that are mounted one by one.
            secret_volume("trusted-clients", shape.child(Part.AUTHORITIES), [pki.TRUSTED_CLIENTS]),
            *coredns.build_volumes(shape),
            secret_volume("syncer-access", shape.child(Part.ACCESS), syncer.ACCESS_FILES),
            {"name": "syncer-tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
            {
                "name": "host-token",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
                    ]
                },
            },
        ],
    }


def _build_k3s(shape: Shape, api_address: str) -> Object:
    """The K3s container. It runs as root, because K3s requires it, but without capabilities or a way to gain any."""
    files = [(f"{name}{end}", f"{path}{end}") for name, path in pki.AUTHORITIES.items() for end in (".crt", ".key")]
    files.append((pki.SERVICE_KEY, pki.SERVICE_KEY))
    return {
        "name": SERVER_CONTAINER,
        "image": shape.image,
        "imagePullPolicy": "IfNotPresent",
        "args": build_arguments(shape, api_address),
        "ports": [{"name": "https", "containerPort": API_PORT, "protocol": "TCP"}],
        # The syncer answers for K3s: it has the certificate for a health check, and knows when K3s must renew its own. The probe
        # is patient, because it also fails while the syncer is down, which K3s has to survive.
        "livenessProbe": probe(syncer.SERVER_PATH, syncer.HEALTH_PORT, after=60, every=10, within=5, failures=60),
        "resources": _limit_storage(build_resources(shape.policy.cluster.resources, DEFAULT_RESOURCES)),
        "securityContext": {
            "runAsUser": 0,
            "runAsGroup": 0,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": DATA_VOLUME, "mountPath": DATA_FOLDER},
            # Mounted one by one, because K3s writes its own certificates into the same folder.
            *({"name": "pki", "subPath": key, "mountPath": f"{TLS_FOLDER}/{path}", "readOnly": True} for key, path in files),
            {"name": "pki", "subPath": pki.TOKEN, "mountPath": TOKEN_FILE, "readOnly": True},
            {"name": "trusted-clients", "mountPath": CLIENTS_FOLDER, "readOnly": True},
        ],
    }


def build_arguments(shape: Shape, api_address: str) -> list[str]:
    """K3s's command line: only a control plane; the syncer adds nodes and runs the pods."""
    return [
        "server",
        "--disable-agent",
        "--disable-scheduler",
        "--disable-cloud-controller",
        "--disable-network-policy",
        "--disable-kube-proxy",
        "--disable-helm-controller",
        "--flannel-backend=none",
        "--egress-selector-mode=disabled",
        "--disable=coredns,servicelb,traefik,local-storage,metrics-server",
        f"--data-dir={DATA_FOLDER}",
        f"--https-listen-port={API_PORT}",
        f"--service-cidr={','.join(shape.host.service_cidrs)}",
        f"--cluster-cidr={choose_cluster_cidr(shape.host.service_cidrs)}",
        f"--cluster-domain={DOMAIN}",
        f"--token-file={TOKEN_FILE}",
        f"--tls-san={api_address}",
        f"--tls-san={shape.server_host}",
        "--write-kubeconfig-mode=600",
        "--kube-apiserver-arg=kubelet-preferred-address-types=InternalDNS,InternalIP",
        # Webhooks and aggregated APIs are called at their endpoints. For servers without an agent, K3s leaves that off and calls
        # the Service's ClusterIP, which headless Services lack and which is another one until the host has confirmed it.
        "--kube-apiserver-arg=enable-aggregator-routing=true",
        f"--kube-apiserver-arg=client-ca-file={CLIENTS_FOLDER}/{pki.TRUSTED_CLIENTS}",
        f"--kube-controller-manager-arg=controllers={CONTROLLERS}",
        # By default, the controllers' clients are throttled to 20 requests a second, most of which their own start uses up. The
        # `default` ServiceAccount, without which no pod can be created, would then exist after 5 s instead of 0.7 s.
        "--kube-controller-manager-arg=kube-api-qps=300",
        "--kube-controller-manager-arg=kube-api-burst=400",
    ]


def _build_syncer(shape: Shape) -> Object:
    return {
        "name": "syncer",
        "image": shape.nestor_image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["syncer"],
        "env": [
            {
                "name": syncer.NAMESPACE_VARIABLE,
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
            },
            {"name": syncer.SERVER_UID_VARIABLE, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.uid"}}},
            {"name": syncer.CLUSTER_VARIABLE, "value": shape.name},
            {"name": syncer.SERVER_SECONDS_VARIABLE, "value": str(shape.server_seconds)},
            {"name": syncer.DNS_READY_URL_VARIABLE, "value": f"http://127.0.0.1:{coredns.READY_PORT}/ready"},
        ],
        "ports": [{"name": "health", "containerPort": syncer.HEALTH_PORT, "protocol": "TCP"}],
        # Every second, because its readiness is the cluster's.
        "readinessProbe": probe("/readyz", syncer.HEALTH_PORT, every=1, within=3, failures=5) | {"successThreshold": 1},
        # Patient as well: on a busy node it may take minutes to start; one that is ended starts again and makes the node busier.
        "livenessProbe": probe("/healthz", syncer.HEALTH_PORT, after=30, every=10, within=10, failures=30),
        "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"cpu": "1", "memory": "384Mi"}},
        "securityContext": LOCKED,
        "volumeMounts": [
            {"name": "syncer-access", "mountPath": syncer.ACCESS_FOLDER, "readOnly": True},
            {"name": "host-token", "mountPath": HOST_TOKEN_FOLDER, "readOnly": True},
            {"name": "syncer-tmp", "mountPath": "/tmp"},  # noqa: S108 - the container's own
        ],
    }


def list_containers(shape: Shape) -> list[Object]:
    found: list[Object] = _build_pod_spec(shape, "")["containers"]
    return found


def build_resources(chosen: Resources | None, default: Object) -> Object:
    """Requests and limits, each falling back to its default; our own pods always have both."""
    if chosen is None:
        return default
    return {"requests": _strings(chosen.requests) or default["requests"], "limits": _strings(chosen.limits) or default["limits"]}


def _limit_storage(resources: Object) -> Object:
    """With a limit of ephemeral storage, unless the class sets one; never below what it requests."""
    requests = {"ephemeral-storage": "0"} | resources["requests"]
    limit = find_larger(EPHEMERAL_LIMIT, requests["ephemeral-storage"])
    return {"requests": requests, "limits": {"ephemeral-storage": limit} | resources["limits"]}


def _strings(quantities: dict[str, str | int] | None) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in (quantities or {}).items()}

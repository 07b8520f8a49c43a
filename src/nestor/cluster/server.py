"""The nested cluster's own pod (K3s without agent and scheduler, CoreDNS, the syncer), and the Services of its API and DNS."""

from nestor.api import labels
from nestor.api.contracts import syncer
from nestor.api.contracts.cluster import API_PORT, ROOT_CA
from nestor.api.names import DATA_VOLUME, SYNCER_CONTAINER, Part
from nestor.api.objects import Object
from nestor.cluster import coredns, k3s, pki
from nestor.cluster.boost import boost
from nestor.cluster.home import LOCKED, probe, secret_volume
from nestor.cluster.shape import DNS_PORT, Shape

HOST_TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path


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
        **shape.pulls,
        "serviceAccountName": shape.child(Part.SYNCER),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": list_starting(shape, api_address),
        "volumes": [
            *([] if shape.persistence else [{"name": DATA_VOLUME, "emptyDir": {"sizeLimit": k3s.DATA_LIMIT}}]),
            {"name": "pki", "secret": {"secretName": shape.child(Part.AUTHORITIES), "defaultMode": 0o400}},
            # A volume of its own: kubelet writes changes into it, unlike into files that are mounted one by one.
            secret_volume("trusted-clients", shape.child(Part.AUTHORITIES), [pki.TRUSTED_CLIENTS]),
            *coredns.build_volumes(shape),
            secret_volume("syncer-access", shape.child(Part.ACCESS), syncer.ACCESS_FILES),
            {"name": "syncer-tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
            *([{"name": k3s.SEED_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": "2Mi"}}] if shape.seed else []),
            {
                "name": "host-token",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
                        {"configMap": {"name": ROOT_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
                    ]
                },
            },
        ],
    }


def _build_syncer(shape: Shape) -> Object:
    return {
        "name": SYNCER_CONTAINER,
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
            *([{"name": syncer.SEED_VARIABLE, "value": shape.seed}] if shape.seed else []),
        ],
        "ports": [{"name": "health", "containerPort": syncer.HEALTH_PORT, "protocol": "TCP"}],
        # Its readiness is the cluster's, so it is asked every second until then. Patiently: on a busy node that may take minutes,
        # and one that is ended starts again and makes the node busier.
        "startupProbe": probe("/readyz", syncer.HEALTH_PORT, every=1, within=3, failures=600),
        "readinessProbe": probe("/readyz", syncer.HEALTH_PORT, every=10, within=5, failures=2),
        "livenessProbe": probe("/healthz", syncer.HEALTH_PORT, every=30, within=10, failures=10),
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "384Mi"}},
        "securityContext": LOCKED,
        "volumeMounts": [
            {"name": "syncer-access", "mountPath": syncer.ACCESS_FOLDER, "readOnly": True},
            {"name": "host-token", "mountPath": HOST_TOKEN_FOLDER, "readOnly": True},
            {"name": "syncer-tmp", "mountPath": "/tmp"},  # noqa: S108 - the container's own
            *([{"name": k3s.SEED_VOLUME, "mountPath": syncer.SEED_FOLDER}] if shape.seed else []),
        ],
    }


def list_starting(shape: Shape, api_address: str = "") -> list[Object]:
    """Its containers, with what they ask for to start."""
    return [boost(container) for container in list_containers(shape, api_address)]


def list_containers(shape: Shape, api_address: str = "") -> list[Object]:
    """Its containers, with what they ask for once the cluster is ready."""
    # Kubelets start them in this order: the syncer first, whose seed K3s waits for, and whose gate CoreDNS connects to.
    return [_build_syncer(shape), k3s.build_container(shape, api_address), coredns.build_container(shape)]

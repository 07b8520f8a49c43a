"""A pod with everything that interLink can carry."""

from nestor.api.objects import Object
from nestor.pods.providers.base import Inputs


def build_full_pod() -> tuple[Object, Inputs]:
    """A pod of a host cluster with everything that interLink can carry, and what it refers to."""
    volumes = _build_volumes()
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-1",
            "namespace": "shop",
            "uid": "0d3f7f9e-1111-4222-8333-444444444444",
            "labels": {"app": "web", "tier": 'a "b"'},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "kept"},
            "managedFields": [{"manager": "kubectl"}],
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "nodeName": "vnode-1",
            "restartPolicy": "Never",
            "initContainers": [{"name": "prepare", "image": "registry.example/tool:1", "env": [{"name": "A", "value": "1"}]}],
            "containers": [_build_container(volumes)],
            "volumes": volumes,
            "imagePullSecrets": [{"name": "registry"}, {"name": "gone"}],
        },
        "status": {"phase": "Pending"},
    }
    return pod, _build_inputs()


def _build_volumes() -> list[Object]:
    return [
        {"name": "scratch", "emptyDir": {}},
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "keys", "secret": {"secretName": "keys", "items": [{"key": "id", "path": "id_rsa"}]}},
        {"name": "perhaps", "configMap": {"name": "absent", "optional": True}},
        {"name": "labels", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {
            "name": "access",
            "projected": {
                "defaultMode": 420,
                "sources": [
                    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
                    {"secret": {"name": "binary"}},
                ],
            },
        },
    ]


def _build_container(volumes: list[Object]) -> Object:
    mounts = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in volumes]
    mounts[0] |= {"subPathExpr": "$(POD)/$(MODE)"}
    return {
        "name": "app",
        "image": "registry.example/app:1",
        "command": ["run", "--mode=$(MODE)", "$(UNKNOWN)", "$$(MODE)"],
        "env": [
            {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "mode"}}},
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "password"}}},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
            {"name": "URL", "value": "http://$(KUBERNETES_SERVICE_HOST)/$(MODE)"},
            {"name": "ABSENT", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "absent", "optional": True}}},
        ],
        "envFrom": [
            {"prefix": "SETTINGS_", "configMapRef": {"name": "settings"}},
            {"secretRef": {"name": "no", "optional": True}},
        ],
        "resources": {"limits": {"memory": "1Gi", "nvidia.com/gpu": "1"}},
        "volumeMounts": mounts,
    }


def _build_inputs() -> Inputs:
    maps = {"settings": {"mode": "fast", "size": "9"}, "kube-root-ca.crt": {"ca.crt": "PEM"}}
    secrets = {
        "keys": {"id": "S0VZ", "password": "cGFzcw=="},
        "binary": {"raw": "/w=="},
        "registry": {".dockerconfigjson": "e30="},
    }
    return Inputs(
        config_maps={
            name: {"metadata": {"name": name, "namespace": "shop", "uid": "x"}, "data": data} for name, data in maps.items()
        },
        secrets={name: {"metadata": {"name": name}, "type": "Opaque", "data": data} for name, data in secrets.items()},
        tokens={("access", "token"): "jwt"},
        environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
    )

"""The nested cluster's DNS: its Corefile, in a ConfigMap, and its container."""

from __future__ import annotations

from nestor.cluster.shape import DNS_PORT, Shape
from nestor.contracts.cluster import COREDNS_KUBECONFIG, DOMAIN
from nestor.objects import Object

HEALTH_PORT = 8082
READY_PORT = 8083
KUBECONFIG_FOLDER = "/etc/nestor/coredns"
COREFILE_FOLDER = "/etc/coredns"


def build_corefile(api_address: str) -> str:
    """Names of the nested cluster, and of no other; the rest goes to the host's own resolver.

    `kubernetes.default` must lead to the nested API, on the host address that its Service has here. Answers of the nested
    cluster are not cached: what is looked up right after it was created must be found.
    """
    return f""".:{DNS_PORT} {{
    errors
    health :{HEALTH_PORT}
    ready 127.0.0.1:{READY_PORT}
    hosts {{
        {api_address} kubernetes.default.svc.{DOMAIN}
        ttl 5
        no_reverse
        fallthrough
    }}
    kubernetes {DOMAIN} in-addr.arpa ip6.arpa {{
        kubeconfig {KUBECONFIG_FOLDER}/{COREDNS_KUBECONFIG}
        pods verified
        ttl 5
        fallthrough in-addr.arpa ip6.arpa
    }}
    forward . /etc/resolv.conf
    cache 30 {{
        disable success {DOMAIN}
        disable denial {DOMAIN}
    }}
}}
"""


def build_config_map(shape: Shape, api_address: str) -> Object:
    """The ConfigMap with the Corefile."""
    return {"metadata": shape.metadata(shape.child("coredns")), "data": {"Corefile": build_corefile(api_address)}}


def build_container(shape: Shape) -> Object:
    """CoreDNS, beside the API server that it reads."""
    return {
        "name": "coredns",
        "image": shape.core_dns_image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", f"{COREFILE_FOLDER}/Corefile"],
        "ports": [
            {"name": "dns", "containerPort": DNS_PORT, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": DNS_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": HEALTH_PORT, "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 5,
        },
        "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "170Mi"}},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            # The official binary carries this file capability; the kernel does not start it where it is not allowed at all.
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        },
        "volumeMounts": [
            {"name": "corefile", "mountPath": COREFILE_FOLDER, "readOnly": True},
            {"name": "coredns-access", "mountPath": KUBECONFIG_FOLDER, "readOnly": True},
        ],
    }


def build_volumes(shape: Shape) -> list[Object]:
    """What that container mounts."""
    return [
        {"name": "corefile", "configMap": {"name": shape.child("coredns")}},
        {
            "name": "coredns-access",
            "secret": {"secretName": shape.child("access"), "items": [{"key": COREDNS_KUBECONFIG, "path": COREDNS_KUBECONFIG}]},
        },
    ]

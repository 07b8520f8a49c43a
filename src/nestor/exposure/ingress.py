"""The Ingress of one target, and the URL it is reached by."""

from __future__ import annotations

from nestor import names
from nestor.api.appdef import Target
from nestor.api.nestedclass import ExposePolicy
from nestor.names import Part
from nestor.objects import Object

DEFAULT_PORTS = {"http": 80, "https": 443}
ISSUERS = ("cert-manager.io/cluster-issuer", "cert-manager.io/issuer")
"""Annotations by which cert-manager makes the Secrets that an Ingress names in `spec.tls`."""


def build_ingress(name: str, namespace: str, labels: dict[str, str], host: str, target: Target, policy: ExposePolicy) -> Object:
    """The Ingress. Class and annotations are the admins' alone: annotations can configure the controller itself.

    Each target has one of its own: what a controller, an admission webhook or a certificate authority holds against one host must
    not take the others with it. All paths lead to the Service, and an upgrade to a websocket passes as any other request does.
    """
    service = names.host_name(target.service_name, target.service_namespace)
    backend = {"service": {"name": service, "port": {"number": target.service_port}}}
    spec: Object = {"rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]}
    if policy.ingress_class_name:
        spec["ingressClassName"] = policy.ingress_class_name
    if policy.tls_secret_name or has_issuer(policy):
        secret = names.CLASS_CERTIFICATE if policy.tls_secret_name else names.child(name, Part.CERTIFICATE)
        spec["tls"] = [{"hosts": [host], "secretName": secret}]
    metadata: Object = {"name": name, "namespace": namespace, "labels": labels}
    if policy.annotations:
        metadata["annotations"] = dict(policy.annotations)
    return {"metadata": metadata, "spec": spec}


def build_url(host: str, policy: ExposePolicy) -> str:
    """The URL as a browser wants it; the port only where it is not the scheme's own."""
    scheme = policy.scheme or ("https" if policy.tls_secret_name or has_issuer(policy) else "http")
    port = f":{policy.port}" if policy.port and policy.port != DEFAULT_PORTS[scheme] else ""
    return f"{scheme}://{host}{port}/"


def has_issuer(policy: ExposePolicy) -> bool:
    """Whether cert-manager gives each Ingress a certificate of its own."""
    return any((policy.annotations or {}).get(key) for key in ISSUERS)

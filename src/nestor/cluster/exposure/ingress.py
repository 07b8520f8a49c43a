"""The Ingress of one target, and its URL."""

from __future__ import annotations

from nestor.api import names
from nestor.api.appdef_models import Target
from nestor.api.expose import ExposePolicy
from nestor.api.names import Part
from nestor.api.objects import Object

DEFAULT_PORTS = {"http": 80, "https": 443}


def build_ingress(name: str, namespace: str, labels: dict[str, str], host: str, target: Target, policy: ExposePolicy) -> Object:
    """The Ingress. The policy's annotations are the target's own by now.

    Each target has its own Ingress: if a controller, an admission webhook or a certificate authority rejects one host, the others
    are not affected. All paths lead to the Service; websocket upgrades pass like any other request.
    """
    service = names.host_name(target.service_name, target.service_namespace)
    backend = {"service": {"name": service, "port": {"number": target.service_port}}}
    spec: Object = {"rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]}
    if policy.ingress_class_name:
        spec["ingressClassName"] = policy.ingress_class_name
    if policy.has_tls:
        spec["tls"] = [{"hosts": [host]} | _find_secret(name, policy)]
    metadata: Object = {"name": name, "namespace": namespace, "labels": labels}
    if policy.annotations:
        metadata["annotations"] = dict(policy.annotations)
    return {"metadata": metadata, "spec": spec}


def _find_secret(name: str, policy: ExposePolicy) -> Object:
    """Where the certificate is; nowhere in the job's namespace if the controller has it."""
    if policy.tls_secret_name:
        return {"secretName": names.CLASS_CERTIFICATE}
    return {"secretName": names.child(name, Part.CERTIFICATE)} if policy.has_issuer else {}


def build_url(host: str, policy: ExposePolicy) -> str:
    """The URL for a browser, with the port only if it is not the scheme's default."""
    scheme = "https" if policy.has_tls or policy.port == DEFAULT_PORTS["https"] else "http"
    port = f":{policy.port}" if policy.port and policy.port != DEFAULT_PORTS[scheme] else ""
    return f"{scheme}://{host}{port}/"

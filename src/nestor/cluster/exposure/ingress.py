"""The Ingress of one target, its URL, and its annotations: the class's, with the job's facts in them, and those of the job."""

from collections.abc import Iterable, Mapping

from nestor.api import conditions, names
from nestor.api.appdef_models import Target
from nestor.api.expose import ExposePolicy
from nestor.api.names import Part
from nestor.api.objects import Object, spec_of

DEFAULT_PORTS = {"http": 80, "https": 443}
HTTPS_BACKEND = {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}
"""For targets that speak HTTPS themselves. Traefik knows them by their ports."""
_HTTPS = ("https", "kubernetes.io/https")


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


def find_annotation_fault(own: Mapping[str, str] | None, class_name: str, policy: ExposePolicy) -> tuple[str, str] | None:
    """Why a job may not have the annotations that it wants: a condition's reason, and a message. None if it may."""
    others = sorted((own or {}).keys() - set(policy.allowed_annotations))
    if not others:
        return None
    wanted = ", ".join(f"'{key}'" for key in others)
    known = ", ".join(f"'{key}'" for key in policy.allowed_annotations) or "none"
    return conditions.ANNOTATION_NOT_ALLOWED, (
        f"`expose.annotations` must not contain {wanted}: class '{class_name}' allows {known} (`expose.allowedAnnotations`)"
    )


def build_annotations(
    policy: ExposePolicy, facts: Mapping[str, str], own: Mapping[str, str] | None = None, *, is_https: bool = False
) -> dict[str, str]:
    """The annotations. `facts`: what `$(…)` in the class's values stands for; `own`: the job's, which are allowed; `is_https`:
    the target speaks HTTPS itself.
    """
    said = (HTTPS_BACKEND if is_https else {}) | (policy.annotations or {})
    return {key: _fill(value, facts) for key, value in said.items()} | dict(own or {})


def _fill(value: str, facts: Mapping[str, str]) -> str:
    for name, fact in facts.items():
        value = value.replace(f"$({name})", fact)
    return value


def speaks_https(service: Object | None, number: int) -> bool:
    """Whether a target speaks HTTPS itself, as far as its Service tells. Without the Service, its port's number has to do."""
    port = find_port(spec_of(service).get("ports") or [], number) or {}
    if protocol := str(port.get("appProtocol") or "").lower():
        return protocol in _HTTPS
    name = str(port.get("name") or "").partition("-")[0]
    return number == 443 if name not in ("http", "https") else name == "https"


def find_port(ports: Iterable[Object], number: int) -> Object | None:
    """The TCP port of that number; None if there is none."""
    return next((item for item in ports if item["port"] == number and item.get("protocol", "TCP") == "TCP"), None)

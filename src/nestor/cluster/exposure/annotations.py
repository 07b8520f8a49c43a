"""The annotations of a target's Ingress: the class's, with the job's facts in them, and those that the job may add."""

from __future__ import annotations

from collections.abc import Mapping

from nestor.api import conditions
from nestor.api.expose import ExposePolicy
from nestor.api.objects import Object, spec_of
from nestor.cluster.exposure.ports import find_port

HTTPS_BACKEND = {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}
"""For targets that speak HTTPS themselves. Traefik knows them by their ports."""
_HTTPS = ("https", "kubernetes.io/https")


def find_fault(own: Mapping[str, str] | None, class_name: str, policy: ExposePolicy) -> tuple[str, str] | None:
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

"""A container's environment. Later sources win, as on a kubelet: service links, `envFrom` in order, `env` in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nestor.api import names
from nestor.api.objects import Object
from nestor.pods.translate import downward, service_env

Rename = Callable[[str], str]
"""The name that a ConfigMap or Secret of the pod's namespace has there."""


def links_name(namespace: str) -> str:
    """Name of the host ConfigMap that holds the service links of one nested namespace."""
    return names.join_limited(["service-links", namespace], names.digest("service-links", namespace), separator="-x-")


def build_env(container: Object, namespace: str, api_ip: str) -> list[Object]:
    """`env`: the address of the nested API server (in place of the host's), then the container's own variables."""
    own = build_variables(container, partial(names.host_name, namespace=namespace))
    named = {item["name"] for item in own}
    api = [{"name": name, "value": value} for name, value in service_env.build_api_links(api_ip).items() if name not in named]
    return api + own


def build_env_from(container: Object, namespace: str, *, links: bool) -> list[Object]:
    """`envFrom`: the service links first, so that the container's own sources override them."""
    own = build_sources(container, partial(names.host_name, namespace=namespace))
    return ([{"configMapRef": {"name": links_name(namespace)}}] if links else []) + own


def build_variables(container: Object, rename: Rename) -> list[Object]:
    """The container's own `env`."""
    return [_variable(item, rename) for item in container.get("env") or []]


def build_sources(container: Object, rename: Rename) -> list[Object]:
    """The container's own `envFrom`."""
    result = []
    for item in container.get("envFrom") or []:
        kind = "configMapRef" if item.get("configMapRef") else "secretRef"
        result.append(item | {kind: item[kind] | {"name": rename(item[kind]["name"])}})
    return result


def _variable(variable: Object, rename: Rename) -> Object:
    source = variable.get("valueFrom")
    if not source:
        return variable
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if part := source.get(kind):
            return variable | {"valueFrom": {kind: part | {"name": rename(part["name"])}}}
    if field := source.get("fieldRef"):
        return variable | {"valueFrom": {"fieldRef": downward.host_field_ref(field)}}
    return variable

"""Finds the ConfigMaps and Secrets that a pod needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from nestor.api.objects import Object

CONFIG_MAPS = "configmaps"
SECRETS = "secrets"


@dataclasses.dataclass(frozen=True, order=True)
class Reference:
    """Identifies a nested ConfigMap or Secret by resource, namespace and name."""

    resource: str
    namespace: str
    name: str


def find_references(pod: Object) -> frozenset[Reference]:
    """All ConfigMaps and Secrets that the pod refers to, including optional ones."""
    return _collect(pod, [*_of_pulls(pod["spec"]), *_of_spec(pod["spec"])])


def find_required(pod: Object) -> frozenset[Reference]:
    """Those without which it cannot start. Image pull secrets are none of them: the image may be public."""
    return _collect(pod, [(resource, part) for resource, part in _of_spec(pod["spec"]) if not part.get("optional")])


def _collect(pod: Object, parts: list[tuple[str, Object]]) -> frozenset[Reference]:
    namespace = pod["metadata"]["namespace"]
    named = ((resource, part.get("name") or part.get("secretName")) for resource, part in parts)
    return frozenset(Reference(resource, namespace, name) for resource, name in named if name)


def _of_pulls(spec: Object) -> Iterator[tuple[str, Object]]:
    yield from ((SECRETS, item) for item in spec.get("imagePullSecrets") or [])


def _of_spec(spec: Object) -> Iterator[tuple[str, Object]]:
    for volume in spec.get("volumes") or []:
        yield from _of_volume(volume)
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or []:
            yield from _of_container(container)


def _of_volume(volume: Object) -> Iterator[tuple[str, Object]]:
    yield SECRETS, volume.get("secret") or {}
    yield CONFIG_MAPS, volume.get("configMap") or {}
    for source in (volume.get("projected") or {}).get("sources") or []:
        yield SECRETS, source.get("secret") or {}
        yield CONFIG_MAPS, source.get("configMap") or {}


def _of_container(container: Object) -> Iterator[tuple[str, Object]]:
    for source in container.get("envFrom") or []:
        yield SECRETS, source.get("secretRef") or {}
        yield CONFIG_MAPS, source.get("configMapRef") or {}
    for variable in container.get("env") or []:
        value = variable.get("valueFrom") or {}
        yield SECRETS, value.get("secretKeyRef") or {}
        yield CONFIG_MAPS, value.get("configMapKeyRef") or {}

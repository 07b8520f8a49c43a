"""Finds the ConfigMaps and Secrets that a pod needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nestor.objects import Object

CONFIG_MAPS = "configmaps"
SECRETS = "secrets"


@dataclass(frozen=True, order=True)
class Reference:
    """Identifies a nested ConfigMap or Secret by resource, namespace and name."""

    resource: str
    namespace: str
    name: str


def find_references(pod: Object) -> frozenset[Reference]:
    """All ConfigMaps and Secrets that the pod refers to, including optional ones."""
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    found = {(SECRETS, item.get("name")) for item in spec.get("imagePullSecrets") or []}
    for volume in spec.get("volumes") or []:
        found |= set(_of_volume(volume))
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or []:
            found |= set(_of_container(container))
    return frozenset(Reference(resource, namespace, name) for resource, name in found if name)


def _of_volume(volume: Object) -> Iterator[tuple[str, str | None]]:
    if secret := volume.get("secret"):
        yield SECRETS, secret.get("secretName")
    if config_map := volume.get("configMap"):
        yield CONFIG_MAPS, config_map.get("name")
    for source in (volume.get("projected") or {}).get("sources") or []:
        yield SECRETS, (source.get("secret") or {}).get("name")
        yield CONFIG_MAPS, (source.get("configMap") or {}).get("name")


def _of_container(container: Object) -> Iterator[tuple[str, str | None]]:
    for source in container.get("envFrom") or []:
        yield SECRETS, (source.get("secretRef") or {}).get("name")
        yield CONFIG_MAPS, (source.get("configMapRef") or {}).get("name")
    for variable in container.get("env") or []:
        value = variable.get("valueFrom") or {}
        yield SECRETS, (value.get("secretKeyRef") or {}).get("name")
        yield CONFIG_MAPS, (value.get("configMapKeyRef") or {}).get("name")

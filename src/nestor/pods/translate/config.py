"""The ConfigMaps and Secrets that pods need, and nested ones as host objects."""

import dataclasses
import json
from collections.abc import Iterator

from nestor.api.objects import Object
from nestor.pods.translate.container_status import list_containers
from nestor.pods.translate.target import Target

# The host's controllers act on Secrets of these types; its kubelet reads any type.
_ACTIVE_TYPES = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})
_DATA = ("data", "binaryData")


def build_config(nested: Object, target: Target) -> Object:
    """The host copy of a ConfigMap or Secret. Never immutable: the nested one may be deleted and recreated."""
    return {"apiVersion": "v1", "kind": nested["kind"], "metadata": target.metadata(nested)} | carry(nested, nested["kind"])


def carry(obj: Object, kind: str) -> Object:
    """What a copy has in common with its original: the data, and a Secret's type if no controller acts on that."""
    result = {key: obj[key] for key in _DATA if obj.get(key)}
    if kind == "Secret":
        own = obj.get("type") or "Opaque"
        result["type"] = "Opaque" if own in _ACTIVE_TYPES else own
    return result


def measure(copy: Object) -> int:
    """Bytes of data in a ConfigMap or Secret; of other kinds, all that it is."""
    if copy.get("kind") not in ("ConfigMap", "Secret"):
        return len(json.dumps(copy))
    pairs = ((key, text) for part in _DATA for key, text in (copy.get(part) or {}).items())
    return sum(len(key) + len(text.encode()) for key, text in pairs)


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
    pulls = [(SECRETS, item) for item in pod["spec"].get("imagePullSecrets") or []]
    return _collect(pod, [*pulls, *_of_spec(pod["spec"])])


def find_required(pod: Object) -> frozenset[Reference]:
    """Those without which it cannot start. Image pull secrets are none of them: the image may be public."""
    return _collect(pod, [(resource, part) for resource, part in _of_spec(pod["spec"]) if not part.get("optional")])


def _collect(pod: Object, parts: list[tuple[str, Object]]) -> frozenset[Reference]:
    namespace = pod["metadata"]["namespace"]
    named = ((resource, part.get("name") or part.get("secretName")) for resource, part in parts)
    return frozenset(Reference(resource, namespace, name) for resource, name in named if name)


def _of_spec(spec: Object) -> Iterator[tuple[str, Object]]:
    for volume in spec.get("volumes") or []:
        yield from _of_volume(volume)
    for _, container in list_containers(spec):
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

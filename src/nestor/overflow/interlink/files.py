"""The volumes of a pod as interLink carries them: ConfigMaps, Secrets, and projected files. Pure."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field

from nestor.api.objects import Object
from nestor.overflow.interlink.env import find_object, read_data, read_field, read_resource
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import InvalidInput, NotYet

_NAME_KEYS = {"Secret": "secretName", "ConfigMap": "name"}
_KINDS = {"secret": "Secret", "configMap": "ConfigMap"}


@dataclass
class Files:
    """The pod's volumes as they are sent, and the objects that they need, by name."""

    volumes: list[Object] = field(default_factory=list)
    config_maps: dict[str, Object] = field(default_factory=dict)
    secrets: dict[str, Object] = field(default_factory=dict)
    projected: dict[str, Object] = field(default_factory=dict)
    """By the name of the volume."""


def build_files(pod: Object, inputs: Inputs) -> Files:
    """Raises `NotYet` for an object or key that does not exist yet, `InvalidInput` for a file that cannot be carried."""
    result = Files()
    for index, volume in enumerate(pod["spec"].get("volumes") or []):
        where = f"spec.volumes[{index}]"
        kind = next((key for key in volume if key != "name"), "emptyDir")
        if kind in _KINDS:
            result.volumes.append(_add_object(result, pod, volume, kind, inputs))
        elif kind in ("projected", "downwardAPI"):
            sources = (volume["projected"].get("sources") or []) if kind == "projected" else [{"downwardAPI": volume[kind]}]
            files = dict(_project(pod, volume["name"], sources, inputs, where))
            result.projected[volume["name"]] = _build_config_map(volume["name"], pod, files)
            # A backend knows no downward API; its files are projected ones.
            settings = {key: value for key, value in volume[kind].items() if key == "defaultMode"}
            result.volumes.append({"name": volume["name"], "projected": settings | {"sources": sources}})
        else:
            result.volumes.append(volume)
    return result


def trim_object(kind: str, obj: Object) -> Object:
    """A ConfigMap or Secret with its content and its name, and without what only API servers need."""
    meta = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
    content = {key: obj[key] for key in ("data", "binaryData", "stringData", "type") if obj.get(key)}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **content}


def _add_object(files: Files, pod: Object, volume: Object, kind: str, inputs: Inputs) -> Object:
    """The volume as it is sent: an optional one without its object is empty."""
    source, name = volume[kind], volume[kind][_NAME_KEYS[_KINDS[kind]]]
    found = find_object(_KINDS[kind], name, inputs, optional=bool(source.get("optional")))
    if found is None:
        return {"name": volume["name"], "emptyDir": {}}
    list(_select(_KINDS[kind], name, source, found))
    into = files.secrets if kind == "secret" else files.config_maps
    into[name] = trim_object(_KINDS[kind], found)
    return volume


def _project(pod: Object, volume: str, sources: list[Object], inputs: Inputs, where: str) -> Iterator[tuple[str, bytes]]:
    """File names and contents. Later sources override earlier ones, as on a kubelet."""
    for index, source in enumerate(sources):
        for path, content in _read_source(pod, volume, source, inputs, f"{where}.projected.sources[{index}]"):
            if "/" in path:
                raise InvalidInput(f"`{where}` (volume '{volume}') may not have the file '{path}': interLink carries no folders")
            yield path, content


def _read_source(pod: Object, volume: str, source: Object, inputs: Inputs, where: str) -> Iterator[tuple[str, bytes]]:
    for key, kind in _KINDS.items():
        if part := source.get(key):
            found = find_object(kind, part["name"], inputs, optional=bool(part.get("optional")))
            yield from _select(kind, part["name"], part, found) if found else ()
    if token := source.get("serviceAccountToken"):
        content = inputs.tokens.get((volume, token["path"]))
        if content is None:
            raise NotYet(f"there is no service account token yet for `{where}`")
        yield token["path"], content.encode()
    for index, item in enumerate((source.get("downwardAPI") or {}).get("items") or []):
        at = f"{where}.downwardAPI.items[{index}]"
        if item.get("fieldRef"):
            yield item["path"], read_field(pod, item["fieldRef"]["fieldPath"], at).encode()
        else:
            yield item["path"], read_resource(pod, item["resourceFieldRef"], {}, at).encode()


def _select(kind: str, name: str, source: Object, obj: Object) -> Iterator[tuple[str, bytes]]:
    data = read_data(kind, obj)
    if not source.get("items"):
        yield from data.items()
        return
    for item in source["items"]:
        if item["key"] in data:
            yield item["path"], data[item["key"]]
        elif not source.get("optional"):
            raise NotYet(f"{kind} '{name}' has no key '{item['key']}'")


def _build_config_map(name: str, pod: Object, files: dict[str, bytes]) -> Object:
    texts: dict[str, str] = {}
    binaries: dict[str, str] = {}
    for path, content in files.items():
        try:
            texts[path] = content.decode()
        except UnicodeDecodeError:
            binaries[path] = base64.b64encode(content).decode()
    meta = {"name": name, "namespace": pod["metadata"]["namespace"]}
    found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": texts}
    return found | ({"binaryData": binaries} if binaries else {})

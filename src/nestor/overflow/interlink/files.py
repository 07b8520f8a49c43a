"""The volumes of a pod as interLink carries them: ConfigMaps, Secrets, and projected files. Pure."""

import base64
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from nestor.api.names import digest, join_limited
from nestor.api.objects import Object
from nestor.overflow.interlink.env import find_object, read_data, read_field, read_resource
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import InvalidInput, NotYet

_NAME_KEYS = {"Secret": "secretName", "ConfigMap": "name"}
_KINDS = {"secret": "Secret", "configMap": "ConfigMap"}
_OF_FILES = frozenset({*_KINDS, "projected", "downwardAPI"})


@dataclass
class Files:
    """The pod's volumes as they are sent, and the objects that they need, by name."""

    volumes: dict[str, Object] = field(default_factory=dict)
    config_maps: dict[str, Object] = field(default_factory=dict)
    secrets: dict[str, Object] = field(default_factory=dict)
    projected: dict[str, Object] = field(default_factory=dict)
    """By the name of the volume."""
    contents: dict[int, dict[str, bytes]] = field(default_factory=dict)
    """Files that were read, by the volume's index."""


def build_files(pod: Object, inputs: Inputs) -> Files:
    """Raises `NotYet` for an object or key that does not exist yet, `InvalidInput` for a file that cannot be carried."""
    result = Files()
    for index, volume in enumerate(pod["spec"].get("volumes") or []):
        kind = next((key for key in volume if key != "name"), "emptyDir")
        if kind in _KINDS and not volume[kind].get("items"):
            result.volumes[volume["name"]] = _add_object(result, volume, kind, inputs)
        elif kind in _OF_FILES:
            # Backends know no downward API, and Slurm's plugin no `items`.
            _add_files(result, pod, volume, volume["name"], _read(result, pod, index, volume, inputs))
        else:
            result.volumes[volume["name"]] = volume
    return result


def split_mounts(files: Files, pod: Object, mounts: list[Object], inputs: Inputs) -> list[Object]:
    """The mounts of a container. A file that is mounted by `subPath` gets a volume of its own: Slurm mounts all there."""
    volumes = {item["name"]: (index, item) for index, item in enumerate(pod["spec"].get("volumes") or [])}
    return [_split(files, pod, mount, *volumes[mount["name"]], inputs) if mount.get("subPath") else mount for mount in mounts]


def _split(files: Files, pod: Object, mount: Object, index: int, volume: Object, inputs: Inputs) -> Object:
    if not _OF_FILES.intersection(volume):
        return mount
    path, found = posixpath.normpath(mount["subPath"]), _read(files, pod, index, volume, inputs)
    if path not in found:
        raise NotYet(f"volume '{volume['name']}' has no file '{path}'")
    name = join_limited([volume["name"]], digest(volume["name"], path))
    if name not in files.volumes:
        _add_files(files, pod, volume, name, {path: found[path]})
    return mount | {"name": name}


def _read(files: Files, pod: Object, index: int, volume: Object, inputs: Inputs) -> dict[str, bytes]:
    if index not in files.contents:
        files.contents[index] = dict(_project(pod, volume, inputs, f"spec.volumes[{index}]"))
    return files.contents[index]


def _add_files(files: Files, pod: Object, volume: Object, name: str, found: dict[str, bytes]) -> None:
    """A volume of these files: of the kind that `volume` has, as an object of its own, or a projected one."""
    kind, sources = _list_sources(volume)
    settings = {key: value for key, value in volume[kind].items() if key == "defaultMode"}
    if kind not in _KINDS:
        files.projected[name] = _build_config_map(name, pod, found)
        files.volumes[name] = {"name": name, "projected": settings | {"sources": sources}}
        return
    meta = pod["metadata"]
    own = join_limited([meta["name"], name], digest(meta["uid"], name))
    if kind == "secret":
        data = {path: base64.b64encode(content).decode() for path, content in found.items()}
        owner = {"name": own, "namespace": meta["namespace"]}
        files.secrets[own] = {"apiVersion": "v1", "kind": "Secret", "metadata": owner, "data": data}
    else:
        files.config_maps[own] = _build_config_map(own, pod, found)
    files.volumes[name] = {"name": name, kind: settings | {_NAME_KEYS[_KINDS[kind]]: own}}


def _list_sources(volume: Object) -> tuple[str, list[Object]]:
    """The volume's kind, and its content as the sources of a projected one."""
    (kind,) = _OF_FILES.intersection(volume)
    source = volume[kind]
    if kind == "projected":
        return kind, source.get("sources") or []
    if kind in _KINDS:
        source = {"name": source[_NAME_KEYS[_KINDS[kind]]]} | {key: source[key] for key in ("items", "optional") if key in source}
    return kind, [{kind: source}]


def trim_object(kind: str, obj: Object) -> Object:
    """A ConfigMap or Secret with its content and its name, and without what only API servers need."""
    meta = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
    content = {key: obj[key] for key in ("data", "binaryData", "stringData", "type") if obj.get(key)}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **content}


def _add_object(files: Files, volume: Object, kind: str, inputs: Inputs) -> Object:
    """The volume as it is sent: an optional one without its object is empty."""
    source, name = volume[kind], volume[kind][_NAME_KEYS[_KINDS[kind]]]
    found = find_object(_KINDS[kind], name, inputs, optional=bool(source.get("optional")))
    if found is None:
        return {"name": volume["name"], "emptyDir": {}}
    into = files.secrets if kind == "secret" else files.config_maps
    into[name] = trim_object(_KINDS[kind], found)
    return volume


def _project(pod: Object, volume: Object, inputs: Inputs, where: str) -> Iterator[tuple[str, bytes]]:
    """File names and contents. Later sources override earlier ones, as on a kubelet."""
    name = volume["name"]
    for index, source in enumerate(_list_sources(volume)[1]):
        for path, content in _read_source(pod, name, source, inputs, f"{where}.projected.sources[{index}]"):
            if "/" in path:
                raise InvalidInput(f"`{where}` (volume '{name}') may not have the file '{path}': interLink carries no folders")
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

"""A pod's volumes as files on the machine."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devcluster.plugin.refusals import Refused, volume_type
from devcluster.plugin.spec import Folders, safe_path
from nestor.api.objects import Object

DEFAULT_MODE = 0o644
DATA = {"configMap": "configMaps", "secret": "secrets", "projected": "projectedvolumemaps"}
"""Where the objects of a kind of volume are in the data of a `/create`."""


@dataclass(frozen=True)
class File:
    """One file of a volume."""

    content: bytes
    mode: int = DEFAULT_MODE


def collect(groups: Iterable[Object]) -> Object:
    """The data of a `/create`, which comes grouped by container, as one: kind → name → object."""
    found: dict[str, dict[str, Object]] = {name: {} for name in DATA.values()}
    for group in groups:
        for kind, objects in found.items():
            for item in group.get(kind) or []:
                objects[(item.get("metadata") or {}).get("name") or ""] = item
    return found


def object_name(volume: Object) -> str:
    """Name of the object that holds a volume's files. A projected volume's has the volume's name."""
    kind = volume_type(volume)
    source = volume.get(kind) or {}
    return str({"configMap": source.get("name"), "secret": source.get("secretName")}.get(kind) or volume["name"])


def files(volume: Object, data: Mapping[str, Mapping[str, Object]]) -> dict[str, File]:
    """The files of a volume by their paths; none for an `emptyDir`. Raises `Refused` when its object was not sent,
    though the volume is not optional, or has not what the volume names."""
    kind = volume_type(volume)
    if kind == "emptyDir":
        return {}
    source = volume.get(kind) or {}
    item = data[DATA[kind]].get(object_name(volume))
    is_optional = bool(source.get("optional"))
    if item is None:
        if is_optional:
            return {}
        raise Refused(f"the data of volume '{volume['name']}', {kind} '{object_name(volume)}', was not sent")
    return _choose(source, _content(item, is_secret=kind == "secret"), volume["name"], is_optional=is_optional)


def _choose(source: Object, content: Mapping[str, bytes], volume: str, *, is_optional: bool) -> dict[str, File]:
    mode = source.get("defaultMode")
    default = DEFAULT_MODE if mode is None else int(mode)
    if not source.get("items"):
        return {safe_path(key): File(value, default) for key, value in content.items()}
    found = {}
    for item in source["items"]:
        if item["key"] in content:
            chosen = item.get("mode")
            found[safe_path(item["path"])] = File(content[item["key"]], default if chosen is None else int(chosen))
        elif not is_optional:
            raise Refused(f"volume '{volume}' names the key '{item['key']}', which was not sent")
    return found


def _content(item: Object, *, is_secret: bool) -> dict[str, bytes]:
    plain = item.get("stringData" if is_secret else "data") or {}
    encoded = item.get("data" if is_secret else "binaryData") or {}
    try:
        found = {key: base64.b64decode(value, validate=True) for key, value in encoded.items()}
    except (binascii.Error, ValueError) as error:
        raise Refused(f"a value of '{(item.get('metadata') or {}).get('name')}' is not base64") from error
    return {**found, **{key: value.encode() for key, value in plain.items()}}


def write(pod: Object, data: Mapping[str, Mapping[str, Object]], folders: Folders) -> None:
    """Make a pod's folders and files. Raises `Refused` as `files` does, and makes nothing. A volume that nobody mounts needs no
    data."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    containers = [*(spec.get("initContainers") or []), *spec["containers"]]
    mounted = {mount["name"] for container in containers for mount in container.get("volumeMounts") or []}
    content = {volume["name"]: files(volume, data) for volume in spec.get("volumes") or [] if volume["name"] in mounted}
    for volume_name, files_of_volume in content.items():
        home = folders.volumes / volume_name
        home.mkdir(parents=True, exist_ok=True)
        # Any user of a container may write here, as in a kubelet's.
        home.chmod(0o777)
        for path, file in files_of_volume.items():
            place = home / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.content)
            place.chmod(file.mode)
    for folder in (folders.etc, folders.logs):
        folder.mkdir(parents=True, exist_ok=True)
    (folders.etc / "hosts").write_text(f"127.0.0.1\tlocalhost\n127.0.0.1\t{spec.get('hostname') or name}\n")
    (folders.etc / "resolv.conf").write_text("")
    for container in containers:
        message = folders.message(container["name"])
        message.parent.mkdir(exist_ok=True)
        message.touch()
        message.chmod(0o666)
        _make_sub_paths(container, folders)


def _make_sub_paths(container: Object, folders: Folders) -> None:
    for mount in container.get("volumeMounts") or []:
        place = folders.volumes / mount["name"] / safe_path(mount.get("subPath") or "")
        if not place.exists():
            place.mkdir(parents=True)
            place.chmod(0o777)

"""The downward API: a pod reads the fields of its nested pod, which annotations of the host pod carry.

When labels or annotations change, their copies are updated too, so mounted files follow as on any kubelet. The copies are
limited: every watcher of host pods would have to keep them.
"""

import re
from collections.abc import Iterator

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.pods.translate.container_status import list_containers

LIMIT = 32 * 1024
"""Characters that all copies of one pod may have. What does not fit, in the order of its keys, is left out."""

PREFIX = f"downward.{labels.GROUP}/"

_FIXED = {
    "metadata.name": labels.NESTED_NAME,
    "metadata.namespace": labels.NESTED_NAMESPACE,
    "metadata.uid": labels.NESTED_UID,
    "metadata.labels": PREFIX + "labels",
    "metadata.annotations": PREFIX + "annotations",
    "spec.serviceAccountName": PREFIX + "service-account",
}
_ENTRY = re.compile(r"^metadata\.(labels|annotations)\['(.*)'\]$")

_ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\""}


def host_path(path: str) -> str:
    """The field of the host pod that carries field `path` of the nested pod."""
    annotation = _annotation(path)
    return path if annotation is None else f"metadata.annotations['{annotation}']"


def host_field_ref(source: Object) -> Object:
    return {"apiVersion": "v1", "fieldPath": host_path(source["fieldPath"])}


def build_annotations(pod: Object) -> dict[str, str]:
    """The annotations that the host pod needs for the fields that this pod reads, except its name, namespace and UID."""
    paths = {annotation: path for path in _paths(pod["spec"]) if (annotation := _annotation(path))}
    found: dict[str, str] = {}
    room = LIMIT
    for annotation in sorted(item for item in paths if item.startswith(PREFIX)):
        found[annotation] = _fit(read_lines(paths[annotation], pod), room)
        room -= len(found[annotation])
    return found


def _fit(lines: list[str], room: int) -> str:
    """The lines that have room, none of them cut."""
    kept = []
    for line in lines:
        if len(line) + 1 <= room:
            kept.append(line)
            room -= len(line) + 1
    return "\n".join(kept)


def _quote(value: str) -> str:
    """`value` in double quotes, escaped like Go's `%q`, as kubelets write downward API files."""
    return '"' + "".join(_escape(char) for char in value) + '"'


def _annotation(path: str) -> str | None:
    if path in _FIXED:
        return _FIXED[path]
    entry = _ENTRY.match(path)
    return f"{PREFIX}{entry[1]}-{names.digest(entry[2])}" if entry else None


def read_lines(path: str, pod: Object) -> list[str]:
    """What one of these fields says; one entry for each line of a file that lists all labels or annotations."""
    meta = pod["metadata"]
    if path == "spec.serviceAccountName":
        return [str(pod["spec"].get("serviceAccountName") or "default")]
    if entry := _ENTRY.match(path):
        return [str((meta.get(entry[1]) or {}).get(entry[2], ""))]
    whole = meta.get(path.partition(".")[2]) or {}
    return [f"{key}={_quote(whole[key])}" for key in sorted(whole)]


def _paths(spec: Object) -> Iterator[str]:
    for _, container in list_containers(spec):
        sources = (variable.get("valueFrom") or {} for variable in container.get("env") or [])
        yield from (source["fieldRef"]["fieldPath"] for source in sources if source.get("fieldRef"))
    for volume in spec.get("volumes") or []:
        parts = [volume, *((volume.get("projected") or {}).get("sources") or [])]
        items = [item for part in parts for item in (part.get("downwardAPI") or {}).get("items") or []]
        yield from (item["fieldRef"]["fieldPath"] for item in items if item.get("fieldRef"))


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

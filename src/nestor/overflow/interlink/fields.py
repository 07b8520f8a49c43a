"""What `fieldRef` and `resourceFieldRef` say: fields of the pod itself. Pure."""

from __future__ import annotations

import math
import re

from nestor.api.objects import Object, annotations_of, labels_of, status_of
from nestor.api.quantities import parse_quantity
from nestor.pods.providers.errors import InvalidInput

_ENTRY = re.compile(r"^metadata\.(labels|annotations)\['(.*)'\]$")
_META = {"metadata.name": "name", "metadata.namespace": "namespace", "metadata.uid": "uid"}
_SPEC = {"spec.nodeName": "nodeName", "spec.serviceAccountName": "serviceAccountName"}
_ADDRESS = {"status.hostIP": "hostIP", "status.podIP": "podIP"}
_ADDRESSES = {"status.hostIPs": "hostIPs", "status.podIPs": "podIPs"}


def read_field(pod: Object, path: str, where: str) -> str:
    """The text of one field. Raises `InvalidInput`, naming `where`, for one that is not known before the pod runs."""
    if path in _META:
        return str(pod["metadata"].get(_META[path], ""))
    if path in _SPEC:
        return str(pod["spec"].get(_SPEC[path], ""))
    if entry := _ENTRY.match(path):
        return str((labels_of if entry[1] == "labels" else annotations_of)(pod).get(entry[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        items = (labels_of if path.endswith("labels") else annotations_of)(pod)
        return "\n".join(f"{key}={_quote(items[key])}" for key in sorted(items))
    if found := status_of(pod).get(_ADDRESS.get(path, "")):
        return str(found)
    if found := status_of(pod).get(_ADDRESSES.get(path, "")):
        return ",".join(str(item.get("ip", "")) for item in found)
    raise InvalidInput(f"`{where}.fieldRef` may not be '{path}': an interLink backend does not tell it before the pod runs")


def read_resource(pod: Object, source: Object, container: Object, where: str) -> str:
    """The container's own request or limit, in units of `divisor`. Raises `InvalidInput`, naming `where`, if it has none."""
    group = [*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]]
    named = next((item for item in group if item["name"] == source.get("containerName")), container)
    kind, _, resource = source["resource"].partition(".")
    amounts = named.get("resources") or {}
    amount = (amounts.get(kind) or {}).get(resource)
    if amount is None and kind == "requests":
        amount = (amounts.get("limits") or {}).get(resource)
    if amount is None:
        raise InvalidInput(f"`{where}.resourceFieldRef` needs `resources.{source['resource']}`: the node's own size is not known")
    divisor = str(source.get("divisor") or "1")
    unit = parse_quantity("1" if divisor == "0" else divisor)
    return str(math.ceil(parse_quantity(str(amount)) / unit))


def _quote(value: str) -> str:
    return '"' + value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") + '"'

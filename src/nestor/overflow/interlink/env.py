"""A container's environment, fully resolved: interLink carries names and values only. Pure."""

import base64
import binascii
import math
import re

from nestor.api.objects import Object, status_of
from nestor.api.quantities import parse_quantity
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import InvalidInput, NotYet
from nestor.pods.translate import downward

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_PLAIN = ("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName")
_ADDRESSES = ("status.hostIP", "status.podIP", "status.hostIPs", "status.podIPs")


def build_env(pod: Object, container: Object, inputs: Inputs, where: str) -> dict[str, str]:
    """All variables, in the order in which later ones override earlier ones on a kubelet.

    Raises `NotYet` for an object or key that does not exist yet, `InvalidInput` for a field that is not known here.
    """
    result = dict(inputs.environment)
    for source in container.get("envFrom") or []:
        result |= _from_object(source, inputs)
    for index, variable in enumerate(container.get("env") or []):
        source = variable.get("valueFrom")
        if source:
            value = _from_source(pod, container, source, inputs, f"{where}.env[{index}].valueFrom")
        else:
            value = expand(str(variable.get("value") or ""), result)
        if value is not None:
            result[variable["name"]] = value
    return result


def expand(text: str, variables: dict[str, str]) -> str:
    """`text` with `$(NAME)` replaced. `$$` is a `$`; a name that is not known stays as it is."""

    def replace(match: re.Match[str]) -> str:
        return "$" if match[1] is None else variables.get(match[1], match[0])

    return _REFERENCE.sub(replace, text)


def read_data(kind: str, obj: Object) -> dict[str, bytes]:
    """The files of a ConfigMap or Secret, by key. Raises `InvalidInput` for data that is not base64."""
    encoded = obj.get("data") if kind == "Secret" else obj.get("binaryData")
    plain = (obj.get("stringData") if kind == "Secret" else obj.get("data")) or {}
    try:
        result = {key: base64.b64decode(value or "", validate=True) for key, value in (encoded or {}).items()}
    except binascii.Error:
        raise InvalidInput(f"{kind} '{obj['metadata']['name']}' must have base64 data") from None
    return result | {key: str(value).encode() for key, value in plain.items()}


def find_object(kind: str, name: str, inputs: Inputs, *, optional: bool) -> Object | None:
    """A ConfigMap or Secret. Raises `NotYet` if there is none and it is not optional."""
    found = (inputs.secrets if kind == "Secret" else inputs.config_maps).get(name)
    if found is None and not optional:
        raise NotYet(f"{kind} '{name}' does not exist")
    return found


def _from_object(source: Object, inputs: Inputs) -> dict[str, str]:
    kind, reference = ("Secret", source["secretRef"]) if source.get("secretRef") else ("ConfigMap", source["configMapRef"])
    found = find_object(kind, reference["name"], inputs, optional=bool(reference.get("optional")))
    prefix = source.get("prefix") or ""
    files = read_data(kind, found) if found else {}
    return {prefix + key: value.decode(errors="replace") for key, value in files.items() if "=" not in prefix + key}


def _from_source(pod: Object, container: Object, source: Object, inputs: Inputs, where: str) -> str | None:
    if field := source.get("fieldRef"):
        return read_field(pod, field["fieldPath"], where)
    if resource := source.get("resourceFieldRef"):
        return read_resource(pod, resource, container, where)
    kind, reference = (
        ("Secret", source["secretKeyRef"]) if source.get("secretKeyRef") else ("ConfigMap", source["configMapKeyRef"])
    )
    is_optional = bool(reference.get("optional"))
    found = find_object(kind, reference["name"], inputs, optional=is_optional)
    value = read_data(kind, found).get(reference["key"]) if found else None
    if value is None and not is_optional:
        raise NotYet(f"{kind} '{reference['name']}' has no key '{reference['key']}'")
    return None if value is None else value.decode(errors="replace")


def read_field(pod: Object, path: str, where: str) -> str:
    """The text of one field. Raises `InvalidInput`, naming `where`, for one that is not known before the pod runs."""
    part, _, name = path.partition(".")
    if path in _PLAIN:
        return str(pod[part].get(name, ""))
    if path.startswith(("metadata.labels", "metadata.annotations")):
        return "\n".join(downward.read_lines(path, pod))
    if path in _ADDRESSES and (found := status_of(pod).get(name)):
        return found if isinstance(found, str) else ",".join(str(item.get("ip", "")) for item in found)
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

"""A container's environment, fully resolved: interLink carries names and values only. Pure."""

from __future__ import annotations

import base64
import binascii
import re

from nestor.api.objects import Object
from nestor.overflow.interlink.fields import read_field, read_resource
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import InvalidInput, NotYet

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


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

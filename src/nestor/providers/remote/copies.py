"""The copies that a pod has in another cluster: of ConfigMaps, Secrets, tokens and variables. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator

from nestor import names
from nestor.objects import Object, owner_reference
from nestor.providers.base import Inputs, NotYet
from nestor.providers.remote.build import build_marks, links_name
from nestor.providers.remote.settings import Settings
from nestor.translate import volumes
from nestor.translate.config import carry
from nestor.translate.references import CONFIG_MAPS, SECRETS, find_references, find_required

_KINDS = {CONFIG_MAPS: "ConfigMap", SECRETS: "Secret"}
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def build_copies(pod: Object, inputs: Inputs, settings: Settings) -> list[Object]:
    """Everything that the pod refers to, not yet owned by anyone. Raises `NotYet` if something is missing."""
    found = list(_build_all(pod, inputs))
    marks = build_marks(pod, settings)
    for copy in found:
        copy["metadata"] |= {"namespace": settings.namespace, "labels": marks}
    return found


def has_links(inputs: Inputs) -> bool:
    """Whether the pod has variables that come from nowhere else."""
    return any(_KEY.fullmatch(key) for key in inputs.environment)


def digest(copies: list[Object]) -> str:
    """What tells whether the copies have changed."""
    return names.digest(json.dumps(copies, sort_keys=True), length=32)


def own(copy: Object, there: Object) -> Object:
    """The copy, to be removed with the pod there."""
    meta = there["metadata"]
    return copy | {"metadata": copy["metadata"] | {"ownerReferences": [owner_reference("v1", "Pod", meta["name"], meta["uid"])]}}


def _build_all(pod: Object, inputs: Inputs) -> Iterator[Object]:
    uid, required = pod["metadata"]["uid"], find_required(pod)
    for item in sorted(find_references(pod)):
        kind = _KINDS[item.resource]
        original = (inputs.secrets if kind == "Secret" else inputs.config_maps).get(item.name)
        if original is not None:
            yield _build(kind, names.remote_input(item.name, uid)) | carry(original, kind)
        elif item in required:
            raise NotYet(f"{kind} '{item.name}' does not exist")
    if has_links(inputs):
        variables = {key: value for key, value in inputs.environment.items() if _KEY.fullmatch(key)}
        yield _build("ConfigMap", links_name(pod)) | {"data": variables}
    if tokens := volumes.find_tokens(pod):
        data = {token.key: _encode(inputs, token) for token in tokens}
        yield _build("Secret", volumes.token_secret_name(pod)) | {"type": "Opaque", "data": data}


def _encode(inputs: Inputs, token: volumes.Token) -> str:
    found = inputs.tokens.get((token.volume, token.path))
    if found is None:
        raise NotYet(f"volume '{token.volume}' has no service account token yet")
    return base64.b64encode(found.encode()).decode()


def _build(kind: str, name: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}

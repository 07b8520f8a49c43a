"""The copies that a pod has in another cluster: of ConfigMaps, Secrets, tokens and variables. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator

from nestor.api import names
from nestor.api.objects import Object, owner_reference
from nestor.overflow.remote.build import build_marks, links_name
from nestor.overflow.remote.settings import Settings
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import NotYet
from nestor.pods.translate import volumes
from nestor.pods.translate.config import CONFIG_MAPS, SECRETS, carry, find_references, find_required

_KINDS = {CONFIG_MAPS: "ConfigMap", SECRETS: "Secret"}
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def build_copies(pod: Object, inputs: Inputs, settings: Settings, *, is_complete: bool = True) -> list[Object]:
    """Everything that the pod refers to, not yet owned by anyone.

    `is_complete`: raise `NotYet` if something is missing; otherwise, leave it out.
    """
    found = list(_build_all(pod, inputs, is_complete=is_complete))
    marks = build_marks(pod, settings)
    for copy in found:
        copy["metadata"] |= {"namespace": settings.namespace, "labels": marks}
    return found


def has_links(inputs: Inputs) -> bool:
    """Whether the pod has variables that come from nowhere else."""
    return any(_KEY.fullmatch(key) for key in inputs.environment)


def digest(copies: list[Object]) -> str:
    return names.digest(json.dumps(copies, sort_keys=True), length=32)


def own(copy: Object, there: Object) -> Object:
    """The copy, to be removed with the pod there."""
    meta = there["metadata"]
    return copy | {"metadata": copy["metadata"] | {"ownerReferences": [owner_reference("v1", "Pod", meta["name"], meta["uid"])]}}


def _build_all(pod: Object, inputs: Inputs, *, is_complete: bool) -> Iterator[Object]:
    uid, required = pod["metadata"]["uid"], find_required(pod)
    for item in sorted(find_references(pod)):
        kind = _KINDS[item.resource]
        original = (inputs.secrets if kind == "Secret" else inputs.config_maps).get(item.name)
        if original is not None:
            yield _build(kind, names.remote_input(item.name, uid)) | carry(original, kind)
        elif item in required and is_complete:
            raise NotYet(f"{kind} '{item.name}' does not exist")
    if has_links(inputs):
        variables = {key: value for key, value in inputs.environment.items() if _KEY.fullmatch(key)}
        yield _build("ConfigMap", links_name(pod)) | {"data": variables}
    tokens = volumes.find_tokens(pod)
    missing = [token for token in tokens if (token.volume, token.path) not in inputs.tokens]
    if missing and is_complete:
        raise NotYet(f"volume '{missing[0].volume}' has no service account token yet")
    if tokens and not missing:
        data = {token.key: inputs.tokens[token.volume, token.path] for token in tokens}
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
        yield _build("Secret", volumes.token_secret_name(pod)) | {"type": "Opaque", "data": encoded}


def _build(kind: str, name: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}

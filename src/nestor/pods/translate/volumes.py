"""Translates volumes. ConfigMaps and Secrets get their host names; service account tokens come from a Secret of the syncer,
and claims are those that pods name, and those that are made for them (generic ephemeral volumes).
"""

from dataclasses import dataclass, field
from functools import partial

from nestor.api import names
from nestor.api.images import name_on_host
from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.pods.translate import downward, fields
from nestor.pods.translate.env import Rename
from nestor.pods.translate.fields.rule import POD_SECURITY
from nestor.pods.translate.fields.volumes import TABLES, VOLUME

DEFAULT_EXPIRATION = 3600
"""Default `expirationSeconds` of a projected token, as in the Kubernetes API."""

_VERBATIM = tuple(kind for kind in fields.find(VOLUME, "Pass") if kind != "name")
_PRIVILEGED = fields.find(VOLUME, "Class", POD_SECURITY.note)


_OF_FILE = fields.find(TABLES["ServiceAccountTokenProjection"], "Pass")


def find_verbatim(policy: Policy) -> tuple[str, ...]:
    """The kinds of volumes that the host pod has as they are."""
    return (*_VERBATIM, *_PRIVILEGED) if policy.pod_security == "Privileged" else _VERBATIM


@dataclass(frozen=True)
class Token:
    """A projected service account token of a pod. `key` is its key in the pod's token Secret."""

    key: str
    audience: str
    expiration_seconds: int
    volume: str = field(default="", compare=False)
    path: str = field(default="", compare=False)
    """Where the pod has it: the volume's name, and the file in it."""


def find_tokens(pod: Object) -> list[Token]:
    return [
        Token(
            _key(number, index),
            token.get("audience") or "",
            token.get("expirationSeconds") or DEFAULT_EXPIRATION,
            volume["name"],
            token["path"],
        )
        for number, volume in enumerate(pod["spec"].get("volumes") or [])
        for index, source in enumerate((volume.get("projected") or {}).get("sources") or [])
        if (token := source.get("serviceAccountToken"))
    ]


def token_secret_name(pod: Object) -> str:
    """Name of the host Secret with this pod's tokens. It includes the UID: a successor has another Secret."""
    meta = pod["metadata"]
    return names.join_limited([meta["name"], meta["namespace"]], names.digest(meta["uid"]) + "-token", separator="-x-")


def build_volumes(pod: Object, policy: Policy, rename: Rename | None = None) -> list[Object]:
    """The host pod's volumes. Call only after `refusals` has ruled out unsupported types.

    `rename`: how the copies of ConfigMaps and Secrets are called, if not as in the host cluster.
    """
    name = rename or partial(names.host_name, namespace=pod["metadata"]["namespace"])
    return [_build_volume(pod, number, volume, policy, name) for number, volume in enumerate(pod["spec"].get("volumes") or [])]


def _build_volume(pod: Object, number: int, volume: Object, policy: Policy, rename: Rename) -> Object:
    result: Object = {"name": volume["name"]}
    for kind in find_verbatim(policy):
        if kind in volume:
            result[kind] = volume[kind]
    if image := result.get("image"):
        named = {"reference": name_on_host(image["reference"], policy.allowed_images)} if "reference" in image else {}
        result["image"] = image | named | ({"pullPolicy": "Always"} if policy.always_pull_images else {})
    if source := volume.get("configMap"):
        result["configMap"] = source | {"name": rename(source["name"])}
    if source := volume.get("secret"):
        result["secret"] = source | {"secretName": rename(source["secretName"])}
    if claim := find_claim(pod, volume):
        # An ephemeral volume's claim is the nested cluster's to make, and is carried like any other.
        result["persistentVolumeClaim"] = (volume.get("persistentVolumeClaim") or {}) | {"claimName": rename(claim)}
    if source := volume.get("downwardAPI"):
        result["downwardAPI"] = _downward(source)
    if source := volume.get("projected"):
        # An empty source is valid and is dropped; the others keep their index, which is part of the tokens' keys.
        sources = [_project(pod, (number, index), item, rename) for index, item in enumerate(source.get("sources") or []) if item]
        result["projected"] = source | {"sources": sources}
    return result


def _project(pod: Object, place: tuple[int, int], source: Object, rename: Rename) -> Object:
    for kind in ("configMap", "secret"):
        if part := source.get(kind):
            return {kind: part | {"name": rename(part["name"])}}
    if "downwardAPI" in source:
        return {"downwardAPI": _downward(source["downwardAPI"])}
    token = source["serviceAccountToken"]
    item = {"key": _key(*place), **{field: token[field] for field in _OF_FILE if field in token}}
    return {"secret": {"name": token_secret_name(pod), "items": [item]}}


def _downward(source: Object) -> Object:
    items = [
        item | {"fieldRef": downward.host_field_ref(item["fieldRef"])} if item.get("fieldRef") else item
        for item in source.get("items") or []
    ]
    return source | {"items": items}


def _key(number: int, index: int) -> str:
    return f"token-{number}-{index}"


NO_VOLUMES = "the class allows no persistent volumes (`storage.classes`)"
NO_SNAPSHOTS = "the class allows no snapshots (`storage.snapshotClasses`)"
NO_BLOCK_VOLUMES = "the class allows no block volumes (`storage.blockVolumes`)"


def find_claims(pod: Object) -> list[str]:
    """The names of the claims that the pod uses; they are in its namespace."""
    found = (find_claim(pod, volume) for volume in pod["spec"].get("volumes") or [])
    return [name for name in found if name]


def find_claim(pod: Object, volume: Object) -> str | None:
    """The name of the claim that a volume is. None for volumes of other types."""
    if source := volume.get("persistentVolumeClaim"):
        return str(source["claimName"])
    return f"{pod['metadata']['name']}-{volume['name']}" if volume.get("ephemeral") else None

"""StorageClasses, claims and volumes: what of them is carried to the other cluster. Pure."""

import json
from collections.abc import Iterator
from typing import Any

from nestor.api import labels, names
from nestor.api.allowances import Storage
from nestor.api.objects import Object, annotations_of, labels_of, spec_of, status_of
from nestor.api.quantities import find_larger
from nestor.pods.translate import fields, messages
from nestor.pods.translate.fields.volumes import CLAIM_SPEC
from nestor.pods.translate.target import Target, nested_key, nested_uid
from nestor.pods.translate.volumes import NO_BLOCK_VOLUMES, NO_SNAPSHOTS, NO_VOLUMES

PROVISIONER = f"host.{labels.GROUP}"
"""Provisioner and driver in the nested cluster: the host cluster's, of which it knows nothing, does the work."""
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
HOST_PROVISIONER = f"{labels.GROUP}/host-provisioner"
"""Annotation of a nested StorageClass: the provisioner of the host's."""
SNAPSHOT_GROUP = "snapshot.storage.k8s.io"
SNAPSHOT = "VolumeSnapshot"

UP = {labels.MANAGED_BY: "nestor"}
"""Labels of what the nested cluster has from the host."""
_LIFTED = ("capacity", "conditions", "allocatedResources", "allocatedResourceStatuses")
_SOURCES = (("", "PersistentVolumeClaim"), (SNAPSHOT_GROUP, SNAPSHOT))
_CARRIED = (*fields.find(CLAIM_SPEC, "Pass"), *fields.find(CLAIM_SPEC, "Class"))


def build_class(host: Object, storage: Storage) -> Object:
    """The nested StorageClass. Without parameters, which may name Secrets of the host and mean nothing here."""
    name = host["metadata"]["name"]
    notes = {HOST_PROVISIONER: host["provisioner"]}
    if name == storage.default:
        notes[DEFAULT_CLASS] = "true"
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "labels": dict(UP), "annotations": notes},
        "provisioner": PROVISIONER,
        "reclaimPolicy": host.get("reclaimPolicy", "Delete"),
        "volumeBindingMode": host.get("volumeBindingMode", "Immediate"),
        "allowVolumeExpansion": bool(host.get("allowVolumeExpansion")),
    }


def find_refusals(claim: Object, storage: Storage, *, is_own_class: bool) -> Iterator[str]:
    """Why a claim gets no volume of the host cluster. `is_own_class`: its StorageClass is the tenant's own."""
    spec = claim["spec"]
    name = spec.get("storageClassName")
    known = ", ".join(f"'{item}'" for item in storage.classes)
    allowed = f"the class allows {known}" if known else NO_VOLUMES
    if volume := spec.get("volumeName"):
        yield (
            f"`spec.volumeName` is '{volume}', but the host cluster has no volume for this claim: if there was one, it is gone; "
            "delete the claim and create it again without `spec.volumeName`"
        )
    elif not name:
        yield f"`spec.storageClassName` is not set, and volumes that are made by hand are not the host cluster's: {allowed}"
    elif name not in storage.classes:
        yield f"`spec.storageClassName` may not be '{name}': {allowed}"
    elif is_own_class:
        yield f"StorageClass '{name}' of this cluster is not the host cluster's: delete it, and Nestor creates the host's"
    if spec.get("volumeMode") == "Block" and not storage.block_volumes:
        yield f"`spec.volumeMode` may not be 'Block': {NO_BLOCK_VOLUMES}"
    for field in fields.find(CLAIM_SPEC, "Refuse"):
        if spec.get(field):
            yield f"`spec.{field}` may not be set: {CLAIM_SPEC[field].note}"
    yield from _check_source(spec, storage)


def _check_source(spec: Object, storage: Storage) -> Iterator[str]:
    for field in ("dataSource", "dataSourceRef"):
        source = spec.get(field) or {}
        kind = (source.get("apiGroup") or "", source.get("kind"))
        if not source or (kind in _SOURCES and not source.get("namespace") and (storage.snapshot_classes or not kind[0])):
            continue
        where = " of another namespace" if source.get("namespace") else ""
        also = "" if storage.snapshot_classes else f"; {NO_SNAPSHOTS}"
        yield (
            f"`spec.{field}` may not be a {source.get('kind')}{where}: a claim may be filled from another claim or from a "
            f"VolumeSnapshot of its namespace{also}"
        )
        return


def find_source_claim(claim: Object) -> str | None:
    """The claim, by name, that a claim is to be filled from; None if it is from none."""
    found = spec_of(claim).get("dataSource") or {}
    return found.get("name") if found.get("kind") == "PersistentVolumeClaim" else None


def build_claim(claim: Object, target: Target, cluster: str, host: Object | None = None) -> Object:
    """The host's claim. `cluster`: identifies the data of the nested cluster (see `is_of_lost_data`). `host`: the claim so far,
    perhaps with the volume of an earlier job: no claim can be made smaller than its volume.
    """
    spec, metadata = claim["spec"], target.metadata(claim)
    metadata["annotations"][labels.NESTED_DATA] = cluster
    wanted: Object = {key: spec[key] for key in _CARRIED if key in spec}
    sizes = dict(_find_sizes(spec))
    if host is not None and labels.VOLUMES_FROM in annotations_of(host):
        sizes["requests"] = find_larger(spec_of(host)["resources"]["requests"]["storage"], sizes["requests"])
    wanted["resources"] = {part: {"storage": size} for part, size in sizes.items()}
    if source := spec.get("dataSource"):
        name = names.host_name(source["name"], claim["metadata"]["namespace"])
        group = {"apiGroup": source["apiGroup"]} if source.get("apiGroup") else {}
        wanted["dataSource"] = group | {"kind": source["kind"], "name": name}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": wanted}


def _find_sizes(spec: Object) -> Iterator[tuple[str, str]]:
    for part in ("requests", "limits"):
        if size := ((spec.get("resources") or {}).get(part) or {}).get("storage"):
            yield part, size


def is_of_lost_data(host: Object, cluster: str) -> bool:
    """Whether a host claim was made for a nested cluster that has lost its data since, and with it its own claim. The volume
    waits for a claim of the same name.
    """
    return annotations_of(host).get(labels.NESTED_DATA) != cluster


def find_misfit(claim: Object, host: Object) -> str | None:
    """Why a nested claim cannot have a host claim with the volume of an earlier job. What it requests more, the host may add."""
    origin, wanted, there = annotations_of(host).get(labels.VOLUMES_FROM), spec_of(claim), spec_of(host)
    if origin is None:
        return None
    found = [key for key in ("storageClassName", "volumeMode") if wanted.get(key) != there.get(key)]
    found += ["accessModes"] if set(wanted["accessModes"]) - set(there["accessModes"]) else []
    if not found:
        return None
    words = ", ".join(f"`spec.{key}: {json.dumps(there.get(key))}`" for key in found)
    return f"the claim gets the volume that job '{origin}' has left, so it must have {words}: delete it and create it again"


def is_bound(claim: Object) -> bool:
    return bool(status_of(claim).get("phase") == "Bound" and spec_of(claim).get("volumeName"))


def build_volume(host: Object) -> Object:
    """The nested PersistentVolume for a host claim that is bound. It has the name of the host's, and is all that the nested
    cluster's binder needs. Nothing is ever done to a volume by way of it.
    """
    spec, status = host["spec"], status_of(host)
    namespace, name = nested_key(host)
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": nested_uid(host)}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": spec["volumeName"], "labels": dict(UP)},
        "spec": {
            "capacity": {"storage": status["capacity"]["storage"]},
            "accessModes": status.get("accessModes") or spec["accessModes"],
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            "storageClassName": spec.get("storageClassName", ""),
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": claim,
            "csi": {"driver": PROVISIONER, "volumeHandle": spec["volumeName"]},
        },
    }


def lift_status(claim: Object, host: Object, target: Target) -> Object | None:
    """A patch that brings what the host says of the volume into the status of a nested claim that is bound; None if it is there.

    The phase is the affair of the nested cluster's own binder.
    """
    meta = claim["metadata"]
    if not is_bound(claim) or not is_bound(host) or nested_uid(host) != meta["uid"]:
        return None
    words = build_words(claim, target)
    said: dict[str, Any] = {key: status_of(host).get(key) or None for key in _LIFTED}
    if said["conditions"]:
        said["conditions"] = [translate_message(item, words) for item in said["conditions"]]
    now = status_of(claim)
    patch = {key: value for key, value in said.items() if value != (now.get(key) or None)}
    return {"status": patch} if patch else None


def translate_message(condition: Object, words: dict[str, str]) -> Object:
    text = condition.get("message")
    return condition | {"message": messages.translate(text, words)} if text else condition


def build_words(claim: Object, target: Target, host: Object | None = None) -> dict[str, str]:
    """Maps the host's names in messages about a claim to what the tenant calls them."""
    meta = claim["metadata"]
    words = {names.host_name(meta["name"], meta["namespace"]): meta["name"], target.namespace: meta["namespace"]}
    return words | ({host["metadata"]["uid"]: meta["uid"]} if host is not None else {})


def is_tenants(found: Object | None) -> bool:
    """Whether there is such an object in the nested cluster, and Nestor has not made it."""
    return found is not None and labels_of(found).get(labels.MANAGED_BY) != "nestor"

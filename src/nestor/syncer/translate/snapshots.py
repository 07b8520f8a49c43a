"""VolumeSnapshots, their classes and contents: what of them is carried to the other cluster. Pure."""

from collections.abc import Iterator
from typing import Any

from nestor.api import names, times
from nestor.api.allowances import Storage
from nestor.api.objects import Object, is_terminating, spec_of, status_of
from nestor.api.quantities import parse_quantity
from nestor.pods.translate import fields
from nestor.pods.translate.fields.volumes import SNAPSHOT_SOURCE, SNAPSHOT_SPEC
from nestor.pods.translate.target import Target, nested_key, nested_uid
from nestor.pods.translate.volumes import NO_SNAPSHOTS
from nestor.syncer.translate.storage import HOST_PROVISIONER, PROVISIONER, SNAPSHOT, SNAPSHOT_GROUP, UP, translate_message

DEFAULT_CLASS = "snapshot.storage.kubernetes.io/is-default-class"
LOST = "The host cluster has no such snapshot any more."

_VERSION = f"{SNAPSHOT_GROUP}/v1"
_LIFTED = ("boundVolumeSnapshotContentName", "creationTime", "readyToUse", "restoreSize", "volumeGroupSnapshotName")


def build_class(host: Object, storage: Storage) -> Object:
    """The nested VolumeSnapshotClass. Without parameters, which may name Secrets of the host and mean nothing here."""
    name = host["metadata"]["name"]
    notes = {HOST_PROVISIONER: host["driver"]} | ({DEFAULT_CLASS: "true"} if name == storage.default_snapshot_class else {})
    return {
        "apiVersion": _VERSION,
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": name, "labels": dict(UP), "annotations": notes},
        "driver": PROVISIONER,
        "deletionPolicy": host["deletionPolicy"],
    }


def find_claim(snapshot: Object) -> str:
    """The name of the claim whose volume it is of; empty if it names none."""
    return str((spec_of(snapshot).get("source") or {}).get("persistentVolumeClaimName") or "")


def find_content(snapshot: Object) -> str | None:
    """The name of its content, once the host has one."""
    return status_of(snapshot).get("boundVolumeSnapshotContentName")


def find_refusals(snapshot: Object, storage: Storage, *, is_own_class: bool) -> Iterator[str]:
    """Why the host makes no snapshot. `is_own_class`: its VolumeSnapshotClass is the tenant's own."""
    spec = spec_of(snapshot)
    name, known = spec.get("volumeSnapshotClassName"), ", ".join(f"'{item}'" for item in storage.snapshot_classes)
    if "spec" not in snapshot:
        yield "the VolumeSnapshot is too large"
        return
    if find_content(snapshot):
        yield (
            "the host cluster has no such snapshot: if there was one, it is gone; delete the VolumeSnapshot and create it again "
            "for a new one"
        )
    elif not known:
        yield NO_SNAPSHOTS
    elif name and name not in storage.snapshot_classes:
        yield f"`spec.volumeSnapshotClassName` may not be '{name}': the class allows {known}"
    elif is_own_class:
        yield (
            f"VolumeSnapshotClass '{name}' of this cluster is not the host cluster's: delete it, and Nestor creates the host's"
        )
    for field in fields.find(SNAPSHOT_SOURCE, "Refuse"):
        if (spec.get("source") or {}).get(field):
            yield f"`spec.source.{field}` may not be set: {SNAPSHOT_SOURCE[field].note}"


def find_ignored(snapshot: Object) -> Iterator[str]:
    spec = spec_of(snapshot)
    yield from fields.find_unknown("spec", spec, SNAPSHOT_SPEC)
    yield from fields.find_unknown("spec.source", spec.get("source") or {}, SNAPSHOT_SOURCE)


def build_snapshot(snapshot: Object, target: Target, cluster: dict[str, str], default: str | None) -> Object:
    """The host's VolumeSnapshot. `cluster`: the annotation that identifies the data of the nested cluster. `default`: the class
    of one that names none.
    """
    metadata = target.metadata(snapshot)
    metadata["annotations"] |= cluster
    claim = names.host_name(find_claim(snapshot), snapshot["metadata"]["namespace"])
    spec: Object = {"source": {"persistentVolumeClaimName": claim}}
    if name := spec_of(snapshot).get("volumeSnapshotClassName") or default:
        spec["volumeSnapshotClassName"] = name
    return {"apiVersion": _VERSION, "kind": SNAPSHOT, "metadata": metadata, "spec": spec}


def lift_status(snapshot: Object, host: Object, target: Target) -> Object | None:
    """A patch that brings what the host says of the snapshot into the nested one's status; None if it is there."""
    if nested_uid(host) != snapshot["metadata"]["uid"] or not status_of(host):
        return None
    own = status_of(host)
    said: dict[str, Any] = {key: own.get(key) for key in _LIFTED}
    said["error"] = translate_message(own["error"], build_words(snapshot, target)) if own.get("error") else None
    now = status_of(snapshot)
    patch = {key: value for key, value in said.items() if value != now.get(key)}
    return {"status": patch} if patch else None


def build_lost(time: str) -> Object:
    """The patch for one whose copy is gone although nobody asked for that here."""
    return {"status": {"readyToUse": False, "error": {"message": LOST, "time": time}}}


def build_words(snapshot: Object, target: Target, host: Object | None = None) -> dict[str, str]:
    """Maps the host's names in messages about a snapshot to what the tenant calls them."""
    meta = snapshot["metadata"]
    space = meta["namespace"]
    words = {names.host_name(name, space): name for name in (meta["name"], find_claim(snapshot)) if name}
    return words | {target.namespace: space} | ({host["metadata"]["uid"]: meta["uid"]} if host is not None else {})


def build_content(host: Object) -> Object:
    """The nested VolumeSnapshotContent for a host snapshot that has one, under the name of the host's. Nothing is ever done to a
    snapshot by way of it.
    """
    name, status = find_content(host), status_of(host)
    namespace, own = nested_key(host)
    ref = {"apiVersion": _VERSION, "kind": SNAPSHOT, "namespace": namespace, "name": own, "uid": nested_uid(host)}
    spec = {"deletionPolicy": "Retain", "driver": PROVISIONER, "source": {"snapshotHandle": name}, "volumeSnapshotRef": ref}
    if chosen := spec_of(host).get("volumeSnapshotClassName"):
        spec["volumeSnapshotClassName"] = chosen
    told: Object = {"snapshotHandle": name, "readyToUse": bool(status.get("readyToUse"))}
    if size := status.get("restoreSize"):
        told["restoreSize"] = int(parse_quantity(str(size)))
    if made := status.get("creationTime"):
        told["creationTime"] = int(times.read(made).timestamp()) * 10**9
    metadata = {"name": name, "labels": dict(UP)}
    return {"apiVersion": _VERSION, "kind": "VolumeSnapshotContent", "metadata": metadata, "spec": spec, "status": told}


def find_source_name(claim: Object) -> str | None:
    """The name of the VolumeSnapshot that a claim is to be filled from."""
    source = spec_of(claim).get("dataSource") or spec_of(claim).get("dataSourceRef") or {}
    return source.get("name") if source.get("kind") == SNAPSHOT else None


def find_refusal_of_source(claim: Object, found: Object | None) -> str | None:
    """Why a claim cannot be filled from its VolumeSnapshot. `found`: the host's of that name, if that is this cluster's own."""
    name = find_source_name(claim)
    if name is None or (found is not None and not is_terminating(found)):
        return None
    return f"VolumeSnapshot '{name}' is not in the host cluster, or is being deleted there"

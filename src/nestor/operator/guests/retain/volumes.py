"""Volumes and snapshots that outlive their job, where its class says so: claims and VolumeSnapshots go, with the namespace or
for a restart, and the PersistentVolumes and VolumeSnapshotContents stay."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping

from nestor.api import labels
from nestor.kube import Api, Kind, NotFound, kinds
from nestor.objects import Object, annotations_of, labels_of, spec_of, status_of
from nestor.operator.lifecycle.data_epoch import OF_APP, list_snapshots

log = logging.getLogger(__name__)

_FIELDS = {kinds.PERSISTENT_VOLUME: "persistentVolumeReclaimPolicy", kinds.VOLUME_SNAPSHOT_CONTENT: "deletionPolicy"}
"""What says what becomes of a thing when its owner goes."""
_FOUND_BY = (labels.JOB, labels.JOB_NAMESPACE, labels.JOB_UID)


def is_retained(namespace: Object) -> bool:
    """Whether the volumes of a job are to stay. Its namespace says so, because job and class may be gone."""
    return labels_of(namespace).get(labels.RETENTION) == "Retain"


async def list_retained(api: Api, namespace: str) -> list[Object]:
    """The volumes and the contents of snapshots that jobs of this namespace, the users' own, have left."""
    found = await api.list(kinds.PERSISTENT_VOLUME, labels=f"{labels.JOB_NAMESPACE}={namespace}")
    try:
        return found + await api.list(kinds.VOLUME_SNAPSHOT_CONTENT, labels=f"{labels.JOB_NAMESPACE}={namespace}")
    except NotFound:
        return found


async def retain_volumes(api: Api, namespace: Object) -> None:
    """Keep the volumes of all claims of the application, and its snapshots. Call it before anything is deleted."""
    # Whose they are, a claim might say falsely: it counts against the limit of what may stay.
    name, own = namespace["metadata"]["name"], labels_of(namespace)
    for claim in await api.list(kinds.PERSISTENT_VOLUME_CLAIM, name, labels=OF_APP):
        volume = spec_of(claim).get("volumeName")
        if not volume:
            continue
        with contextlib.suppress(NotFound):
            found = await api.get(kinds.PERSISTENT_VOLUME, volume)
            # Who may write a claim could name any volume in it; a volume that names the claim is really its own.
            if (spec_of(found).get("claimRef") or {}).get("uid") == claim["metadata"]["uid"]:
                await _retain(api, kinds.PERSISTENT_VOLUME, found, claim, own)
    for snapshot in await list_snapshots(api, name):
        content = status_of(snapshot).get("boundVolumeSnapshotContentName")
        if not content:
            continue
        with contextlib.suppress(NotFound):
            found = await api.get(kinds.VOLUME_SNAPSHOT_CONTENT, content)
            if (spec_of(found).get("volumeSnapshotRef") or {}).get("uid") == snapshot["metadata"]["uid"]:
                await _retain(api, kinds.VOLUME_SNAPSHOT_CONTENT, found, snapshot, own)


async def _retain(api: Api, kind: Kind, found: Object, owner: Object, own: Mapping[str, str]) -> None:
    """`owner`: what it belongs to in the job's namespace, which has the labels `own`."""
    notes, field = annotations_of(owner), _FIELDS[kind]
    marks = {key: own[key] for key in _FOUND_BY if key in own}
    named = {key: notes[key] for key in (labels.NESTED_NAME, labels.NESTED_NAMESPACE) if key in notes}
    meta = found["metadata"]
    if spec_of(found).get(field) == "Retain" and marks.items() <= labels_of(found).items():
        return
    log.info("keeping %s %s of %s/%s", kind.name, meta["name"], owner["metadata"]["namespace"], owner["metadata"]["name"])
    patch = {"metadata": {"uid": meta["uid"], "labels": marks, "annotations": named}, "spec": {field: "Retain"}}
    await api.patch(kind, meta["name"], None, patch)

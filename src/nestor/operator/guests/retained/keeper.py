"""Keeps the volumes and snapshots of jobs whose class says so: claims and VolumeSnapshots go, with the namespace or for a
restart, and the PersistentVolumes and VolumeSnapshotContents stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, spec_of, status_of
from nestor.cluster.home import Home
from nestor.kube import Api, Kind, NotFound, kinds
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.identity import Denial
from nestor.operator.guest import Guest
from nestor.operator.guests.retained.limit import check_retained, find_limit
from nestor.operator.guests.retained.taken import choose_volumes, ensure_claims, find_obstacle, find_origin, reserve
from nestor.operator.lifecycle.data_epoch import OF_APP, list_snapshots
from nestor.operator.world.context import Context


class Retain(Guest):
    """The volumes that stay, and those that an earlier job has left for this one."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._one_by_one = asyncio.Lock()
        """Of two jobs that want the same volumes, one gets all of them."""
        self._settled: set[str] = set()
        """UIDs of jobs that have the claims of all volumes that they wanted."""

    async def begin(self, resolved: Resolved) -> Denial | None:
        """What earlier jobs have left may be too much for one that begins, or what it wants."""
        async with self._one_by_one if find_origin(resolved) else contextlib.nullcontext():
            return await self._begin(resolved)

    async def _begin(self, resolved: Resolved) -> Denial | None:
        name, origin, api = resolved.class_name, find_origin(resolved), self._context.api
        policy = self._context.classes.all().get(name)
        limit = find_limit(policy) if policy else None
        if limit is None and origin is None:
            return None
        left = await list_retained(api, resolved.namespace)
        chosen = choose_volumes(left, origin, resolved.home) if origin else []
        if origin:
            self._settled.discard(resolved.uid)
            former = self._context.cache.jobs.get(origin, resolved.namespace)
            if denial := find_obstacle(resolved, chosen, left, former):
                return denial
        others = [item for item in left if item not in chosen and not self._is_in_use(item)]
        if limit is not None and (denial := check_retained(resolved.namespace, name, limit, others)):
            return denial
        return await reserve(api, chosen, origin, resolved.home) if origin else None

    def _is_in_use(self, left: Object) -> bool:
        """Whether a job that wanted it has it."""
        marks = labels_of(left)
        job = self._context.cache.jobs.get(marks.get(labels.JOB, ""), marks[labels.JOB_NAMESPACE])
        if job is None or is_terminating(job) or job["metadata"]["uid"] != marks.get(labels.JOB_UID):
            return False
        return labels.VOLUMES_FROM in annotations_of(left) and status_of(left).get("phase") in ("Available", "Bound")

    async def ensure(self, resolved: Resolved, home: Home) -> None:
        if find_origin(resolved) and resolved.uid not in self._settled and await ensure_claims(self._context.api, home):
            self._settled.add(resolved.uid)

    async def spare(self, namespace: Object) -> None:
        if is_retained(namespace):
            await retain_volumes(self._context.api, namespace)

    def forget(self, uid: str) -> None:
        self._settled.discard(uid)


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

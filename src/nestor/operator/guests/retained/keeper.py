"""Keeps the volumes and snapshots of jobs whose class says so: claims and VolumeSnapshots go, with the namespace or for a
restart, and the PersistentVolumes and VolumeSnapshotContents stay.

No job begins while those of its namespace have left too much: who may create and delete jobs could fill the storage of all.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from decimal import Decimal

from nestor.api import conditions, labels
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, spec_of, status_of
from nestor.api.quantities import parse_quantity
from nestor.cluster.home import Home
from nestor.kube import Api, Kind, NotFound, kinds
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.checks import find_most
from nestor.operator.admission.identity import Denial
from nestor.operator.guest import Guest
from nestor.operator.guests.retained.taken import choose_volumes, ensure_claims, find_obstacle, find_origin, reserve
from nestor.operator.lifecycle.data_epoch import OF_APP, list_snapshots
from nestor.operator.world.context import Context

log = logging.getLogger(__name__)

LIMIT_SECONDS = 60.0
"""How soon to look again: volumes are not watched."""
_LEAST = Decimal(2**30)
"""What a volume counts at least: there are as many objects, at a storage system too, as there are volumes, however small."""
_FIELDS = {
    kinds.PERSISTENT_VOLUME: ("claimRef", "persistentVolumeReclaimPolicy"),
    kinds.VOLUME_SNAPSHOT_CONTENT: ("volumeSnapshotRef", "deletionPolicy"),
}
"""What says whose a thing is, and what becomes of it when its owner goes."""
_FOUND_BY = (labels.JOB, labels.JOB_NAMESPACE, labels.JOB_UID)


class Retain(Guest):
    """The volumes that stay, and those that an earlier job has left for this one."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._one_by_one = asyncio.Lock()
        """Of two jobs that want the same volumes, one gets all of them."""

    async def begin(self, resolved: Resolved) -> Denial | None:
        """What earlier jobs have left may be too much for one that begins, or what it wants."""
        name, origin, api = resolved.class_name, find_origin(resolved), self._context.api
        policy = self._context.classes.all().get(name)
        limit = find_limit(policy) if policy else None
        if limit is None and origin is None:
            return None
        async with self._one_by_one if origin else contextlib.nullcontext():
            left = await list_retained(api, resolved.namespace)
            chosen = choose_volumes(left, origin, resolved.home) if origin else []
            if origin:
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
        if find_origin(resolved):
            await ensure_claims(self._context.api, home)

    async def spare(self, namespace: Object) -> None:
        """If its namespace says so, because job and class may be gone."""
        if labels_of(namespace).get(labels.RETENTION) == "Retain":
            await retain_volumes(self._context.api, namespace)


def find_limit(policy: NestedClassSpec) -> str | None:
    """How much may be left. None if the class lets nothing stay. `policy`: the class itself, without the wishes of a job."""
    if policy.storage is None or policy.storage.retention != "Retain":
        return None
    given = policy.storage.retained_limit
    return str(given) if given is not None else find_most(policy)


def check_retained(namespace: str, class_name: str, limit: str, left: Iterable[Object]) -> Denial | None:
    """Why no job may begin, if the volumes and snapshots that those of the namespace have left reach the limit of the class."""
    found = list(left)
    if sum(map(_measure, found), Decimal(0)) < parse_quantity(limit):
        return None
    also = " and `kubectl get volumesnapshotcontents` alike" if any(map(_is_snapshot, found)) else ""
    message = (
        f"the volumes and snapshots that jobs of namespace '{namespace}' have left ({len(found)}) reach the limit of {limit} of "
        f"class '{class_name}' (`storage.retainedLimit`); an admin can delete those that are not needed "
        f"(`kubectl get pv -l {labels.JOB_NAMESPACE}={namespace}`{also}), or raise the limit"
    )
    return Denial(conditions.RETAINED_LIMIT, message, retry_seconds=LIMIT_SECONDS)


def _is_snapshot(left: Object) -> bool:
    return "volumeSnapshotRef" in spec_of(left)


def _measure(left: Object) -> Decimal:
    """A snapshot counts as the volume that could be filled from it: how much of that it takes, Kubernetes does not say."""
    size = status_of(left).get("restoreSize") if _is_snapshot(left) else (spec_of(left).get("capacity") or {}).get("storage")
    try:
        return max(_LEAST, parse_quantity(str(size)))
    except ValueError:
        return _LEAST


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
        await _retain(api, kinds.PERSISTENT_VOLUME, spec_of(claim).get("volumeName"), claim, own)
    for snapshot in await list_snapshots(api, name):
        content = status_of(snapshot).get("boundVolumeSnapshotContentName")
        await _retain(api, kinds.VOLUME_SNAPSHOT_CONTENT, content, snapshot, own)


async def _retain(api: Api, kind: Kind, name: str | None, owner: Object, own: Mapping[str, str]) -> None:
    """Keep what is bound to `owner`, in the job's namespace, which has the labels `own`."""
    (reference, field), found = _FIELDS[kind], await api.find(kind, name) if name else None
    # Who may write a claim could name any volume in it; a volume that names the claim is really its own.
    if found is None or (spec_of(found).get(reference) or {}).get("uid") != owner["metadata"]["uid"]:
        return
    notes = annotations_of(owner)
    marks = {key: own[key] for key in _FOUND_BY if key in own}
    named = {key: notes[key] for key in (labels.NESTED_NAME, labels.NESTED_NAMESPACE) if key in notes}
    meta = found["metadata"]
    if spec_of(found).get(field) == "Retain" and marks.items() <= labels_of(found).items():
        return
    log.info("keeping %s %s of %s/%s", kind.name, meta["name"], owner["metadata"]["namespace"], owner["metadata"]["name"])
    patch = {"metadata": {"uid": meta["uid"], "labels": marks, "annotations": named}, "spec": {field: "Retain"}}
    with contextlib.suppress(NotFound):
        await api.patch(kind, meta["name"], None, patch)

"""Volumes that an earlier job of the namespace has left, for one that wants them (`storage.volumesFrom`).

Before its cluster starts, each is reserved for one claim in the job's namespace. The claim itself comes with the server, as if
the nested cluster had had it and lost its data: the syncer gives it to the nested claim of that name. If the job starts over, the
claims stay.
"""

import contextlib
from collections.abc import Iterable

from nestor.api import conditions, labels, names
from nestor.api.allowances import Storage
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, spec_of, status_of
from nestor.cluster.home import Home
from nestor.kube import Api, Conflict, kinds
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.identity import Denial
from nestor.operator.admission.placement import list_allowed

RETRY_SECONDS = 10.0
"""How soon to look again: volumes are not watched."""
SOON_SECONDS = 1.0
"""The same while the host's own controllers are at work."""
_LISTED = 5
_NAMES = {labels.NESTED_NAME, labels.NESTED_NAMESPACE}
_COPIED = ("accessModes", "storageClassName", "volumeMode", "volumeAttributesClassName")
"""A volume's fields that its claim has too."""


def choose_volumes(left: Iterable[Object], origin: str, home: Home) -> list[Object]:
    """What a job gets of the volumes that are left: for each claim the latest of the job `origin`, or of an earlier one of its
    own name that has got it from there. If it has begun before, those that it got then.
    """
    volumes = [item for item in left if "capacity" in spec_of(item) and annotations_of(item).keys() >= _NAMES]
    own = [item for item in volumes if home.owns(item) and labels.VOLUMES_FROM in annotations_of(item)]
    if any("uid" in _claim_of(item) for item in own):
        return own
    of_job = [item for item in volumes if origin[:63] in _find_origins(item, home)]
    return list({_name_claim(item): item for item in [*sorted(of_job, key=_find_time), *own]}.values())


def find_obstacle(resolved: Resolved, chosen: list[Object], left: list[Object], former: Object | None) -> Denial | None:
    """Why the job does not get them. `former`: the job of that name. Pure."""
    origin, allowed = find_origin(resolved), resolved.policy.storage or Storage()
    if former is not None and former["metadata"]["uid"] != resolved.uid and not any(map(resolved.home.owns, chosen)):
        if is_terminating(former):
            return _wait(f"job '{origin}' is being deleted", RETRY_SECONDS)
        return _deny(f"job '{origin}' still exists and keeps its volumes: delete it first")
    if not chosen:
        others = sorted({f"'{labels_of(item).get(labels.JOB)}'" for item in left})[:_LISTED]
        also = f"; there are volumes of {', '.join(others)}" if others else ""
        return _deny(f"job '{origin}' has left no volumes in namespace '{resolved.namespace}'{also}")
    for item in chosen:
        what, spec = f"the volume of claim '{_name_claim(item)}', which job '{origin}' has left,", spec_of(item)
        if (name := spec.get("storageClassName", "")) not in allowed.classes:
            message = f"{what} has StorageClass '{name}': {list_allowed(allowed.classes)} (class '{resolved.class_name}')"
            return Denial(conditions.STORAGE_NOT_ALLOWED, message, retry_seconds=RETRY_SECONDS)
        if spec.get("volumeMode") == "Block" and not allowed.block_volumes:
            message = f"{what} is a block volume, and class '{resolved.class_name}' allows none (`storage.blockVolumes`)"
            return Denial(conditions.STORAGE_NOT_ALLOWED, message, retry_seconds=RETRY_SECONDS)
        if status_of(item).get("phase") == "Bound" and not resolved.home.owns(item):
            return _wait(f"{what} is still in use", RETRY_SECONDS)
    return None


def find_origin(resolved: Resolved) -> str | None:
    return resolved.spec.storage.volumes_from if resolved.spec.storage else None


async def reserve(api: Api, chosen: list[Object], origin: str, home: Home) -> Denial | None:
    """Have the host give each volume to the job's claim of that name alone. A wait until its controller has seen all of that: a
    claim that comes earlier could get a new volume.
    """
    late = [item for item in chosen if not _is_reserved(item, home) and status_of(item).get("phase") != "Bound"]
    for item in late:
        meta = item["metadata"]
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": None, "resourceVersion": None}
        marks = {key: home.labels[key] for key in (labels.JOB, labels.JOB_NAMESPACE, labels.JOB_UID)}
        own = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "labels": marks}
        spec = {"persistentVolumeReclaimPolicy": "Retain", "claimRef": claim | _build_reference(item, home)}
        patch = {"metadata": own | {"annotations": {labels.VOLUMES_FROM: origin}}, "spec": spec}
        await api.patch(kinds.PERSISTENT_VOLUME, meta["name"], None, patch)
    if late or any(status_of(item).get("phase") not in ("Available", "Bound") for item in chosen):
        return _wait(f"the host cluster has not released the volumes of job '{origin}' yet", SOON_SECONDS)
    return None


async def ensure_claims(api: Api, home: Home) -> None:
    """Make the claims of the job's volumes that have none yet."""
    found = await api.list(kinds.PERSISTENT_VOLUME, labels=f"{labels.JOB_UID}={home.labels[labels.JOB_UID]}")
    for item in found:
        if labels.VOLUMES_FROM in annotations_of(item) and _is_reserved(item, home):
            with contextlib.suppress(Conflict):
                await api.create(kinds.PERSISTENT_VOLUME_CLAIM, build_claim(item, home))


def build_claim(volume: Object, home: Home) -> Object:
    """The claim in the job's namespace, which the syncer takes for one of an earlier nested claim."""
    spec, notes = spec_of(volume), annotations_of(volume)
    own = {key: notes[key] for key in (labels.NESTED_NAME, labels.NESTED_NAMESPACE, labels.VOLUMES_FROM)}
    meta = home.metadata(_build_reference(volume, home)["name"], component=labels.COMPONENT_APP, annotations=own)
    meta["labels"] |= {labels.NESTED_NAMESPACE: notes[labels.NESTED_NAMESPACE], labels.NESTED_UID: ""}
    wanted = {key: spec[key] for key in _COPIED if key in spec}
    return {"metadata": meta, "spec": wanted | {"resources": {"requests": {"storage": spec["capacity"]["storage"]}}}}


def _deny(why: str) -> Denial:
    return Denial(conditions.VOLUMES_UNAVAILABLE, f"`spec.storage.volumesFrom`: {why}", retry_seconds=RETRY_SECONDS)


def _wait(why: str, seconds: float) -> Denial:
    return Denial(conditions.VOLUMES_PENDING, why, retry_seconds=seconds, status="Unknown")


def _find_origins(volume: Object, home: Home) -> set[str | None]:
    """The job that has left a volume; if it had the name of the one that lives in `home`, also who had left it to that one."""
    found = labels_of(volume).get(labels.JOB)
    former = annotations_of(volume).get(labels.VOLUMES_FROM, "")[:63] if found == home.labels[labels.JOB] else found
    return {found, former}


def _claim_of(volume: Object) -> Object:
    return spec_of(volume).get("claimRef") or {}


def _name_claim(volume: Object) -> str:
    notes = annotations_of(volume)
    return f"{notes[labels.NESTED_NAMESPACE]}/{notes[labels.NESTED_NAME]}"


def _find_time(volume: Object) -> str:
    """Since when it has been as it is."""
    return str(status_of(volume).get("lastPhaseTransitionTime") or volume["metadata"].get("creationTimestamp", ""))


def _build_reference(volume: Object, home: Home) -> Object:
    notes = annotations_of(volume)
    return {"namespace": home.namespace, "name": names.host_name(notes[labels.NESTED_NAME], notes[labels.NESTED_NAMESPACE])}


def _is_reserved(volume: Object, home: Home) -> bool:
    """Whether it waits for its claim."""
    claim = _claim_of(volume)
    return "uid" not in claim and _build_reference(volume, home).items() <= claim.items()

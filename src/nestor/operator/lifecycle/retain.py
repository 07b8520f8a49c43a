"""Volumes that outlive their job, where its class says so: their claims go, with the namespace or for a restart, and the
PersistentVolumes stay."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping

from nestor.api import labels
from nestor.kube import Api, NotFound, kinds
from nestor.objects import Object, annotations_of, labels_of, spec_of

log = logging.getLogger(__name__)

_FOUND_BY = (labels.JOB, labels.JOB_NAMESPACE, labels.JOB_UID)


def is_retained(namespace: Object) -> bool:
    """Whether the volumes of a job are to stay. Its namespace says so, because job and class may be gone."""
    return labels_of(namespace).get(labels.RETENTION) == "Retain"


async def list_retained(api: Api, namespace: str) -> list[Object]:
    """The volumes that jobs of this namespace, the users' own, have left."""
    return await api.list(kinds.PERSISTENT_VOLUME, labels=f"{labels.JOB_NAMESPACE}={namespace}")


async def retain_volumes(api: Api, namespace: Object) -> None:
    """Keep the volumes of all claims of the application. Call it before anything is deleted."""
    name, selector = namespace["metadata"]["name"], f"{labels.COMPONENT}={labels.COMPONENT_APP},{labels.NESTED_UID}"
    for claim in await api.list(kinds.PERSISTENT_VOLUME_CLAIM, name, labels=selector):
        volume = spec_of(claim).get("volumeName")
        if not volume:
            continue
        with contextlib.suppress(NotFound):
            found = await api.get(kinds.PERSISTENT_VOLUME, volume)
            # Who may write a claim could name any volume in it; a volume that names the claim is really its own.
            if (spec_of(found).get("claimRef") or {}).get("uid") == claim["metadata"]["uid"]:
                # Whose they are, the claim might say falsely: it counts against the limit of what may stay.
                await _retain(api, found, claim, labels_of(namespace))


async def _retain(api: Api, volume: Object, claim: Object, own: Mapping[str, str]) -> None:
    notes = annotations_of(claim)
    marks = {key: own[key] for key in _FOUND_BY if key in own}
    named = {key: notes[key] for key in (labels.NESTED_NAME, labels.NESTED_NAMESPACE) if key in notes}
    meta = volume["metadata"]
    if spec_of(volume).get("persistentVolumeReclaimPolicy") == "Retain" and marks.items() <= labels_of(volume).items():
        return
    log.info("keeping volume %s of claim %s/%s", meta["name"], claim["metadata"]["namespace"], claim["metadata"]["name"])
    patch = {
        "metadata": {"uid": meta["uid"], "labels": marks, "annotations": named},
        "spec": {"persistentVolumeReclaimPolicy": "Retain"},
    }
    await api.patch(kinds.PERSISTENT_VOLUME, meta["name"], None, patch)

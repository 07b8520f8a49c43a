"""The definitions of VolumeSnapshots in the nested cluster, as the host cluster has them, where the class allows snapshots."""

from __future__ import annotations

import asyncio
import logging

from nestor.api import labels
from nestor.api.objects import Object, annotations_of
from nestor.kube import ApiError, Conflict, kinds
from nestor.syncer.view.context import Context

log = logging.getLogger(__name__)

KINDS = (kinds.VOLUME_SNAPSHOT_CLASS, kinds.VOLUME_SNAPSHOT_CONTENT, kinds.VOLUME_SNAPSHOT)
_APPROVED = "api-approved.kubernetes.io"
"""Annotation without which API servers take no definition in a group of Kubernetes'."""
_RETRY_SECONDS = 15


class Definitions:
    """Creates what is missing, and leaves alone what there is: somebody may have installed it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._changed = asyncio.Event()
        context.caches.on_policy(self._changed.set)

    async def run(self) -> None:
        """Create them whenever the policy begins to ask for them, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._context.caches.policy.volumes.snapshot_classes:
                try:
                    await self._create()
                    break
                except ApiError as error:  # the host does not have them, or not yet
                    log.info("cannot create the definitions of VolumeSnapshots, retrying: %s", error)
                    await asyncio.sleep(_RETRY_SECONDS)

    async def _create(self) -> None:
        for kind in KINDS:
            name = f"{kind.plural}.{kind.group}"
            if await self._context.nested.find(kinds.CRD, name) is None:
                found = await self._context.host.get(kinds.CRD, name)
                try:
                    await self._context.nested.create(kinds.CRD, build_definition(found))
                except Conflict:
                    log.debug("%s was created meanwhile", name)


def build_definition(host: Object) -> Object:
    """The nested definition: that of the host with the one version that Nestor reads, and so without a conversion, which might
    call a webhook of the host's. Pure.
    """
    spec = host["spec"]
    notes = {key: text for key, text in annotations_of(host).items() if key == _APPROVED}
    return {
        "apiVersion": kinds.CRD.api_version,
        "kind": kinds.CRD.name,
        "metadata": {"name": host["metadata"]["name"], "labels": {labels.MANAGED_BY: "nestor"}, "annotations": notes},
        "spec": {
            "group": spec["group"],
            "names": spec["names"],
            "scope": spec["scope"],
            "versions": [item | {"storage": True} for item in spec["versions"] if item["name"] == KINDS[0].version],
        },
    }

"""Tells the owner of a pod which of its fields have no effect."""

from __future__ import annotations

from nestor.api.objects import Object
from nestor.kube import Change, kinds
from nestor.pods.translate import hostname, ignored
from nestor.syncer.copies.memory import Told
from nestor.syncer.pods.own_nodes import OwnNodes
from nestor.syncer.view.context import Context

REASON = "FieldsIgnored"


class IgnoredFields:
    """One event per pod, before its host pod is created. What all pods of a StatefulSet lack is told once, at the set."""

    def __init__(self, context: Context, own_nodes: OwnNodes) -> None:
        self._own_nodes = own_nodes
        self._recorder, self._caches, self._target = context.recorder, context.caches, context.home
        self._told: Told[str] = Told()
        context.caches.nested(kinds.POD).on_change(self._on_pod)

    @property
    def remembered(self) -> int:
        """Number of entries in memory: one per existing pod that was told something."""
        return len(self._told)

    async def tell(self, pod: Object) -> None:
        """Post the event, unless this pod has it already."""
        found = "; ".join([*ignored.find_ignored(pod, self._caches.policy, self._target), *self._own_nodes.find_ignored(pod)])
        of_set = hostname.find_ignored_of_set(pod, self._target)
        if not (found or of_set) or not self._told.is_news(pod["metadata"]["uid"], found):
            return
        if found:
            await self._recorder.post(pod, "Warning", REASON, found)
        if of_set:
            about, message = of_set
            await self._recorder.post_once(about, "Normal", REASON, message)

    def _on_pod(self, change: Change) -> None:
        uids = [pod["metadata"]["uid"] if pod is not None else None for pod in (change.old, change.new)]
        if uids[0] is not None and uids[0] != uids[1]:
            self._told.forget(uids[0])

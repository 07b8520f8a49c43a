"""Removes running pods from the host: pods with a controller are deleted and replaced by it; we recreate all others.

A pod cannot be unbound from its node, so one without a controller is deleted and recreated with the same name. Before that, it is
stored in a nested ConfigMap, which is deleted only after the new pod exists. So a restarted process can continue at any point.
"""

import copy
import json
import logging

from nestor.api import labels
from nestor.api.objects import Object, find_controller, is_terminating
from nestor.api.pod_status import is_terminal
from nestor.kube import Conflict, Forbidden, NotFound, RetryLater, kinds
from nestor.pods.translate.status import is_bound
from nestor.syncer.suspend.jobs import JobSuspender
from nestor.syncer.view.context import Context

log = logging.getLogger(__name__)

NAMESPACE = "kube-system"
_PREFIX = "nestor-pod-"
_PURPOSE = "suspended-pod"
_KEY = "pod.json"
# Admission computes the last two again, and rejects other values if the priority class has changed meanwhile.
_NOT_COPIED = ("nodeName", "ephemeralContainers", "priority", "preemptionPolicy")


class PodEvictor:
    """Ends nested pods for a suspend, and recreates those without a controller. Called for one UID at a time."""

    def __init__(self, context: Context, jobs: JobSuspender) -> None:
        self._context = context
        self._jobs = jobs

    async def evict(self, nested: Object) -> None:
        """End the pod, unless it has finished, is ending already, or its suspended Job will end it."""
        if not await self._jobs.is_released(nested):
            return
        now = await self._find_staying(nested)
        if now is None or is_terminal(now) or not is_bound(now):
            return
        if not find_controller(now):
            await self._remember(now)
        if self._context.caches.is_suspended:  # still
            # The version protects a pod that finishes at the same moment.
            meta = now["metadata"]
            await self._context.nested.delete(
                kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], version=meta["resourceVersion"]
            )

    async def settle(self, uid: str, nested: Object | None) -> None:
        """Recreate a stored pod that is gone, or forget it if the pod may keep running after all."""
        memory = self._context.caches.nested(kinds.CONFIG_MAP).get(_PREFIX + uid, NAMESPACE)
        if memory is None or remembered_uid(memory) != uid:
            return
        if nested is None:
            await self._restore(uid, memory)
            await self._forget(memory)
        elif not self._context.caches.is_suspended and await self._find_staying(nested) is not None:
            await self._forget(memory)

    async def _find_staying(self, nested: Object) -> Object | None:
        """The current pod, or None if it is terminating or gone. Not from the cache, which may lag behind our requests."""
        if is_terminating(nested):
            return None
        meta = nested["metadata"]
        now = await self._context.nested.find(kinds.POD, meta["name"], meta["namespace"])
        is_same = now is not None and now["metadata"]["uid"] == meta["uid"]
        return now if now is not None and is_same and not is_terminating(now) else None

    async def _remember(self, pod: Object) -> None:
        meta = pod["metadata"]
        memory = {
            "metadata": {
                "name": _PREFIX + meta["uid"],
                "namespace": NAMESPACE,
                "labels": {labels.MANAGED_BY: "nestor", labels.PURPOSE: _PURPOSE},
                "annotations": {labels.NESTED_NAMESPACE: meta["namespace"], labels.NESTED_NAME: meta["name"]},
            },
            "data": {_KEY: json.dumps(build_copy(pod), separators=(",", ":"))},
        }
        await self._context.nested.apply(kinds.CONFIG_MAP, memory)

    async def _restore(self, uid: str, memory: Object) -> None:
        pod = json.loads(memory["data"][_KEY])
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        try:
            await self._context.nested.create(kinds.POD, pod)
            log.info("recreated pod %s in namespace %s; it waits for the resume", name, namespace)
        except Conflict:
            there = await self._context.nested.find(kinds.POD, name, namespace)
            if there is None or there["metadata"]["uid"] == uid:
                raise RetryLater(0.2, "the old pod still exists") from None
            # We created it before we could forget the old one, or its owner did, who takes precedence.
        except NotFound:
            log.info("not recreating pod %s: its namespace %s no longer exists", name, namespace)
        except Forbidden as error:
            if not error.is_terminating:
                raise

    async def _forget(self, memory: Object) -> None:
        meta = memory["metadata"]
        await self._context.nested.delete(kinds.CONFIG_MAP, meta["name"], meta["namespace"], uid=meta["uid"])


def remembered_uid(config_map: Object) -> str | None:
    """UID of the pod stored in a ConfigMap; None for other ConfigMaps."""
    meta = config_map["metadata"]
    is_memory = (meta.get("labels") or {}).get(labels.PURPOSE) == _PURPOSE and meta.get("namespace") == NAMESPACE
    return meta["name"].removeprefix(_PREFIX) if is_memory and meta["name"].startswith(_PREFIX) else None


def build_copy(pod: Object) -> Object:
    """A pod to create in place of `pod`: the same, as it was before it was bound and ran.

    Finalizers are not copied: their owner adds its own to the new pod, and might never remove a copied one.
    """
    meta, spec = pod["metadata"], copy.deepcopy(pod["spec"])
    for key in _NOT_COPIED:
        if key != "nodeName" or not _names_its_node(pod):
            spec.pop(key, None)
    kept = {key: meta[key] for key in ("name", "namespace", "labels", "annotations", "ownerReferences") if meta.get(key)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec}


def _names_its_node(pod: Object) -> bool:
    """Whether its user set `nodeName`. A binding leaves the field without a manager."""
    managers = pod["metadata"].get("managedFields") or []
    return any("f:nodeName" in ((item.get("fieldsV1") or {}).get("f:spec") or {}) for item in managers)

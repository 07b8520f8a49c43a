"""The queues for pods: a change on either side queues its pair of pods, by nested UID. Creations have a queue of their own."""

import logging
from collections.abc import Callable, Collection
from functools import partial

from nestor.api.objects import Object, spec_of
from nestor.api.pod_status import is_terminal
from nestor.kube import Change, WorkQueue, kinds
from nestor.pods.translate import device_claims, placement
from nestor.pods.translate.target import nested_key, nested_uid
from nestor.pods.translate.volumes import find_claims
from nestor.syncer.pods import decide
from nestor.syncer.pods.create import PodCreator
from nestor.syncer.pods.delete import PodDeleter
from nestor.syncer.pods.room import is_freed
from nestor.syncer.pods.sync import PodSyncer
from nestor.syncer.suspend import evict
from nestor.syncer.suspend.evict import PodEvictor
from nestor.syncer.view.context import RETRY_LIMIT, Context

log = logging.getLogger(__name__)

_WORKERS, _CREATORS = 40, 20
"""More for pods that run: each waits for requests most of the time, and statuses must not wait for one another when a busy API
server takes half a second for each. A quota refuses as many creations as are under way.
"""
_COUNTED_SECONDS = 1
"""Quotas count a pod that has ended a moment later. Their own news come first, where there are any."""


class PodController:
    """Looks at a pair of pods, decides and acts. Level-triggered: late or repeated runs do no harm."""

    def __init__(
        self, context: Context, creator: PodCreator, syncer: PodSyncer, deleter: PodDeleter, evictor: PodEvictor
    ) -> None:
        self._caches = context.caches
        self._creator = creator
        self._syncer = syncer
        self._deleter = deleter
        self._evictor = evictor
        self._last: dict[str, Object] = {}
        """Host pods that are gone, by the UIDs of their nested pods."""
        self.queue = WorkQueue(self._reconcile, workers=_WORKERS, name="pods", first_delay=0.1, max_delay=RETRY_LIMIT)
        # Apart, because a slow host would otherwise let the pods that run wait for those that are to be created.
        self.creations: WorkQueue[str] = WorkQueue(
            self._create, workers=_CREATORS, name="pod-creations", first_delay=0.1, max_delay=RETRY_LIMIT
        )
        self._own_nodes, self._gangs = creator.own_nodes, creator.gangs
        creator.room.wake = creator.places.wake = self.creations.add
        creator.own_nodes.wake = self._look_at_unbound
        creator.gangs.wake = creator.isolation.wake = self.queue.add
        self._caches.host_quotas.on_change(self._on_quota)
        self._caches.nested(kinds.POD).on_change(self._on_nested)
        self._caches.host(kinds.POD).on_change(self._on_host)
        self._caches.on_suspend(self._look_at_all)
        self._caches.on_policy(self._look_at_all)
        self._caches.nested(kinds.CONFIG_MAP).on_change(self._on_config_map)
        self._caches.nested(kinds.PERSISTENT_VOLUME_CLAIM).on_change(partial(self._on_claim, find_claims))
        self._caches.nested(kinds.RESOURCE_CLAIM).on_change(partial(self._on_claim, device_claims.find_names))

    def _on_nested(self, change: Change) -> None:
        for pod in (change.old, change.new):
            if pod is not None:
                self.queue.add(pod["metadata"]["uid"])
        if _has_new_claims(change):
            self.creations.add(change.latest["metadata"]["uid"])

    def _on_host(self, change: Change) -> None:
        host, uid = change.latest, nested_uid(change.latest)
        if change.new is None:
            self._last[uid] = host
            self._wake_successor(host)
        if change.new is None or (is_terminal(host) and not is_terminal(change.old or {})):
            self._creator.room.reopen(_COUNTED_SECONDS)
        self.queue.add(uid)

    def _on_quota(self, change: Change) -> None:
        if is_freed(change.old, change.new):
            self._creator.room.reopen()

    def _look_at_all(self) -> None:
        """Queue all pods: the cluster was suspended or resumed, or its policy changed."""
        for pod in self._caches.nested(kinds.POD):
            self.queue.add(pod["metadata"]["uid"])

    def _look_at_unbound(self) -> None:
        for host in self._caches.host(kinds.POD):
            if not host["spec"].get("nodeName"):
                self.queue.add(nested_uid(host))

    def _on_config_map(self, change: Change) -> None:
        if uid := evict.remembered_uid(change.latest):
            self.queue.add(uid)

    def _on_claim(self, find_names: Callable[[Object], Collection[str]], change: Change) -> None:
        """Let the pods try again that could not be created for want of a claim."""
        if change.old is not None:
            return
        for pod in self._caches.by_namespace(kinds.POD).all(change.key[0]):
            if not pod["spec"].get("nodeName") and change.key[1] in find_names(pod):
                self.creations.add(pod["metadata"]["uid"])

    def _wake_successor(self, host: Object) -> None:
        """Queue the nested pod with the same name: it may be waiting for this host pod's name."""
        namespace, name = nested_key(host)
        pod = self._caches.nested(kinds.POD).get(name, namespace)
        if pod is not None:
            self.queue.add(pod["metadata"]["uid"])

    async def _reconcile(self, uid: str) -> None:
        nested, host = self._caches.nested_by_uid.get(uid), self._caches.host_by_uid.get(uid)
        action = self._decide(uid, nested, host)
        if nested is None:
            self._forget(uid)
            if host is not None:
                await self._deleter.remove(host)
        elif host is None:
            await self._act_alone(action, nested)
        else:
            await self._act(action, nested, host)
        await self._evictor.settle(uid, nested)

    def _decide(self, uid: str, nested: Object | None, host: Object | None) -> decide.Action:
        caches, is_outdated = self._caches, False
        if nested is not None and host is not None:
            is_outdated = placement.is_outdated(host, caches.policy.places) or self._own_nodes.is_outdated(nested, host)
        return decide.decide(
            nested,
            host,
            had_host=bool(spec_of(self._last.get(uid)).get("nodeName")),
            is_suspended=caches.is_suspended,
            is_ending=caches.is_ending,
            is_outdated=is_outdated,
            is_taken_back=host is not None and (self._gangs.is_taken_back(host) or self._gangs.gives_way(host)),
        )

    async def _create(self, uid: str) -> None:
        nested = self._caches.nested_by_uid.get(uid)
        if nested is None:
            self._creator.forget(uid)
        elif self._decide(uid, nested, self._caches.host_by_uid.get(uid)) == "Create":
            await self._creator.create(nested)

    async def _act(self, action: decide.Action, nested: Object, host: Object) -> None:
        if action == "Stop":
            await self._deleter.stop(nested, host)
        elif action == "Remove":
            await self._deleter.remove(host)
        elif action == "Withdraw":
            await self._deleter.withdraw(host)
        elif action == "TakeBack":
            log.info("the gang of pod %s could not start as a whole", nested["metadata"]["name"])
            await self._syncer.take_back(nested, host)
        elif action == "Follow":
            log.info("the host ends pod %s", nested["metadata"]["name"])
            await self._deleter.follow(nested, host)
        else:
            delay = await self._syncer.sync(nested, host)
            if delay is not None:
                self.queue.add(nested["metadata"]["uid"], delay)
            if action == "Evict":
                await self._evictor.evict(nested)

    async def _act_alone(self, action: decide.Action, nested: Object) -> None:
        uid = nested["metadata"]["uid"]
        if action == "Create":
            self.creations.add(uid, self._creator.find_pause(nested))
        elif action == "Hold":
            await self._creator.hold(nested)
            self._last.pop(uid, None)
        elif action == "Evict":
            await self._evictor.evict(nested)
        elif action == "Finish":
            await self._deleter.finish(nested, self._last.get(uid))
        elif action == "Lose":
            log.info("the host pod of %s has vanished", nested["metadata"]["name"])
            await self._syncer.lose(nested, self._last.get(uid))

    def _forget(self, uid: str) -> None:
        self._last.pop(uid, None)
        self._creator.forget(uid)
        self._syncer.forget(uid)
        self._deleter.forget(uid)


def _has_new_claims(change: Change) -> bool:
    """Whether the nested cluster has made the ResourceClaims that a pod waits for."""
    old, new = change.old, change.new
    if old is None or new is None or not new["spec"].get("resourceClaims") or new["spec"].get("nodeName"):
        return False
    return device_claims.find_claims(old) != device_claims.find_claims(new)

"""The gangs of this cluster's pods: who is in which, what was decided about each, and which may fill a quota."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.api.observed import GangStatus
from nestor.api.placement import GangSource
from nestor.api.policy import Policy
from nestor.kube import Change, Conflict, Kind, NotFound, RetryLater, WorkQueue, kinds
from nestor.pods.translate import gang as gangs
from nestor.pods.translate.gang import Claim, Membership, find_claim, join
from nestor.pods.translate.target import nested_uid
from nestor.syncer.view.context import RETRY_LIMIT, Context

log = logging.getLogger(__name__)

POD_GROUPS = tuple(Kind("scheduling.k8s.io", version, "podgroups", "PodGroup") for version in ("v1beta1", "v1alpha2"))
"""Newest version first."""
COMING_SECONDS = 60.0
"""How long after a group was needed its pods may still come."""
_SIZED: dict[GangSource, tuple[Kind, ...]] = {
    "Annotation": (kinds.JOB,),
    "IndexedJob": (kinds.JOB,),
    "JobSet": (Kind("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),),
    "PodGroup": POD_GROUPS,
}
"""The kinds that say how many pods a gang has; newest version first."""
TURN_SECONDS = 300.0
"""How long a gang may try to fill a quota while others wait: it may be too small for that gang."""


class NoGang(Exception):
    """What a gang needs is not there. Says what."""


class Gangs:
    """Pods are known by their nested UIDs, gangs by their keys."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.groups = GangGroups(context)
        self._entries: Mapping[str, GangStatus] = {}
        self._gang_of: dict[str, str] = {}
        self._short: dict[str, set[str]] = {}
        """The gangs that a quota leaves too little room, with their pods that have none. The first one may try."""
        self._since = 0.0
        """When its turn began."""
        self.wake: Callable[[str], None] = lambda _uid: None
        """Has somebody look at a pod about whose gang something was decided."""
        context.caches.host_cluster.on_change(self._on_cluster)

    async def find(self, pod: Object, policy: Policy) -> Membership | None:
        """The gang of a pod that is to be created, by what it and the nested cluster say. Its group is there then, if needed.

        Raises `NoGang` if the pod has to wait, and `ApiError`.
        """
        found, rules = await self._identify(pod, policy), policy.places.gang
        if found is None or rules is None:
            return None
        if self._is_behind(found.key):
            self.refuse(pod["metadata"]["uid"])
            raise NoGang("another gang waits for room in the quota, and comes first")
        if rules.scheduler == "Kubernetes":
            await self.groups.ensure(found)
        return found

    async def note_wait(self, pod: Object, policy: Policy) -> None:
        """The pod waits for the answer that another one gets from a quota."""
        with contextlib.suppress(NoGang):
            if await self._identify(pod, policy) is not None:
                self.refuse(pod["metadata"]["uid"])

    async def _identify(self, pod: Object, policy: Policy) -> Membership | None:
        rules = policy.places.gang
        claim = find_claim(pod, rules) if rules else None
        if claim is None:
            return None
        found = join(claim, await self._read(claim) if claim.size is None else None)
        if found is not None:
            self._gang_of[pod["metadata"]["uid"]] = found.key
        return found

    async def _read(self, claim: Claim) -> Object:
        for kind in _SIZED[claim.source]:
            try:
                return await self._context.nested.get(kind, claim.ref, claim.namespace)
            except NotFound:
                continue
        raise NoGang(f"{_SIZED[claim.source][0].name} '{claim.ref}', which says how many pods its gang has, does not exist")

    def forget(self, uid: str) -> None:
        self.admit(uid)
        self._gang_of.pop(uid, None)

    # Decisions of the operator.

    def find_entry(self, host: Object) -> GangStatus | None:
        """What was decided about a host pod's gang; None: nothing yet, or it is in none."""
        return self._entries.get(labels_of(host).get(labels.GANG, ""))

    def build_release(self, host: Object) -> Object | None:
        """The patch that lets a held host pod go, if it may."""
        entry = self.find_entry(host)
        may_go = entry is not None and entry.state != "Waiting" and gangs.is_held(host)
        return gangs.build_release(host, entry) if may_go and entry is not None else None

    def is_taken_back(self, host: Object) -> bool:
        """Whether the host pod has to end, because its gang could not start as a whole."""
        return gangs.is_taken_back(host, self.find_entry(host))

    def _on_cluster(self, change: Change) -> None:
        if change.new is None:
            return
        before, self._entries = self._entries, gangs.read_entries(change.new)
        changed = {key for key in before.keys() | self._entries.keys() if before.get(key) != self._entries.get(key)}
        for host in self._context.caches.host(kinds.POD) if changed else ():
            if labels_of(host).get(labels.GANG) in changed:
                self.wake(nested_uid(host))

    # A quota that several gangs share. Each with a part of it, they would wait for each other for ever.

    def refuse(self, uid: str) -> None:
        """A quota left no room for the pod, or it is another gang's turn. The others give back what their held pods have."""
        key = self._gang_of.get(uid)
        if key is None:
            return
        if key not in self._short and len(self._short) < 2:
            self._since = time.monotonic()
        self._short.setdefault(key, set()).add(uid)
        for host in self._context.caches.host(kinds.POD):
            if self.gives_way(host):
                self.wake(nested_uid(host))

    def admit(self, uid: str) -> None:
        """The pod has got its room, or is gone. If its gang is complete, it is the next one's turn."""
        key = self._gang_of.get(uid, "")
        if key in self._short:
            self._short[key].discard(uid)
            if not self._short[key]:
                del self._short[key]
                self._since = time.monotonic()

    def gives_way(self, host: Object) -> bool:
        """Whether the host pod is held for a gang that has to give its part of a quota back."""
        return gangs.is_held(host) and self._is_behind(labels_of(host).get(labels.GANG, ""))

    def _is_behind(self, key: str) -> bool:
        """Whether the gang lacks room, and it is another one's turn."""
        if len(self._short) > 1 and time.monotonic() - self._since >= TURN_SECONDS:
            first = next(iter(self._short))
            self._short[first] = self._short.pop(first)
            self._since = time.monotonic()
        return key in self._short and next(iter(self._short)) != key


class GangGroups:
    """Keeps the PodGroups of gangs that the host's own scheduler holds together: made before their pods, deleted after them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._needed: dict[str, float] = {}
        """When each group that is there was last needed."""
        self._lock = asyncio.Lock()
        self.queue: WorkQueue[str] = WorkQueue(self._clear, workers=1, name="gang-groups", max_delay=RETRY_LIMIT)
        context.caches.host(kinds.POD).on_change(self._on_host)

    async def ensure(self, membership: Membership) -> None:
        """Have the group of a gang. Raises `NoGang` if the host cluster knows no such groups, and `ApiError`."""
        name = gangs.name_group(membership)
        async with self._lock:
            if name not in self._needed:
                await self._write(membership)
            self._needed[name] = time.monotonic()

    async def _write(self, membership: Membership) -> None:
        body = gangs.build_group(membership, self._context.target)
        for kind in POD_GROUPS:
            try:
                await self._context.host.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, **body})
            except NotFound:
                continue
            except Conflict:
                log.debug("group %s is there already", body["metadata"]["name"])  # its size can never change
            return
        raise NoGang("the host cluster knows no PodGroups, which `placement.gang.scheduler` 'Kubernetes' of the class needs")

    def _on_host(self, change: Change) -> None:
        if change.new is None and (name := gangs.find_group(change.latest)):
            self.queue.add(name)

    async def _clear(self, name: str) -> None:
        """Delete a group without pods, unless some may still come."""
        async with self._lock:
            if any(gangs.find_group(host) == name for host in self._context.caches.host(kinds.POD)):
                return
            wait = self._needed.get(name, -COMING_SECONDS) + COMING_SECONDS - time.monotonic()
            if wait > 0:
                raise RetryLater(wait, "pods of the gang may still come")
            for kind in POD_GROUPS:
                await self._context.host.delete(kind, name, self._context.target.namespace)
            self._needed.pop(name, None)

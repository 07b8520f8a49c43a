"""The gangs of this cluster's pods: who is in which, what was decided about each, and which may fill a quota."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping

from nestor.api import labels
from nestor.api.objects import Object, labels_of
from nestor.api.observed import GangStatus
from nestor.api.placement import GangSource
from nestor.api.policy import Policy
from nestor.kube import Change, Kind, NotFound, kinds
from nestor.pods.translate import gang as gangs
from nestor.pods.translate.gang_claims import Claim, Membership, find_claim, join
from nestor.pods.translate.target import nested_uid
from nestor.syncer.pods.gang_groups import POD_GROUPS, GangGroups, NoGang
from nestor.syncer.view.context import Context

_SIZED: dict[GangSource, tuple[Kind, ...]] = {
    "Annotation": (kinds.JOB,),
    "IndexedJob": (kinds.JOB,),
    "JobSet": (Kind("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),),
    "PodGroup": POD_GROUPS,
}
"""The kinds that say how many pods a gang has; newest version first."""
TURN_SECONDS = 300.0
"""How long a gang may try to fill a quota while others wait: it may be too small for that gang."""


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
        self._call: Callable[[str], None] = lambda _uid: None
        context.caches.host_cluster.on_change(self._on_cluster)

    def on_decision(self, handler: Callable[[str], None]) -> None:
        """Call `handler` with the UID of each pod about whose gang something was decided."""
        self._call = handler

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
        """The pod is gone."""
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
                self._call(nested_uid(host))

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
                self._call(nested_uid(host))

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

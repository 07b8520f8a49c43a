"""The gangs of this cluster's pods: who is in which, what was decided about each, and who has to give way to an older one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping

from nestor.api import labels
from nestor.api.observed import GangStatus
from nestor.api.policy import Policy
from nestor.kube import Change, Kind, NotFound, kinds
from nestor.objects import Object, labels_of
from nestor.syncer.pods.gang_groups import GangGroups, NoGang, list_kinds
from nestor.syncer.pods.gang_turns import Turns
from nestor.syncer.view.context import Context
from nestor.translate import gang as gangs
from nestor.translate.gang_claims import GROUP_OF_JOBS, GROUP_OF_JOBSET, Claim, Membership, find_claim, join
from nestor.translate.gang_groups import DIALECTS
from nestor.translate.target import nested_uid

_JOBSET = Kind(GROUP_OF_JOBSET, "v1alpha2", "jobsets", "JobSet")
_SIZED: dict[str, tuple[Kind, ...]] = {
    GROUP_OF_JOBS: (kinds.JOB,),
    GROUP_OF_JOBSET: (_JOBSET,),
    **{dialect.group: tuple(list_kinds(scheduler)) for scheduler, dialect in DIALECTS.items()},
}
"""The kinds, by API group, that say how many pods a gang has; newest version first."""


class Gangs:
    """Pods are known by their nested UIDs, gangs by their keys."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.groups = GangGroups(context)
        self._entries: Mapping[str, GangStatus] = {}
        self._turns = Turns()
        self._call: Callable[[str], None] = lambda _uid: None
        self._wake: Callable[[str, float], None] = lambda _uid, _delay: None
        context.caches.host_cluster.on_change(self._on_cluster)

    def on_decision(self, handler: Callable[[str], None]) -> None:
        """Call `handler` with the UID of each pod about whose gang something was decided."""
        self._call = handler

    def on_turn(self, handler: Callable[[str, float], None]) -> None:
        """Call `handler` with the UID of each pod that may ask for room again, and 0."""
        self._wake = handler

    async def find(self, pod: Object, policy: Policy) -> Membership | None:
        """The gang of a pod that is to be created, by what it and the nested cluster say. Its group is there then, if needed.

        Raises `NoGang` if the pod has to wait, and `ApiError`.
        """
        found, rules = await self._identify(pod, policy), policy.places.gang
        if found is None or rules is None:
            return None
        if self._turns.is_behind(found.key):
            self.refuse(pod["metadata"]["uid"])
            raise NoGang("another gang waits for room in the quota, and comes first")
        if rules.scheduler != "Nestor":
            await self.groups.ensure(found, rules)
        return found

    async def note_wait(self, pod: Object, policy: Policy) -> None:
        """The pod waits for the answer that another one gets from a quota: if its gang is older, that one gives way."""
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
            meta = pod["metadata"]
            self._turns.join(meta["uid"], found.key, meta.get("creationTimestamp") or "")
        return found

    async def _read(self, claim: Claim) -> Object:
        for kind in _SIZED[claim.group]:
            try:
                return await self._context.nested.get(kind, claim.ref, claim.namespace)
            except NotFound:
                continue
        name = _SIZED[claim.group][0].name
        raise NoGang(f"{name} '{claim.ref}', which says how many pods its gang has, does not exist")

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._wake_all(self._turns.forget(uid))

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

    # A quota that several gangs share.

    def refuse(self, uid: str) -> None:
        """A quota left no room for the pod, or it is another gang's turn."""
        if self._turns.refuse(uid):
            for host in self._context.caches.host(kinds.POD):
                if self.gives_way(host):
                    self._call(nested_uid(host))

    def admit(self, uid: str) -> None:
        """The pod has got its room."""
        self._wake_all(self._turns.admit(uid))

    def gives_way(self, host: Object) -> bool:
        """Whether the host pod is held for a gang that has to give its part of a quota back."""
        return gangs.is_held(host) and self._turns.is_behind(labels_of(host).get(labels.GANG, ""))

    def _wake_all(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self._wake(uid, 0)

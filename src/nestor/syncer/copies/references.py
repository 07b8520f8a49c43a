"""Tracks which objects live pods refer to. Only those are copied, however many a tenant creates.

Names of copies that are too long hold a digest, and someone may search for a name whose copy has that of another namespace's
object. A pod that refers to it, whether it exists or not, would get the other's data: it is not started.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from nestor.api import names
from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.kube import Change, Forbidden, kinds
from nestor.kube.informer import Key
from nestor.pods.translate import refusals, status
from nestor.pods.translate.config import CONFIG_MAPS, SECRETS, Reference, find_references
from nestor.pods.translate.target import NO_KEY, nested_key
from nestor.syncer.view.caches import Caches

_KINDS = {CONFIG_MAPS: kinds.CONFIG_MAP, SECRETS: kinds.SECRET}
_Name = tuple[str, str]
"""Resource and name of a copy."""


class References:
    """Counts the live pods that refer to each object, and reports changes in what they refer to."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._users: Counter[Reference] = Counter()
        self._of_pod: dict[str, frozenset[Reference]] = {}
        self._by_name: defaultdict[_Name, set[Reference]] = defaultdict(set)
        self._handlers: dict[str, list[Callable[[Key], None]]] = defaultdict(list)
        self._hosts = caches.host_by_uid
        caches.nested(kinds.POD).on_change(self._on_pod)
        caches.on_policy(self._on_policy)

    def on_change(self, resource: str, handler: Callable[[Key], None]) -> None:
        """Call `handler` with the key of each object of this resource that a pod starts or stops referring to."""
        self._handlers[resource].append(handler)

    def is_named(self, resource: str, key: Key) -> bool:
        return Reference(resource, *key) in self._users

    def find_clash(self, pod: Object) -> str:
        """Why the pod may not have what it refers to: the copy of another object has, or would have, the same name. Or empty."""
        clashes = sorted(item for item in find_references(pod) if self._is_taken(item))
        if not clashes:
            return ""
        found = ", ".join(f"{_KINDS[item.resource].name} '{item.name}'" for item in clashes)
        return f"the name in the host cluster is taken by an object of the same kind, so that the pod cannot have it: {found}"

    def find_other(self, resource: str, key: Key) -> str:
        """Why an object must get no new copy: a live pod refers to another one whose copy would have that name. Empty: it may."""
        if not self._is_shared(Reference(resource, *key)):
            return ""
        return "a pod refers to another object of this kind that would have the same name in the host cluster; delete that pod"

    async def check(self, pod: Object) -> None:
        """Raises `Forbidden` for a pod that may not have what it refers to."""
        if message := self.find_clash(pod):
            raise Forbidden(403, "Forbidden", message)

    def _is_shared(self, reference: Reference) -> bool:
        """Whether live pods refer to another object whose copy would have the same name."""
        return bool(self._by_name.get(_name_of(reference), set()) - {reference})

    def _is_taken(self, reference: Reference) -> bool:
        if self._is_shared(reference):
            return True
        copy = self._caches.host(_KINDS[reference.resource]).get(_name_of(reference)[1], self._caches.namespace)
        return copy is not None and nested_key(copy) not in ((reference.namespace, reference.name), NO_KEY)

    def _on_pod(self, change: Change) -> None:
        uid = change.latest["metadata"]["uid"]
        if change.old is not None and change.old["metadata"]["uid"] != uid:
            self._follow(change.old["metadata"]["uid"], frozenset())
        self._look_at(change.latest, is_there=change.new is not None)

    def _on_policy(self) -> None:
        for pod in self._caches.nested(kinds.POD):
            self._look_at(pod, is_there=True)

    def _look_at(self, pod: Object, *, is_there: bool) -> None:
        uid = pod["metadata"]["uid"]
        # Pods that already run keep running when their class becomes stricter.
        has_host = self._hosts.get(uid) is not None or status.is_bound(pod)
        live = is_there and may_run(pod, self._caches.policy, has_host=has_host)
        self._follow(uid, find_references(pod) if live else frozenset())

    def _follow(self, uid: str, wanted: frozenset[Reference]) -> None:
        before = self._of_pod.pop(uid, frozenset())
        if wanted:
            self._of_pod[uid] = wanted
        self._users.update(wanted - before)
        self._users.subtract(before - wanted)
        for reference in wanted ^ before:
            if self._users[reference] <= 0:
                del self._users[reference]
                self._drop_name(reference)
            else:
                self._by_name[_name_of(reference)].add(reference)
            for handler in self._handlers[reference.resource]:
                handler((reference.namespace, reference.name))

    def _drop_name(self, reference: Reference) -> None:
        name = _name_of(reference)
        self._by_name[name].discard(reference)
        if not self._by_name[name]:
            del self._by_name[name]


def _name_of(reference: Reference) -> _Name:
    return reference.resource, names.host_name(reference.name, reference.namespace)


def may_run(pod: Object, policy: Policy, *, has_host: bool) -> bool:
    """True for a pod that has a host pod or may get one, and has not finished."""
    spec = pod["spec"]
    if status.is_terminal(pod) or spec.get("schedulingGates"):
        return False
    if has_host:
        return True
    return not refusals.find_refusals(refusals.without_debug(pod), policy)

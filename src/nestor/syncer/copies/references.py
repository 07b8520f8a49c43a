"""Tracks which objects live pods refer to. Only those are copied, however many a tenant creates."""

from collections import Counter, defaultdict
from collections.abc import Callable

from nestor.api.objects import Object
from nestor.api.pod_status import is_terminal
from nestor.api.policy import Policy
from nestor.kube import Change, kinds
from nestor.kube.informer import Key
from nestor.pods.translate import refusals, status
from nestor.pods.translate.config import Reference, find_references
from nestor.syncer.view.caches import Caches


class References:
    """Counts the live pods that refer to each object, and reports changes in what they refer to."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._users: Counter[Reference] = Counter()
        self._of_pod: dict[str, frozenset[Reference]] = {}
        self._handlers: dict[str, list[Callable[[Key], None]]] = defaultdict(list)
        self._hosts = caches.host_by_uid
        caches.nested(kinds.POD).on_change(self._on_pod)
        caches.on_policy(self._on_policy)

    def on_change(self, resource: str, handler: Callable[[Key], None]) -> None:
        """Call `handler` with the key of each object of this resource that a pod starts or stops referring to."""
        self._handlers[resource].append(handler)

    def is_named(self, resource: str, key: Key) -> bool:
        return Reference(resource, *key) in self._users

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
            for handler in self._handlers[reference.resource]:
                handler((reference.namespace, reference.name))


def may_run(pod: Object, policy: Policy, *, has_host: bool) -> bool:
    """True for a pod that has a host pod or may get one, and has not finished."""
    spec = pod["spec"]
    if is_terminal(pod) or spec.get("schedulingGates"):
        return False
    if has_host:
        return True
    return not refusals.find_refusals(refusals.without_debug(pod), policy)

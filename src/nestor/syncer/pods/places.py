"""Decides where new pods run, and counts for that how many pods of one nested Job are where."""

from collections.abc import Callable

from nestor.api import labels
from nestor.api.objects import Object, annotations_of, find_job, spec_of
from nestor.api.placement import Placement
from nestor.api.pod_status import is_terminal
from nestor.kube import Change, kinds
from nestor.kube.index import Index
from nestor.pods.translate.node_rules import find_backend
from nestor.pods.translate.placement import Batch, Place, Where, decide_place, is_counting
from nestor.pods.translate.target import nested_uid
from nestor.syncer.view.context import Context


class Places:
    """Where pods may run now, and who waits until another pod of its Job ends. Pods and Jobs are known by their nested UIDs."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._caches, self._nodes = context.caches, context.caches.host_nodes
        self._jobs = context.caches.nested(kinds.JOB)
        self._by_job = Index(context.caches.nested(kinds.POD), lambda pod: find_job(pod).get("uid"))
        self._chosen: dict[str, Where] = {}
        """Of pods whose host pod is not in the cache yet."""
        self._waiting: dict[str, dict[str, None]] = {}
        """The pods of each Job that wait, in their order."""
        self.wake: Callable[[str], None] = lambda _uid: None
        """Has a pod ask again."""
        context.caches.host(kinds.POD).on_change(self._on_host)
        self._nodes.on_change(self._on_node)

    async def choose(self, pod: Object, placement: Placement, *, is_gang: bool = False) -> Place:
        """Where the pod runs. It then counts there until `leave`, or as long as it has a host pod. May raise `ApiError`.

        `is_gang`: it runs together with others or not at all, so no limit may let some of them wait.
        """
        uid, job = pod["metadata"]["uid"], find_job(pod).get("uid")
        if job is None or not is_counting(placement):
            return decide_place(pod, placement)
        completions = await self._find_completions(pod, job)
        batch = self._count(job, uid, completions, placement) if completions is not None else None
        if batch is not None and is_gang:
            batch = Batch(batch.completions)
        place = decide_place(pod, placement, batch)
        if place.where == "Wait":
            self._waiting.setdefault(job, {})[uid] = None
        else:
            self._chosen[uid] = place.where
            self._stop_waiting(uid, job)
            self._wake(job)
        return place

    def leave(self, uid: str) -> None:
        """The pod is gone, or waits for something else."""
        self._chosen.pop(uid, None)
        for job in list(self._waiting):
            self._stop_waiting(uid, job)

    def _count(self, job: str, uid: str, completions: int, placement: Placement) -> Batch:
        found = [self._find_place(other["metadata"]["uid"], placement) for other in self._by_job.all(job)]
        mine = self._find_place(uid, placement)
        if mine is not None:
            found.remove(mine)
        away = found.count("Backend")
        return Batch(completions, here=len(found) - found.count(None) - away, away=away)

    def _find_place(self, uid: str, placement: Placement) -> Where | None:
        """Where a pod is, or may get to; None if nowhere."""
        host = self._caches.host_by_uid.get(uid)
        if host is None:
            return self._chosen.get(uid)
        if is_terminal(host):
            return None
        node = self._nodes.get(host["spec"].get("nodeName") or "")
        is_away = find_backend(node, placement) is not None if node else annotations_of(host).get(labels.PLACE) == "Backend"
        return "Backend" if is_away else "Host"

    async def _find_completions(self, pod: Object, uid: str) -> int | None:
        """The `completions` of the pod's Job, which is asked for if the cache does not have it yet."""
        name, namespace = find_job(pod)["name"], pod["metadata"]["namespace"]
        job = self._jobs.get(name, namespace)
        if job is None or job["metadata"]["uid"] != uid:
            job = await self._context.nested.find(kinds.JOB, name, namespace)
        is_same = job is not None and job["metadata"]["uid"] == uid
        return spec_of(job).get("completions") if is_same else None

    def _on_host(self, change: Change) -> None:
        if change.new is not None:
            self._chosen.pop(nested_uid(change.new), None)
        # A pod that gets a node may have turned out to be elsewhere than it counted.
        has_moved = change.new is not None and spec_of(change.old).get("nodeName") != spec_of(change.new).get("nodeName")
        if change.new is None or is_terminal(change.new) or has_moved:
            self._wake_all()

    def _on_node(self, change: Change) -> None:
        if change.old is None:
            self._wake_all()  # a pod there may have counted elsewhere

    def _wake_all(self) -> None:
        for job in list(self._waiting):
            self._wake(job)

    def _wake(self, job: str) -> None:
        """Let the one ask that has waited longest; if it gets a place, it wakes the next."""
        if waiting := self._waiting.get(job):
            self.wake(next(iter(waiting)))

    def _stop_waiting(self, uid: str, job: str) -> None:
        waiting = self._waiting.get(job, {})
        waiting.pop(uid, None)
        if not waiting:
            self._waiting.pop(job, None)

"""Deletes a job down to its empty namespace, verifies it, enforces a time limit, and reports what had to be forced or left."""

import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nestor.api import conditions, labels, names
from nestor.api.conditions import Condition
from nestor.api.names import Part
from nestor.api.objects import Object, conditions_of, is_terminating, labels_of, spec_of
from nestor.api.pod_status import find_grace
from nestor.api.times import seconds_since, timestamp
from nestor.cluster.home import Home
from nestor.kube import NotFound, kinds
from nestor.kube.tasks import together
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.guest import Guest, spare_volumes
from nestor.operator.status.build import build_status
from nestor.operator.status.report import write_status
from nestor.operator.world.context import Context, Result
from nestor.operator.world.ownership import delete_secret, find_home, has_finalizer, name_left, remove_finalizer

log = logging.getLogger(__name__)

APP_GRACE_SECONDS = 10
"""Maximum grace period of the application's pods: users wait for the deletion."""
OWN_GRACE_SECONDS = 1
"""For the control plane, the syncer and the runner: they keep nothing, so they need no graceful shutdown."""
NAMESPACE_LEAD_SECONDS = 2
LEFT_SECONDS = 30.0
"""How long a namespace may take to go after its pods at backends were given up."""
POLL_SECONDS = 1.0
FORCED = "PodForceDeleted"
"""Reason of the event about a pod that was deleted without its node's confirmation."""
LEFT_BEHIND = "NamespaceLeftBehind"
"""Reason of the event about a namespace that its controller does not get empty."""


@dataclass
class _Deletion:
    since: float = field(default_factory=time.monotonic)
    """When this process first saw it. The deletion timestamp may be long ago, but force must not precede a normal attempt."""
    told: set[str] = field(default_factory=set)
    """UIDs of the objects that a warning was posted for."""
    has_left: bool = False
    """Pods at backends were given up: the namespace needs a moment more to go."""


class Finalizer:
    def __init__(self, context: Context, guests: Sequence[Guest], inputs: CopiedInputs) -> None:
        self._context = context
        self._api = context.api
        self._inputs = inputs
        self._guests = guests
        self.deletions: defaultdict[str, _Deletion] = defaultdict(_Deletion)
        """By the job's UID, or by the namespace's if its job lives on without it."""

    async def finalize(self, job: Object) -> Result:
        """One pass over a job that is being deleted. If users take our finalizer off and hold it, what it has still goes."""
        meta, home = job["metadata"], find_home(job)
        if not has_finalizer(job) and await self._find_namespace(home) is None:
            return Result()
        for guest in self._guests:
            if problem := await guest.leave(job, home):
                await self._warn_once(job, job, f"{type(guest).__name__}NotTold", problem)
        if kubeconfig := home.kubeconfig:
            await delete_secret(self._api, home, kubeconfig["name"], kubeconfig["namespace"])
        live = await self._find_namespace(home)
        deletion = self.deletions[meta["uid"]]
        age = time.monotonic() - deletion.since
        if live is not None and age < self._find_limit(home.namespace, deletion):
            await self._report(job, home.namespace)
            await self.empty(live, age, about=job)
            if not await self._is_shell(live):
                return Result(POLL_SECONDS)
        elif live is not None:
            await self._warn_once(job, live, LEFT_BEHIND, explain_left(live))
        if labels.POOL not in labels_of(self._context.cache.find(kinds.NAMESPACE, home.namespace)):  # else it never was the job's
            await self._api.delete(kinds.CLUSTER_ROLE_BINDING, home.namespace)
        if has_finalizer(job):
            await remove_finalizer(self._api, kinds.NESTED_APP_JOB, job)
        # Last, because a conflict above brings us back here, and the elapsed time must not start over.
        self.forget_home(home.namespace, home.name)
        self.forget(meta["uid"])
        return Result()

    def _find_limit(self, namespace: str, deletion: _Deletion) -> float:
        """How long the deletion may take, in seconds: pods at backends are given up only when it should be over."""
        limit = self._context.settings.give_up_after
        has_left = deletion.has_left or any(map(self._find_node, self._context.cache.pods_by_namespace.all(namespace)))
        return limit + LEFT_SECONDS if has_left else limit

    async def empty(self, namespace: Object, age: float, *, about: Object | None) -> None:
        """Delete the pods first, then the namespace. The namespace controller looks after 5 s; if it finds a pod, it looks again
        after half of the pod's grace period. So the namespace is deleted when its last pods have 2 s left.

        Without its RoleBinding, the syncer cannot create pods; without its StatefulSet, the server is not recreated.
        `age`: for how many seconds this has been tried.
        """
        name = namespace["metadata"]["name"]
        if not is_terminating(namespace):
            await self._stop_producers(name, names.cluster_name(namespace["metadata"]["labels"][labels.JOB], name))
            await spare_volumes(self._guests, namespace)
        pods = self._context.cache.pods_by_namespace.all(name)
        is_forced = age > self._context.settings.force_after
        if pods:
            await self._delete_pods(pods, namespace, age, about=about)
        is_due = (is_forced or all(_ends_soon(pod) for pod in pods)) and not is_terminating(namespace)
        if is_due and await self._api.delete(kinds.NAMESPACE, name, uid=namespace["metadata"]["uid"]):
            # The namespace controller would, after 5 s.
            await together(*(self._api.delete_all(kind, name) for kind in (kinds.PERSISTENT_VOLUME_CLAIM, kinds.SERVICE)))

    async def _is_shell(self, namespace: Object) -> bool:
        """Whether nothing can be made in the namespace any more, and its pods, volumes and addresses are gone. Its controller
        deletes the rest, after 5 s by its own clock: nobody has to wait for that.
        """
        name, cache = namespace["metadata"]["name"], self._context.cache
        if not is_terminating(namespace) or cache.pods_by_namespace.all(name) or any(cache.find_exposing(name)):
            return False
        left = await together(*(self._api.list(kind, name) for kind in (kinds.POD, kinds.PERSISTENT_VOLUME_CLAIM, kinds.SERVICE)))
        return not any(left)

    async def _stop_producers(self, namespace: str, cluster: str) -> None:
        """Delete everything that creates pods or serves requests."""
        cache = self._context.cache
        sets = [item for item in cache.informers[kinds.STATEFUL_SET] if item["metadata"].get("namespace") == namespace]
        found = [*((kinds.STATEFUL_SET, item) for item in sets), *cache.find_exposing(namespace)]
        deletions = [self._api.delete(kind, item["metadata"]["name"], namespace) for kind, item in found]
        binding = names.child(cluster, Part.SYNCER)
        await together(*deletions, self._api.delete(kinds.ROLE_BINDING, binding, namespace))

    async def _delete_pods(self, pods: Sequence[Object], namespace: Object, age: float, *, about: Object | None) -> None:
        """Those at backends are forced last: they may take minutes, and without its host pod, none is seen to its end."""
        settings = self._context.settings
        is_forced, is_last = age > settings.force_after, age > settings.give_up_after
        at_backends = [pod for pod in pods if self._find_node(pod)]
        if is_last and at_backends:
            deletion = self.deletions[labels_of(namespace)[labels.JOB_UID]]
            new = [pod for pod in at_backends if pod["metadata"]["uid"] not in deletion.told]
            deletion.has_left = True
            deletion.told.update(pod["metadata"]["uid"] for pod in new)
            await self._tell_left(new, about)
        await together(
            *(self._delete_pod(pod, is_forced=is_last, about=None) for pod in at_backends),
            *(self._delete_pod(pod, is_forced=is_forced, about=about) for pod in pods if self._find_node(pod) is None),
        )

    def _find_node(self, pod: Object) -> Object | None:
        """The pod's node, if it is a virtual one, whose pods only its backend can end."""
        return self._context.cache.find(kinds.NODE, spec_of(pod).get("nodeName") or "")

    async def _tell_left(self, pods: Iterable[Object], about: Object | None) -> None:
        """Name what a backend may still run, in events about its nodes and, if it is still there, the job. Called before the pods
        are deleted: once they are gone, nobody could name them.
        """
        by_node: defaultdict[str, list[Object]] = defaultdict(list)
        for pod in pods:
            by_node[spec_of(pod)["nodeName"]].append(pod)
        for name, found in by_node.items():
            backend = labels_of(self._context.cache.find(kinds.NODE, name)).get(labels.BACKEND, "")
            for message in name_left(f"backend '{backend}' (node '{name}') has not confirmed the end", found):
                log.warning("%s", message)
                # Kubelets give a node's name as its UID, and so `kubectl describe node` finds the event.
                await self._context.post(kinds.NODE, {"metadata": {"name": name, "uid": name}}, "Warning", FORCED, message)
                if about is not None:
                    await self._context.post(kinds.NESTED_APP_JOB, about, "Warning", FORCED, message)

    async def _delete_pod(self, pod: Object, *, is_forced: bool, about: Object | None) -> None:
        """`about`: the job that is told if it does not end."""
        meta, is_apps = pod["metadata"], labels_of(pod).get(labels.COMPONENT) == labels.COMPONENT_APP
        grace = 0 if is_forced else find_grace(pod, APP_GRACE_SECONDS if is_apps else OWN_GRACE_SECONDS)
        if grace is None:
            return
        is_gone = not await self._api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=grace)
        if is_forced and not is_gone and about is not None:
            message = f"pod '{meta['name']}' did not terminate and was force-deleted without confirmation from its node"
            await self._warn_once(about, pod, FORCED, message)

    async def _find_namespace(self, home: Home) -> Object | None:
        """The job's namespace, while it exists. Asks the API server if it is not in the cache, which may lag behind."""
        name = home.namespace
        live = self._context.cache.find(kinds.NAMESPACE, name) or await self._api.find(kinds.NAMESPACE, name)
        return live if live is not None and home.owns(live) else None

    async def _report(self, job: Object, namespace: str) -> None:
        """Report the deletion in `Ready`, once."""
        before = conditions.find(conditions_of(job), conditions.READY)
        if before and before["reason"] == conditions.TERMINATING:
            return
        message = f"namespace '{namespace}' is being deleted"
        ready = Condition(conditions.READY, "False", conditions.TERMINATING, message)
        with contextlib.suppress(NotFound):
            await write_status(self._context, job, build_status(job, [ready], timestamp()))

    async def _warn_once(self, job: Object, obj: Object, reason: str, message: str) -> None:
        told = self.deletions[job["metadata"]["uid"]].told
        if obj["metadata"]["uid"] not in told:
            told.add(obj["metadata"]["uid"])
            await self._context.post(kinds.NESTED_APP_JOB, job, "Warning", reason, message)

    def forget(self, uid: str) -> None:
        self.deletions.pop(uid, None)
        for guest in self._guests:
            guest.forget(uid)
        self._inputs.forget(uid)

    def forget_home(self, namespace: str, cluster: str) -> None:
        self._context.applier.forget(namespace)
        self._context.provisioner.forget(namespace, cluster)


def _ends_soon(pod: Object) -> bool:
    """Whether the pod's grace period is (nearly) over. The deletion timestamp is the time at which it ends."""
    time = pod["metadata"].get("deletionTimestamp")
    return bool(time) and seconds_since(time) > -NAMESPACE_LEAD_SECONDS


def explain_left(namespace: Object) -> str:
    found = conditions_of(namespace)
    reasons = [item["message"] for item in found if item.get("status") == "True" and item.get("message")]
    explained = "; ".join(reasons) or "no reason given"
    return f"Namespace '{namespace['metadata']['name']}' could not be deleted and was left behind: {explained}"

"""The provider: host pods as pods of another cluster. A pod's identity there is the UID of its host pod."""

import builtins
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from nestor.api import labels, times
from nestor.api.objects import Object, annotations_of, is_terminating, labels_of, spec_of
from nestor.api.pod_status import is_terminal
from nestor.kube import Api, Forbidden, kinds
from nestor.kube import NotFound as ApiNotFound
from nestor.kube.tasks import together
from nestor.overflow.remote import build, reduce, updates
from nestor.overflow.remote.build import Machines
from nestor.overflow.remote.cluster import Cluster, lacks_right
from nestor.overflow.remote.create import Creator
from nestor.overflow.remote.refusals import find_refusals
from nestor.overflow.remote.settings import Settings
from nestor.overflow.remote.shapes import find_shapes
from nestor.pods.providers.base import WHOLE, Inputs, Part, Shape
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet, Unreachable
from nestor.pods.providers.upgrade import PodStreams


class RemoteProvider:
    """One backend. See `nestor.pods.providers.base.Backend` for what the methods promise."""

    def __init__(self, settings: Settings, api: Api, *, now: Callable[[], datetime] = times.now) -> None:
        """`api`: a client of the cluster, see `Access.connect`."""
        self._settings = settings
        self._cluster = Cluster(settings, api)
        self._creator = Creator(self._cluster)
        self._machines: dict[str, Machines] = {}
        """Those of each shape, as they were discovered."""
        self._now = now
        self._told: dict[str, tuple[Object, Object]] = {}
        """Pods there as they were last told, and their statuses."""
        self.logs = self.streams = PodStreams(api, self._cluster.where, partial(self._cluster.in_our_words, is_stream=True))
        self.lists = self.updates = self.refreshes = self

    async def close(self) -> None:
        await self._cluster.close()

    async def create(self, pod: Object, inputs: Inputs | None = None) -> Object:
        """Called again with other `inputs`, it updates the copies of a pod that runs."""
        given = inputs or Inputs()
        if refusals := find_refusals(pod):
            raise InvalidInput("; ".join(refusals))
        wanted = build.build_copies(pod, given, self._settings)
        machines = await self._find_machines(given.shape)
        has_links = build.has_links(given)
        body = build.build_pod(pod, self._settings, machines, has_links=has_links, is_gated=bool(wanted))
        await self._creator.create(pod, body, wanted)
        return pod

    async def refresh(self, pod: Object, inputs: Inputs) -> None:
        there = await self._cluster.find(pod)
        if there is None or build.is_gated(there):
            raise NotFound(f"the cluster does not know pod '{pod['metadata']['name']}'")
        found = build.build_copies(pod, inputs, self._settings, is_complete=False)
        await self._creator.refresh(pod, there, found)

    async def delete(self, pod: Object, *, grace_seconds: int | None = None) -> None:
        """Raises `NotYet` while a request to create the pod may still be at work."""
        uid, there = pod["metadata"]["uid"], await self._cluster.find(pod)
        if there is None:
            self._creator.check_settled(uid)
            self._creator.forget(uid)
            return
        is_placed = spec_of(there).get("nodeName") and not is_terminal(there)
        # 0 would remove the pod at once, while its containers may still run.
        grace = max(1, grace_seconds) if grace_seconds is not None and is_placed else grace_seconds
        api, meta = self._cluster.api, there["metadata"]
        with self._cluster.in_our_words():
            await api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=grace)

    async def get(self, pod: Object) -> Object:
        there = await self._cluster.find(pod)
        if there is not None:
            self._cluster.note(there)
        if there is None or build.is_gated(there):
            raise NotFound(f"the cluster does not know pod '{pod['metadata']['name']}'")
        with self._cluster.in_our_words():
            return pod | {"status": self._reduce(pod, there)}

    async def statuses(self, pods: Sequence[Object]) -> dict[str, Object]:
        """One small request, to learn whether the API server answers; the rest is known from a watch."""
        await self._cluster.look()
        told: dict[str, tuple[Object, Object]] = {}
        for pod in pods:
            uid = pod["metadata"]["uid"]
            there = self._cluster.recall(pod)
            if there is None or build.is_gated(there):
                continue
            before = self._told.get(uid)
            if before is not None and before[0] is there and not is_terminating(there):
                told[uid] = before  # most pods, most of the time
                continue
            try:
                with self._cluster.in_our_words():
                    told[uid] = there, self._reduce(pod, there)
            except Unreachable:
                continue  # nonsense about one pod is no news of it
        self._told = told
        return {uid: status for uid, (_, status) in told.items()}

    async def list(self) -> builtins.list[Object]:
        """Also those that wait for their copies."""
        return [_as_found(there) for there in await self._cluster.look() if labels_of(there).get(labels.HOST_UID)]

    async def update(self, pod: Object) -> builtins.list[str]:
        there = await self._cluster.find(pod)
        if there is None:
            raise NotFound(f"the cluster does not know pod '{pod['metadata']['name']}'")
        with self._cluster.in_our_words():
            refused = updates.find_refused(pod, there)
            changes = list(updates.build_patches(pod, there, self._settings))
        for part, patch in changes:
            try:
                with self._cluster.in_our_words():
                    there = await self._patch(there, patch, part)
                    # After it: what was not noted is sent again, and changes nothing then.
                    if note := updates.build_note(there, patch):
                        there = await self._patch(there, note)
            except InvalidInput as error:
                refused.append(error.message)
        self._cluster.note(there)
        return refused

    async def _patch(self, there: Object, patch: Object, part: Part = "") -> Object:
        """A part that API servers do not have, or our account may not patch, is a change that is refused, and no other fault."""
        api, meta = self._cluster.api, there["metadata"]
        body = patch | {"metadata": {"uid": meta["uid"]} | patch.get("metadata", {})}
        try:
            return await api.patch(
                kinds.POD, meta["name"], meta["namespace"], body, subresource=part or None, how="strategic", strict=True
            )
        except Forbidden as error:
            if part and lacks_right(error):
                raise InvalidInput(f"the account in the other cluster may not patch `pods/{part}`") from None
            raise
        except ApiNotFound:
            if part and await api.find(kinds.POD, meta["name"], meta["namespace"]) is not None:
                raise InvalidInput(f"the other cluster is too old to change `pods/{part}`") from None
            raise

    async def discover(self) -> builtins.list[Shape] | None:
        api, own = self._cluster.api, self._settings
        selector = ",".join(f"{key}={value}" for key, value in sorted(own.node_selector.items()))
        with self._cluster.in_our_words():
            nodes, quotas = await together(api.list(kinds.NODE, labels=selector), api.list(kinds.RESOURCE_QUOTA, own.namespace))
            found = find_shapes(nodes, quotas, own.shape_labels)
        self._machines = {item.shape.name: item.machines for item in found}
        return [item.shape for item in found]

    async def _find_machines(self, shape: str) -> Machines:
        """The machines of a shape. Raises `NotYet` if there are none any more."""
        own = self._settings
        if own.own_shapes is not None:
            given = own.own_shapes.get(shape, {})
            return Machines(tuple((key, given[key]) for key in own.shape_labels if key in given))
        if shape in ("", WHOLE):
            return Machines()
        if shape not in self._machines:
            await self.discover()
        if shape not in self._machines:
            raise NotYet(f"the cluster has no machines of shape '{shape}' any more")
        return self._machines[shape]

    async def check(self) -> None:
        await self._cluster.ask()

    def _reduce(self, pod: Object, there: Object) -> Object:
        return reduce.build_status(pod, there, reduce.build_words(pod, self._settings.namespace), self._now())


def _as_found(there: Object) -> Object:
    """A host pod that may be gone, as far as its pod in the cluster tells."""
    own, notes = labels_of(there), annotations_of(there)
    meta = {
        "name": notes.get(labels.NESTED_NAME) or there["metadata"]["name"],
        "namespace": own.get(labels.HOST_NAMESPACE, ""),
        "uid": own[labels.HOST_UID],
        "labels": build.read_labels(there),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": dict(spec_of(there)), "status": {}}

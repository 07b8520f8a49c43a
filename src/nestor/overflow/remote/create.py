"""Creates pods in another cluster, with copies of what they refer to.

A pod that needs copies has a scheduling gate until it has them: they belong to it, so it must be there first. A gated pod that
was left behind is known by its gate not to have run; the next attempt goes on with it.
"""

import logging
import time

from nestor.api import labels, names
from nestor.api.objects import Object, is_terminating
from nestor.api.pod_status import is_terminal
from nestor.kube import Conflict, Kind, kinds
from nestor.kube.tasks import together
from nestor.overflow.remote import build
from nestor.overflow.remote.cluster import Cluster
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet, Unauthorized, Unreachable

log = logging.getLogger(__name__)

_SETTLE_SECONDS = 60.0
"""After a lost answer to a creation: how long the API server may still be busy with it."""
_KINDS: dict[str, Kind] = {"ConfigMap": kinds.CONFIG_MAP, "Secret": kinds.SECRET}


class Creator:
    """Safe to repeat, and to be called concurrently."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._written: dict[str, str] = {}
        """What the copies of pods are, by digest."""
        self._lost: dict[str, float] = {}
        """When the answer to a pod's creation was lost."""

    async def create(self, pod: Object, body: Object, wanted: list[Object]) -> None:
        """Have the pod `body` run with these copies, unless it runs already; then bring its copies up to date."""
        there = await self._create_or_find(pod, body)
        if build.is_gated(there):
            await self._release(pod, there, wanted)
        else:
            await self.refresh(pod, there, wanted)

    async def refresh(self, pod: Object, there: Object, wanted: list[Object]) -> None:
        """Bring the copies of a pod up to date. One that runs is not refused for them."""
        is_ending = is_terminating(there) or is_terminal(there)
        if is_ending or self._written.get(pod["metadata"]["uid"]) == names.digest_json(wanted):
            return
        try:
            await self._write(pod, there, wanted)
        except InvalidInput as error:
            log.warning("copies of pod '%s' are not up to date: %s", pod["metadata"]["name"], error.message)

    def check_settled(self, uid: str) -> None:
        """Raise `NotYet` while the API server may still be at work on a request of ours whose answer was lost."""
        if uid in self._lost and time.monotonic() - self._lost[uid] < _SETTLE_SECONDS:
            raise NotYet("the API server may still be about to create this pod")

    def forget(self, uid: str) -> None:
        self._written.pop(uid, None)
        self._lost.pop(uid, None)

    async def _create_or_find(self, pod: Object, body: Object) -> Object:
        """The pod there, whether this call has made it or an earlier one whose answer was lost."""
        uid, api = pod["metadata"]["uid"], self._cluster.api
        try:
            with self._cluster.in_our_words():
                try:
                    there = await api.create(kinds.POD, body, strict=True)
                except Conflict as error:
                    if not error.already_exists:
                        raise
                    found = await self._cluster.find(pod)
                    if found is None:
                        raise NotYet("an earlier pod with this name has just ended") from None
                    there = found
                self._cluster.note(there)
        except Unreachable:
            self._lost[uid] = time.monotonic()
            raise
        except NotFound as error:
            raise NotYet(f"the cluster takes no pods: {error.message}") from None  # the namespace is missing
        self._lost.pop(uid, None)
        return there

    async def _release(self, pod: Object, there: Object, wanted: list[Object]) -> None:
        """Give a gated pod its copies, and let it run. If it cannot have them, it goes: nobody counts on it."""
        if is_terminating(there):
            raise NotYet("an earlier attempt to run the pod is still ending")
        api, meta = self._cluster.api, there["metadata"]
        gate = {"spec": {"schedulingGates": [{"name": labels.INPUTS_GATE, "$patch": "delete"}]}}
        try:
            await self._write(pod, there, wanted)
            with self._cluster.in_our_words():
                body = {"metadata": {"uid": meta["uid"]}} | gate
                self._cluster.note(await api.patch(kinds.POD, meta["name"], meta["namespace"], body, how="strategic"))
        except (InvalidInput, Unauthorized):
            with self._cluster.in_our_words():
                await api.delete(kinds.POD, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=0)
            raise

    async def _write(self, pod: Object, there: Object, wanted: list[Object]) -> None:
        with self._cluster.in_our_words():
            await together(*(self._cluster.api.apply(_KINDS[copy["kind"]], build.own_copy(copy, there)) for copy in wanted))
        self._written[pod["metadata"]["uid"]] = names.digest_json(wanted)

"""Looks after the gangs of all clusters: what is decided of them is written to the status of their NestedClusters.

Nodes and pods of the host are listed only while a complete gang waits for room, and not kept: most clusters never have one.
"""

import asyncio
import logging
import time

from nestor.api import data, labels, times
from nestor.api.objects import labels_of
from nestor.api.observed import GangStatus
from nestor.kube import ApiError, Change, WorkQueue, kinds
from nestor.kube.tasks import together
from nestor.operator.guest import Guest
from nestor.operator.guests.gangs.decide import Rooms, decide, is_waiting_for_room
from nestor.operator.guests.gangs.observe import Cluster, MemberTrim, Seen, find_gangs, list_clusters, trim_node, trim_pod
from nestor.operator.world.context import Context
from nestor.pods.translate.gang import read_entries
from nestor.pods.translate.gang_room import find_rooms

log = logging.getLogger(__name__)

POLL_SECONDS = 10.0
"""How soon to look again while a gang waits for room or is on its way to its nodes."""
SETTLE_SECONDS = 0.3
"""Pods of a gang come one after another."""
_SHARE = 10
"""Looking at a very large host takes seconds: how many times as long nothing is looked at then."""

_ON_NODES = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"


class GangKeeper(Guest):
    """One for all clusters, because gangs compete for the same nodes."""

    queue: WorkQueue[None]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._took = 0.0
        """Seconds for the last look."""
        self.queue = WorkQueue(self._work, workers=1, name="gangs", first_delay=1, max_delay=POLL_SECONDS)
        context.cache.informers[kinds.POD].on_change(self._on_pod)

    def _on_pod(self, change: Change) -> None:
        if labels.GANG in labels_of(change.latest):
            self.queue.add(None, max(SETTLE_SECONDS, _SHARE * self._took))

    async def run(self) -> None:
        self.queue.add(None)
        await self.queue.run()

    async def _work(self, _: None) -> float | None:
        begin = time.monotonic()
        delay = await self.look()
        self._took = time.monotonic() - begin
        return max(delay, _SHARE * self._took) if delay is not None else None

    async def look(self) -> float | None:
        """Decide about all gangs and write that. Returns when to look again, in seconds; None: when a pod of a gang changes."""
        gangs = await self._find_gangs()
        now = times.now()
        waiting = [seen for seen in gangs if is_waiting_for_room(seen, now)]
        rooms = await self._find_rooms() if waiting else None
        # It may take a while, which nobody else should wait for.
        decided = await asyncio.to_thread(decide, gangs, rooms, now)
        is_written = await self._write(decided)
        entries = [entry for part in decided.values() for entry in part]
        is_unsettled = any(entry.state == "Released" or entry.retry_time for entry in entries)  # time alone may change something
        return POLL_SECONDS if waiting or is_unsettled or not is_written else None

    async def _find_gangs(self) -> list[Seen]:
        cache = self._context.cache
        clusters = list_clusters(cache.clusters, cache.informers[kinds.POD])
        if not clusters:
            return []
        ours = f"{labels.MANAGED_BY}=nestor,{labels.GANG}"
        pods = await self._context.api.list(kinds.POD, labels=ours, trim=MemberTrim(clusters))
        return find_gangs(pods, clusters)

    async def _find_rooms(self) -> Rooms:
        api = self._context.api
        nodes, pods = await together(api.list(kinds.NODE, trim=trim_node), api.list(kinds.POD, fields=_ON_NODES, trim=trim_pod))
        return Rooms(nodes, await asyncio.to_thread(find_rooms, nodes, pods))

    async def _write(self, decided: dict[Cluster, list[GangStatus]]) -> bool:
        """In a patch of its own: the rest of the status is applied by others, and by other parts of the operator. False: some
        could not be written; one cluster's do not keep those of others.
        """
        cache, is_written = self._context.cache, True
        for cluster in cache.clusters:
            meta = cluster["metadata"]
            wanted = {entry.name: entry for entry in decided.get((meta["namespace"], meta["name"]), [])}
            if dict(read_entries(cluster)) != wanted:
                said = [data.write(entry) for entry in wanted.values()]
                patch = {"metadata": {"uid": meta["uid"]}, "status": {"gangs": said or None}}
                try:
                    made = await self._context.api.patch(
                        kinds.NESTED_CLUSTER, meta["name"], meta["namespace"], patch, subresource="status"
                    )
                except ApiError as error:
                    log.warning("gangs of cluster %s/%s cannot be written: %s", meta["namespace"], meta["name"], error)
                    is_written = False
                else:
                    cache.clusters.put(made)
        return is_written

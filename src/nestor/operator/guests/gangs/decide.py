"""Which gangs are let go, and to which place. Pure.

Nothing is reserved for a gang that waits, so no gang can keep another from starting. Those that are on their way to their nodes
have what they request; then the others come, oldest first, each as a whole or not at all.
"""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from nestor.api import data, times
from nestor.api.objects import Object
from nestor.api.observed import GangStatus
from nestor.api.placement import GANG_LIMIT, NodeRequirement
from nestor.operator.guests.gangs.observe import TOO_LARGE, Cluster, Seen, age, describe, list_places
from nestor.operator.oneshot import find_pause
from nestor.pods.translate.gang_room import Fit, Room, find_effort, fit

GANG_EFFORT, CLUSTER_EFFORT = 2_000_000, 20_000_000
"""How many steps of about a microsecond one gang may take to be placed, and all of one cluster."""
_MESSAGE_LIMIT = 4096
START_SECONDS = 120
"""Within which all pods of a gang must have got nodes, once there was room: otherwise all are taken back."""
PAUSE_LIMIT = 3600.0
"""The longest pause after failed rounds, in seconds."""


@dataclass
class Rooms:
    """The nodes, with what is left for the gangs that come next."""

    all: list[Object]
    free: dict[str, Room] = field(default_factory=dict)
    spent: dict[Cluster, int] = field(default_factory=dict)

    def spend(self, seen: Seen, pods: Sequence[Object], places: int) -> bool:
        """Whether these pods of a gang can be tried in so many places. What their owners write must not stop all others."""
        effort, where = find_effort(pods) * len(self.free) * places, (seen.namespace, seen.cluster)
        total = self.spent.get(where, 0) + effort
        if effort > GANG_EFFORT or total > CLUSTER_EFFORT:
            return False
        self.spent[where] = total
        return True


def is_waiting_for_room(seen: Seen, now: datetime.datetime) -> bool:
    """Whether the nodes have to be looked at for the gang, now."""
    entry = advance(seen, now)
    return entry.state == "Waiting" and not _find_obstacle(seen, entry, now)


def decide(gangs: Iterable[Seen], rooms: Rooms | None, now: datetime.datetime) -> dict[Cluster, list[GangStatus]]:
    """All gangs as they are from now on, by namespace and cluster. `rooms`: None if no gang waits for nodes."""
    found = [(seen, advance(seen, now)) for seen in gangs]
    for seen, entry in found if rooms else ():
        if rooms and entry.state == "Released":
            _reserve(seen, entry, rooms)
    decided: dict[Cluster, list[GangStatus]] = {}
    for seen, entry in sorted(found, key=lambda item: _find_rank(item[0])):
        now_is = _place(seen, entry, rooms, now) if entry.state == "Waiting" else entry
        decided.setdefault((seen.namespace, seen.cluster), []).append(now_is)
    return decided


def _find_rank(seen: Seen) -> tuple[str, str, str]:
    """Oldest first. What has no held pod does not matter."""
    held = seen.held
    return (age(held[0])[0] if held else "", seen.namespace, seen.name)


def advance(seen: Seen, now: datetime.datetime) -> GangStatus:
    """The gang as it is without looking at nodes."""
    entry = seen.entry
    if entry is None:
        # Pods that are let go although nothing is known of the gang have been let go in a status that is lost.
        state: Literal["Waiting", "Started"] = "Started" if seen.loose else "Waiting"
        return GangStatus(name=seen.name, gang=seen.title, state=state, since=times.write(now))
    if entry.state == "Released":
        return _advance_released(seen, entry, now)
    if entry.state == "Started" and seen.held and not seen.loose and not seen.done:
        return _restart(entry, now, "")  # all its pods have failed or are being deleted: what comes now is another attempt
    return entry


def _advance_released(seen: Seen, entry: GangStatus, now: datetime.datetime) -> GangStatus:
    there = seen.count_placed(entry.round)
    if there >= seen.size:
        return replace(entry, state="Started", since=times.write(now))
    if entry.since and times.seconds_since(entry.since, now) < START_SECONDS:
        return entry
    retry = now + datetime.timedelta(seconds=find_pause(entry.round, START_SECONDS, PAUSE_LIMIT))
    few = f"{describe(entry.place)} gave nodes to {there} of the {seen.size} pods of gang '{seen.title}': they are taken back"
    return _restart(entry, now, few, times.write(retry))


def _restart(entry: GangStatus, now: datetime.datetime, message: str, retry: str = "") -> GangStatus:
    since = times.write(now)
    return replace(
        entry, state="Waiting", round=entry.round + 1, place="", nodes=[], since=since, message=message, retry_time=retry
    )


def _find_obstacle(seen: Seen, entry: GangStatus, now: datetime.datetime) -> str:
    """Why the gang cannot start yet, whatever room there is; empty if nothing is in its way."""
    if seen.loose:
        return entry.message or f"pods of gang '{seen.title}' from its last attempt still run"
    if len(seen.held) < seen.size:
        return f"only {len(seen.held)} of the {seen.size} pods of gang '{seen.title}' exist"
    if any(TOO_LARGE in pod for pod in seen.held[: seen.size]):
        return _refuse(seen)
    if entry.retry_time and now < times.read(entry.retry_time):
        return f"not all pods of gang '{seen.title}' got nodes when they were let go; it is tried again at {entry.retry_time}"
    return ""


def _refuse(seen: Seen) -> str:
    return f"the pods of gang '{seen.title}' demand too much of nodes to be placed together: use fewer terms, or fewer kinds"


def _place(seen: Seen, entry: GangStatus, rooms: Rooms | None, now: datetime.datetime) -> GangStatus:
    """The gang, let go if one place has room for all of it."""
    if obstacle := _find_obstacle(seen, entry, now):
        return replace(entry, message=obstacle)
    if rooms is None:
        return entry
    pods, tried = seen.held[: seen.size], list[str]()
    places = list_places(seen.placement, rooms.all)
    if not rooms.spend(seen, pods, len(places)):
        return replace(entry, message=_refuse(seen))
    for place, nodes in places.items():
        found = _try(pods, nodes, rooms)
        if found.count == len(pods):
            rooms.free = found.rooms
            message = f"{describe(place)} has room for all {seen.size} pods of gang '{seen.title}'"
            since = times.write(now)
            return replace(entry, state="Released", place=place, nodes=nodes, since=since, message=message, retry_time="")
        tried.append(f"{describe(place)} for {found.count}")
    message = f"no place has room for all {seen.size} pods of gang '{seen.title}': {', '.join(tried)}"
    return replace(entry, message=message[:_MESSAGE_LIMIT])


def _try(pods: Sequence[Object], nodes: Sequence[NodeRequirement], rooms: Rooms) -> Fit:
    return fit(pods, rooms.free, where=[data.write(item) for item in nodes])


def _reserve(seen: Seen, entry: GangStatus, rooms: Rooms) -> None:
    """What a gang on its way to its nodes will use there."""
    coming = [*seen.held, *(pod for pod in seen.loose if not pod["spec"].get("nodeName"))][:GANG_LIMIT]
    if rooms.spend(seen, coming, 1):
        rooms.free = _try(coming, entry.nodes, rooms).rooms

"""Where a nested pod runs: on the host cluster's own nodes, at a backend, or nowhere for now. Decisions for one pod."""

import fnmatch
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nestor.api import data, labels, names
from nestor.api.objects import Object, annotations_of, is_of_daemon_set
from nestor.api.placement import GPU_RESOURCES, Backend, Overflow, Placement, ResourceRule
from nestor.api.quantities import parse_quantity
from nestor.pods.translate.container_status import RUN, list_containers
from nestor.pods.translate.volumes import find_claims

Where = Literal["Host", "HostFirst", "Backend", "Wait"]
"""`HostFirst`: on the host cluster's own nodes if one has room, otherwise at a backend."""


@dataclass(frozen=True)
class Batch:
    """The nested Job of a pod, as far as its pods' places depend on it."""

    completions: int
    here: int = 0
    """How many of its other pods are on the host cluster's own nodes, or may still get one."""
    away: int = 0
    """How many are at backends."""


@dataclass(frozen=True)
class Place:
    """Where one pod runs, and why if it is not what the class's mode says."""

    where: Where
    reason: str = ""
    backends: tuple[Backend, ...] = ()
    """Those that are possible."""


_HOST = Place("Host")


def decide_place(pod: Object, placement: Placement, batch: Batch | None = None) -> Place:
    """Where the pod runs. `batch`: its Job, if that has a number of completions."""
    overflow = placement.overflow
    if overflow is None:
        return _HOST
    if is_of_daemon_set(pod):
        return Place("Host", "a DaemonSet has one pod for each node")
    wanted, reason = _find_wish(pod, placement, overflow, batch)
    if wanted != "Host" and (find_claims(pod) or pod["spec"].get("resourceClaims")):
        why = "backends have no persistent volumes" if find_claims(pod) else "backends have none of the ResourceClaims' devices"
        return Place("Wait", f"it has to run at a backend, but {why}") if wanted == "Backend" else Place("Host", why)
    if not overflow.backends:
        return Place("Wait", "it has to run at a backend, and none is allowed") if wanted == "Backend" else _HOST
    if batch is not None and (wanted == "Backend" or overflow.mode != "Never"):
        wanted, reason = _limit(wanted, reason, overflow, batch)
    backends = () if wanted in ("Host", "Wait") else tuple(overflow.backends)
    return Place("Host" if wanted == "HostFirst" and not backends else wanted, reason, backends)


def _find_wish(pod: Object, placement: Placement, overflow: Overflow, batch: Batch | None) -> tuple[Where, str]:
    """Before the number of its Job's pods is looked at."""
    gpus = find_gpus(pod)
    if gpus and overflow.gpu != "Any":
        return overflow.gpu, f"it requests '{gpus[0]}'"
    if overflow.mode == "Never":
        return "Host", ""
    trigger = overflow.completions_trigger
    if batch is not None and 0 < trigger <= batch.completions:
        return "Backend", f"its Job has {batch.completions} completions, and those with {trigger} or more run at a backend"
    return ("Backend" if overflow.mode == "Always" else "HostFirst"), ""


def _limit(wanted: Where, reason: str, overflow: Overflow, batch: Batch) -> tuple[Where, str]:
    """By the number of pods that its Job has in each place."""
    here, away = overflow.local_parallelism, overflow.backend_parallelism
    is_full_here, is_full_away = 0 < here <= batch.here, 0 < away <= batch.away
    local = f"{batch.here} pods of its Job are in the host cluster, and the limit is {here}"
    remote = f"{batch.away} pods of its Job are at backends, and the limit is {away}"
    if wanted == "HostFirst" and is_full_here != is_full_away:
        return ("Backend", local) if is_full_here else ("Host", remote)
    if wanted != "Backend" and is_full_here:
        return "Wait", local if wanted == "Host" else f"{local}; {remote}"
    if wanted == "Backend" and is_full_away:
        return "Wait", remote
    return wanted, reason


def find_gpus(pod: Object) -> list[str]:
    return [name for name in list_extended_resources(pod) if any(fnmatch.fnmatchcase(name, item) for item in GPU_RESOURCES)]


def find_rules(pod: Object, placement: Placement) -> list[ResourceRule]:
    requested = list_extended_resources(pod)
    return [item for item in placement.extended_resources if any(fnmatch.fnmatchcase(name, item.name) for name in requested)]


def list_extended_resources(pod: Object) -> list[str]:
    return sorted({name for name in _find_requested(pod["spec"]) if "/" in name and not labels.is_reserved(name)})


def _find_requested(spec: Object) -> Iterator[str]:
    for part in (spec, *(container for _, container in list_containers(spec, RUN))):
        for side in ("requests", "limits"):
            for name, amount in ((part.get("resources") or {}).get(side) or {}).items():
                if parse_quantity(str(amount)) > 0:
                    yield name


def is_counting(placement: Placement) -> bool:
    found = placement.overflow
    return found is not None and bool(found.completions_trigger or found.local_parallelism or found.backend_parallelism)


def build_mark(placement: Placement, place: Place | None = None) -> dict[str, str]:
    """The annotations that say under which rules a host pod is made, and for which place; none if there are no rules."""
    if placement == Placement():
        return {}
    # The same for the same rules, whichever version writes it: it is compared with that of running pods.
    text = json.dumps(data.write_changed(placement), separators=(",", ":"), ensure_ascii=False)
    found = {labels.PLACEMENT: names.digest(text, length=16)}
    if place is not None and placement.overflow is not None:
        found |= {labels.PLACE: place.where} | ({labels.PLACE_REASON: place.reason} if place.reason else {})
        if place.backends and placement.overflow.pending_seconds:
            found[labels.PENDING_SECONDS] = str(placement.overflow.pending_seconds)
        if place.where == "HostFirst" and placement.overflow.backend_resources is not None:
            found[labels.BACKEND_RESOURCES] = json.dumps(data.write(placement.overflow.backend_resources))
    return found


def explain(host: Object) -> str:
    notes = annotations_of(host)
    # The scheduler does not say why it took none of the others: room is only one of its reasons.
    default = "no node of the host cluster could take it"
    if notes.get(labels.PLACE) == "Backend":
        default = "the rules send all pods there"
    return notes.get(labels.PLACE_REASON, default)


def is_outdated(host: Object, placement: Placement) -> bool:
    """Whether a host pod that has no node yet was made under other rules."""
    found = annotations_of(host).get(labels.PLACEMENT)
    return not host["spec"].get("nodeName") and found != build_mark(placement).get(labels.PLACEMENT)

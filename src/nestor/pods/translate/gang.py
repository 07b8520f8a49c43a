"""What host pods have of their gang: how Nestor holds them, lets them go and takes them back, or their PodGroup of the host's."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping

from nestor.api import data, labels, names, times
from nestor.api.objects import Object, annotations_of
from nestor.api.observed import GangStatus
from nestor.api.placement import Gang
from nestor.pods.translate.gang_claims import Membership
from nestor.pods.translate.gang_room import REQUIRED
from nestor.pods.translate.placement import Place
from nestor.pods.translate.target import Target

GATE = {"name": labels.GANG}
"""Holds a host pod until its gang is let go."""

WAITING = "GangWaiting"
"""Reason of a nested pod's condition and event: its gang waits until one place has room for all of it."""
TAKEN_BACK = "GangTakenBack"
"""Reason of a nested pod that failed because its gang could not start as a whole."""


def build_hold(membership: Membership) -> Object:
    """What a host pod has that is held for its gang: labels, annotations, and fields of the spec."""
    return {
        "labels": {labels.GANG: membership.key},
        "annotations": {labels.GANG_NAME: membership.title, labels.GANG_SIZE: str(membership.size)},
        "spec": {"schedulingGates": [GATE]},
    }


def join_host(host: Object, membership: Membership, rules: Gang) -> Object:
    """The host pod as one of its gang."""
    if rules.scheduler == "Kubernetes":
        return host | {"spec": host["spec"] | {"schedulingGroup": {"podGroupName": name_group(membership)}}}
    hold, meta = build_hold(membership), host["metadata"]
    joined = {key: {**meta[key], **hold[key]} for key in ("labels", "annotations")}
    return host | {"metadata": meta | joined, "spec": host["spec"] | hold["spec"]}


def is_held(host: Object) -> bool:
    """Whether a host pod is held for its gang."""
    return GATE in (host["spec"].get("schedulingGates") or [])


def build_release(host: Object, entry: GangStatus) -> Object:
    """A strategic merge patch that lets a held host pod go, to its gang's place alone.

    API servers let the gates of a pod only be removed, and its node affinity only be narrowed, term by term.
    """
    wanted = [data.write(item) for item in entry.nodes]
    spec: Object = {"schedulingGates": [{"$patch": "delete", **GATE}]}
    required = ((host["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    if wanted:
        terms = [narrow(term, wanted) for term in required.get("nodeSelectorTerms") or []] or [{"matchExpressions": wanted}]
        spec["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    notes = {labels.GANG_ROUND: str(entry.round), labels.PLACE_REASON: entry.message}
    return {"metadata": {"annotations": notes}, "spec": spec}


def narrow(term: Object, wanted: list[Object]) -> Object:
    """A term with further requirements. One without any matches no node, and stays so."""
    if not term.get("matchExpressions") and not term.get("matchFields"):
        return term
    return term | {"matchExpressions": [*(term.get("matchExpressions") or []), *wanted]}


def is_taken_back(host: Object, entry: GangStatus | None) -> bool:
    """Whether the host pod was let go in a round that has failed since."""
    text = annotations_of(host).get(labels.GANG_ROUND, "")
    if entry is None or entry.state != "Waiting" or is_held(host) or not text.isdecimal():
        return False
    return int(text) < entry.round


def explain_wait(host: Object, entry: GangStatus | None) -> str:
    """Why a held host pod is held."""
    if entry is not None and entry.state == "Waiting" and entry.message:
        return entry.message
    title, size = (annotations_of(host).get(key, "") for key in (labels.GANG_NAME, labels.GANG_SIZE))
    return f"waiting for a place with room for all {size} pods of gang '{title}'"


def keep_together(place: Place) -> Place:
    """The place of a pod whose gang the host's scheduler holds together. It knows no places: there may be one only."""
    if place.where == "HostFirst":
        return Place("Host", "the host cluster's scheduler holds its gang together")
    return Place(place.where, place.reason, tuple(sorted(place.backends, key=lambda item: -item.weight)[:1]))


def name_group(membership: Membership) -> str:
    """The name of a gang's PodGroup, whatever characters users have put into that of the gang."""
    readable = re.sub("[^a-z0-9]+", "-", membership.title.lower()).strip("-")
    return names.join_limited([readable], membership.key)


def build_group(membership: Membership, target: Target) -> Object:
    """The PodGroup of a gang that the host's scheduler holds together."""
    marks = {**target.labels, labels.MANAGED_BY: "nestor", **target.scope(None), labels.GANG: membership.key}
    return {
        "metadata": {
            "name": name_group(membership),
            "namespace": target.namespace,
            "labels": marks,
            "ownerReferences": [{key: value for key, value in target.owner.items() if key != "controller"}],
        },
        "spec": {"schedulingPolicy": {"gang": {"minCount": membership.size}}},
    }


def find_group(host: Object) -> str:
    """The PodGroup that a host pod is in; empty if none."""
    return (host["spec"].get("schedulingGroup") or {}).get("podGroupName") or ""


def read_entries(cluster: Object | None) -> Mapping[str, GangStatus]:
    """The gangs in a NestedCluster's status, by key."""
    found = ((cluster or {}).get("status") or {}).get("gangs") or []
    entries = {}
    for item in found:
        with contextlib.suppress(ValueError):  # another version's: it is decided anew
            entry = data.read(GangStatus, item)
            for text in filter(None, (entry.since, entry.retry_time)):
                times.read(text)
            entries[entry.name] = entry
    return entries

"""Builds the status of a virtual Node. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nestor import __version__
from nestor.api.objects import Object, status_of
from nestor.api.quantities import parse_quantity

FULL = "nestor.dev/Full"
"""Condition of a Node whose backend has left pods Pending for too long: for a while, it has no room for others."""
_MESSAGE_LIMIT = 1000
_HEALTHY = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "the backend looks after its machines' memory"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "the backend looks after its machines' disks"),
    "PIDPressure": ("KubeletHasSufficientPID", "the backend looks after its machines' processes"),
    "NetworkUnavailable": ("NoNetwork", "pods at the backend are not in the cluster's network"),
}


@dataclass(frozen=True)
class NodeFacts:
    capacity: Mapping[str, str]
    address: str
    port: int
    server_version: str
    """That of the host's API server: kubectl and schedulers compare it with their own."""
    architecture: str = ""


def build_status(facts: NodeFacts, problem: tuple[str, str] | None, room: int | None, time: str) -> Object:
    """The whole status. `problem`: why the backend does not answer, if so. `room`: how many pods it may have at the moment; None
    means as many as `capacity` says.

    A backend that does not answer makes Ready Unknown, as does the Lease that is not renewed: so the reason stays.
    """
    capacity = dict(facts.capacity)
    allocatable = capacity if room is None else capacity | {"pods": str(room)}
    if problem is None:
        ready = _condition("Ready", "True", "BackendAnswers", "the backend answers", time)
    else:
        ready = _condition("Ready", "Unknown", *problem, time)
    others = [_condition(kind, "False", reason, message, time) for kind, (reason, message) in _HEALTHY.items()]
    full = ("False", "Room", "")
    if room is not None:
        full = ("True", "PodsHeldBack", "the backend has left pods waiting for too long")
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "conditions": [ready, *others, _condition(FULL, *full, time)],
        "addresses": [{"type": "InternalIP", "address": facts.address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": facts.port}},
        "nodeInfo": _build_info(facts),
    }


def build_patch(node: Object, desired: Object) -> Object | None:
    """A strategic merge patch from the node's status, which others change too, to `desired`; None if nothing differs."""
    now, patch = status_of(node), dict[str, Any]()
    for field in ("capacity", "allocatable"):
        there = now.get(field) or {}
        changed: Object = {key: value for key, value in desired[field].items() if not _is_same(there.get(key), value)}
        changed |= {key: None for key in there if key not in desired[field]}
        if changed:
            patch[field] = changed
    conditions = {item["type"]: item for item in now.get("conditions") or []}
    if changed_conditions := [item for item in desired["conditions"] if _differs(conditions.get(item["type"]), item)]:
        patch["conditions"] = [_keep_time(conditions.get(item["type"]), item) for item in changed_conditions]
    if now.get("addresses") != desired["addresses"]:
        patch["addresses"] = [*desired["addresses"], {"$patch": "replace"}]
    if now.get("daemonEndpoints") != desired["daemonEndpoints"]:
        patch["daemonEndpoints"] = desired["daemonEndpoints"]
    if any((now.get("nodeInfo") or {}).get(key) != value for key, value in desired["nodeInfo"].items()):
        patch["nodeInfo"] = desired["nodeInfo"]
    return {"status": patch} if patch else None


def _build_info(facts: NodeFacts) -> Object:
    base = facts.server_version.partition("+")[0].partition("-")[0]
    empty = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeProxyVersion")
    return dict.fromkeys(empty, "") | {
        "operatingSystem": "linux",
        "architecture": facts.architecture or "amd64",
        "kubeletVersion": f"{base}-nestor-{__version__}",
    }


def _condition(kind: str, status: str, reason: str, message: str, time: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message[:_MESSAGE_LIMIT],
        "lastHeartbeatTime": time,
        "lastTransitionTime": time,
    }


def _is_same(there: str | None, value: str) -> bool:
    """API servers write quantities in their own way: `1000` comes back as `1k`."""
    return there == value or (there is not None and parse_quantity(there) == parse_quantity(value))


def _differs(there: Object | None, item: Object) -> bool:
    return there is None or any((there.get(key) or "") != item[key] for key in ("status", "reason", "message"))


def _keep_time(there: Object | None, item: Object) -> Object:
    is_same = there is not None and there.get("status") == item["status"] and there.get("lastTransitionTime")
    return item | {"lastTransitionTime": there["lastTransitionTime"]} if there is not None and is_same else item

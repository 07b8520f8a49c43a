"""The status of a pod in another cluster, as one of its host pod: with its names here, and the end of what ends there. Pure.

The virtual node checks it, and takes only what a kubelet sets.
"""

import datetime
from collections.abc import Mapping
from typing import Any

from nestor.api import names, times
from nestor.api.conditions import is_true
from nestor.api.objects import Object, is_terminating, spec_of, status_of
from nestor.overflow.statuses import items_of
from nestor.pods.translate import volumes
from nestor.pods.translate.config import find_references
from nestor.pods.translate.container_status import STATUSES, build_placeholder, end_container
from nestor.pods.translate.messages import translate

LOST_SECONDS = 60.0
"""How long after its grace period a pod counts as lost that ends on a node which does not answer."""
NODE_LOST = "NodeLost"

_TEXTS = ("phase", "reason", "message")
_CONDITIONS = ("PodScheduled", "DisruptionTarget", "PodResizePending", "PodResizeInProgress")
"""The others follow from the statuses of containers: the virtual node finds them itself."""
_UNKNOWN = "The pod's end was not reported by its node"
_NODE_LOST = "The pod's node in the other cluster does not answer"

Words = dict[str, str]


def build_words(pod: Object, namespace: str) -> Words:
    """The names there that texts about a pod may have, and what its owner calls them. `namespace` is that of the pods there."""
    meta = pod["metadata"]
    words = {names.remote_input(item.name, meta["uid"]): item.name for item in find_references(pod)}
    name = names.remote_pod(meta["name"], meta["uid"])
    words[volumes.token_secret_name(pod)] = "service account token"
    return words | {name: meta["name"], f'"{namespace}/': f'"{meta["namespace"]}/', f"({namespace}/": f"({meta['namespace']}/"}


def build_status(pod: Object, there: Object, words: Words, now: datetime.datetime) -> Object:
    """The host pod's status. `there`: the pod in the other cluster; `words`: see `build_words`."""
    own = status_of(there)
    result: Object = {key: own[key] for key in _TEXTS if isinstance(own.get(key), str)}
    result.setdefault("phase", "Pending")
    if "message" in result:
        result["message"] = translate(result["message"], words)
    told = [item for item in items_of(own.get("conditions")) if item.get("type") in _CONDITIONS]
    result["conditions"] = [_translate(item, words) for item in told]
    for group, field in STATUSES.items():
        names = {item["name"] for item in spec_of(pod).get(group) or []}
        items = [item for item in items_of(own.get(field)) if item.get("name") in names]
        if names:
            result[field] = [_build_container(item, words) for item in items]
    if _is_node_lost(own):
        result = _lose_node(result, there, now)
    return _end(pod, result, times.write(now)) if result["phase"] == "Failed" else result


def _is_node_lost(own: Object) -> bool:
    """Node controllers take a pod's readiness away if its node does not answer, and leave that of its containers."""
    conditions = items_of(own.get("conditions"))
    known = {item.get("type"): item.get("status") for item in conditions}
    return own.get("phase") == "Running" and known.get("Ready") == "False" and is_true(conditions, "ContainersReady")


def _lose_node(status: Object, there: Object, now: datetime.datetime) -> Object:
    """Not ready; and if the other cluster has given the pod up, because its node is lost, it has failed."""
    for field in STATUSES.values():
        if field in status:
            status[field] = [item | {"ready": False} for item in status[field]]
    status |= {"reason": NODE_LOST, "message": _NODE_LOST}
    if not is_terminating(there) or _find_delay(there, now) < LOST_SECONDS:
        return status
    time = str(there["metadata"]["deletionTimestamp"])
    for field in STATUSES.values():
        if field in status:
            status[field] = [end_container(item, _NODE_LOST, time) for item in status[field]]
    others = [item for item in status["conditions"] if item["type"] != "DisruptionTarget"]
    lost = {"type": "DisruptionTarget", "status": "True", "reason": NODE_LOST, "message": _NODE_LOST}
    return status | {"phase": "Failed", "conditions": [*others, lost | {"lastTransitionTime": time}]}


def _find_delay(there: Object, now: datetime.datetime) -> float:
    """Seconds since the pod should have ended: its `deletionTimestamp` is when its grace period is over."""
    try:
        return (now - times.read(there["metadata"]["deletionTimestamp"])).total_seconds()
    except (TypeError, ValueError):
        return 0.0


def _end(pod: Object, status: Object, time: str) -> Object:
    """No container of a pod that has failed runs on, even if its node has not said so: those of evicted pods for example."""
    named = {item["name"]: item for item in status.get("containerStatuses") or []}
    items = [named.get(item["name"]) or build_placeholder(item) for item in spec_of(pod)["containers"]]
    status["containerStatuses"] = [end_container(item, _UNKNOWN, _end_of(status, time)) for item in items]
    first = status.get("initContainerStatuses") or []
    if first:
        ended = [end_container(item, _UNKNOWN, _end_of(status, time)) if "running" in item["state"] else item for item in first]
        status["initContainerStatuses"] = ended
    return status


def _end_of(status: Object, otherwise: str) -> str:
    """When the pod has ended: a time that does not change from one look to the next."""
    known = [item["lastTransitionTime"] for item in status["conditions"] if item.get("lastTransitionTime")]
    return max(known, default=otherwise)


def _build_container(item: Object, words: Words) -> Object:
    result = dict(item)
    for field in ("state", "lastState"):
        states = result.get(field)
        result[field] = {
            name: _translate(state, words)
            for name, state in (states.items() if isinstance(states, Mapping) else ())
            if isinstance(state, Mapping)
        }
    return result


def _translate(state: Mapping[str, Any], words: Words) -> Object:
    found = dict(state)
    if isinstance(found.get("message"), str):
        found["message"] = translate(found["message"], words)
    return found

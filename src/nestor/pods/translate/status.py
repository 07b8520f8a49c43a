"""Builds a nested pod's status from its host pod."""

from collections.abc import Collection, Iterator, Mapping

from nestor.api import conditions as known
from nestor.api import labels, times
from nestor.api.objects import Object, annotations_of, conditions_of, spec_of, status_of
from nestor.api.pod_status import TERMINAL
from nestor.pods.translate import messages
from nestor.pods.translate.container_status import STATUSES, end_container
from nestor.pods.translate.target import Target

# Left out: `qosClass` (immutable, set by the nested server).
_FIELDS = ("phase", "reason", "message", "startTime", "hostIP", "podIP")
_GENERATION = "observedGeneration"
_RESOURCES = ("resources", "allocatedResources")
_BY_IP = ("hostIPs", "podIPs")
_CONTAINERS = tuple(STATUSES.values())

_KUBELET = frozenset({
    "PodScheduled", "Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers", "DisruptionTarget",
    "PodResizePending", "PodResizeInProgress", "AllContainersRestarting",
})  # fmt: skip
"""Conditions that only the host sets. A tenant that names one as a readiness gate must not be able to write it."""

_REMOVABLE = _KUBELET - {"PodScheduled", "DisruptionTarget"}
"""Conditions that go when the host's kubelet takes them away. The nested API server sets the other two as well, on a binding and
on an eviction.
"""

Added = Mapping[str, Collection[str]]
"""Names of resources that only the host's container has, by `requests` and `limits`."""

_SIDES = ("requests", "limits")

_LOST = "The pod was removed from the host cluster."


def is_bound(pod: Object) -> bool:
    """True if the syncer has bound this nested pod. A pod that sets `nodeName` itself does not count until then."""
    scheduled = known.is_true(conditions_of(pod), "PodScheduled")
    return bool(pod["spec"].get("nodeName")) and scheduled


def build_status(nested: Object, host: Object, target: Target) -> Object:
    """The status of the nested pod while its host pod is `host`."""
    words = messages.build_words(nested, target, host)
    own = status_of(host)
    result = {key: own[key] for key in (*_FIELDS, *_BY_IP, *_RESOURCES) if key in own}
    if "message" in result:
        result["message"] = messages.translate(result["message"], words)
    for group, field in STATUSES.items():
        if field in own:
            added = _find_added(nested, host, group)
            result[field] = [_container(item, words, added.get(item["name"], {})) for item in own[field]]
    gates, observed = find_gates(nested), _find_observed(host)
    kept = [item for item in own.get("conditions") or [] if item["type"] not in gates]
    result["conditions"] = [_condition(item, words) | _observed_by(item, host, observed) for item in kept]
    return result | _observed_by(own, host, observed)


def _find_observed(host: Object) -> int | None:
    """The generation of the nested pod that the newest generation of the host pod stands for; None if that is not known."""
    text = annotations_of(host).get(labels.NESTED_GENERATION, "")
    return int(text) if text.isdecimal() else None


def build_lost(nested: Object, last: Object | None, target: Target, time: str) -> Object:
    """The status of a pod whose host pod was deleted: its last one, turned into Failed unless it had ended already.

    A nested pod that stayed Running would never be replaced by its ReplicaSet.
    """
    result = build_status(nested, last, target) if last is not None else dict(status_of(nested))
    if result.get("phase") in TERMINAL:
        return result
    result["phase"] = "Failed"
    result["reason"] = result.get("reason") or "HostPodDeleted"
    result["message"] = result.get("message") or _LOST
    for group in _CONTAINERS:
        if group in result:
            result[group] = [end_container(item, _LOST, time) for item in result[group]]
    over = [known.Condition(kind, "False", "PodFailed", result["message"]) for kind in ("Ready", "ContainersReady")]
    result["conditions"] = without_generation(known.merge(result.get("conditions") or [], over, 0, time))
    return result


def build_disrupted(nested: Object, host: Object, target: Target, reason: str, message: str) -> Object:
    """The status of a pod that we end, for no fault of its own: failed, so that its controller replaces it."""
    last, now = host | {"status": {**status_of(host), "reason": reason, "message": message}}, times.timestamp()
    result = build_lost(nested, last, target, now)
    why = known.Condition("DisruptionTarget", "True", reason, message)
    return result | {"conditions": without_generation(known.merge(result["conditions"], [why], 0, now))}


def explain_gate(desired: Object, reason: str, message: str) -> Object:
    """The status of a pod whose host pod is held, with why that is so. The host says no more than that it is."""
    conditions = [
        item | {"reason": reason, "message": message} if item["type"] == "PodScheduled" and item["status"] == "False" else item
        for item in desired["conditions"]
    ]
    return desired | {"conditions": conditions}


def build_waiting(nested: Object, reason: str, message: str, time: str) -> Object:
    """The status of a pod that cannot get a host pod: Pending, with the reason in PodScheduled."""
    why = known.Condition("PodScheduled", "False", reason, message)
    merged = known.merge(conditions_of(nested), [why], 0, time)
    return {"phase": "Pending", "conditions": without_generation(merged)}


def build_patch(nested: Object, desired: Object, *, partial: bool = False) -> Object | None:
    """A strategic merge patch from the nested pod's status to `desired`, or None if nothing differs.

    Conditions are merged by type, so those set by nested controllers stay. Fields missing from `desired` are removed,
    unless `partial`. The UID makes the server reject the patch for a later pod with the same name.
    """
    now = status_of(nested)
    plain = (*_FIELDS, *_CONTAINERS, _GENERATION)
    status: Object = {key: desired[key] for key in plain if key in desired and desired[key] != now.get(key)}
    for key in _BY_IP:
        if key in desired and desired[key] != now.get(key):
            # A plain merge, by address, would keep the addresses of an earlier sandbox.
            status[key] = [*desired[key], {"$patch": "replace"}]
    for key in _RESOURCES:
        if key in desired and desired[key] != now.get(key):
            status[key] = desired[key] | {"$patch": "replace"}
    if not partial:
        every = (*_FIELDS, *_BY_IP, *_CONTAINERS, *_RESOURCES)
        status |= {key: None for key in every if key in now and key not in desired}
    if changed := list(_change_conditions(now.get("conditions") or [], desired["conditions"], partial=partial)):
        status["conditions"] = changed
    return {"metadata": {"uid": nested["metadata"]["uid"]}, "status": status} if status else None


def find_dropped(patch: Object, answer: Object) -> set[str]:
    """Fields that the nested API server has not taken from a patch, because its version does not know them."""
    asked = {key for key in (_GENERATION, *_RESOURCES) if patch["status"].get(key) not in (None, {"$patch": "replace"})}
    return asked - status_of(answer).keys()


def without_fields(status: Object, fields: Collection[str]) -> Object:
    """The status without these fields; without `observedGeneration`, its conditions have none either."""
    result = {key: value for key, value in status.items() if key not in fields}
    return result | {"conditions": without_generation(status["conditions"])} if _GENERATION in fields else result


def without_binding(status: Object) -> Object:
    """The status of a pod that was just bound, without what the binding has written itself."""
    return status | {"conditions": [item for item in status["conditions"] if item["type"] != "PodScheduled"]}


def find_gates(pod: Object) -> set[str]:
    """Condition types in `readinessGates` that users may set on this pod: not the kubelet's, nor Nestor's own."""
    found = {item["conditionType"] for item in pod["spec"].get("readinessGates") or []}
    return {kind for kind in found - _KUBELET if not labels.is_ours(kind)}


def build_gates(nested: Object, host: Object) -> Object | None:
    """A patch that copies the readiness gates' conditions to the host pod, whose kubelet computes Ready; None if unchanged."""
    gates = find_gates(nested)
    there = without_generation(conditions_of(host))
    wanted = without_generation(conditions_of(nested))
    changed = [item for item in wanted if item["type"] in gates and item not in there]
    if not changed:
        return None
    return {"metadata": {"uid": host["metadata"]["uid"]}, "status": {"conditions": changed}}


def _change_conditions(now: list[Object], desired: list[Object], *, partial: bool) -> Iterator[Object]:
    """Patches of single conditions. An unknown `observedGeneration` stays as it is."""
    before = {item["type"]: item for item in now}
    for item in desired:
        there = before.get(item["type"], {})
        if _GENERATION not in item:
            (there,) = without_generation([there])
        if there != item and not _is_bound_alike(there, item):
            # With null for fields to remove: a strategic merge keeps unnamed fields of a list item.
            yield {key: None for key in there if key not in item} | item
    if not partial:
        for kind in sorted((before.keys() & _REMOVABLE) - {item["type"] for item in desired}):
            yield {"type": kind, "$patch": "delete"}


def _is_bound_alike(there: Object, item: Object) -> bool:
    """Whether these differ only in when each API server has seen its pod bound."""
    is_bound = item["type"] == "PodScheduled" and item["status"] == "True"
    return is_bound and there | {"lastTransitionTime": item.get("lastTransitionTime")} == item


def _observed_by(part: Object, host: Object, observed: int | None) -> Object:
    """`observedGeneration` of a host pod's status or condition, as one of the nested pod; empty if it is not up to date."""
    is_newest = part.get(_GENERATION) is not None and part[_GENERATION] == host["metadata"].get("generation")
    return {_GENERATION: observed} if observed is not None and is_newest else {}


def _condition(condition: Object, words: dict[str, str]) -> Object:
    result = {key: value for key, value in condition.items() if key != "observedGeneration"}
    if result.get("message"):
        result["message"] = messages.translate(result["message"], words)
    return result


def without_generation(conditions: list[Object]) -> list[Object]:
    """Without `observedGeneration`, which API servers of other versions may not know."""
    return [{key: value for key, value in item.items() if key != "observedGeneration"} for item in conditions]


def _container(status: Object, words: dict[str, str], added: Added) -> Object:
    result = dict(status)
    if "resources" in result:
        result["resources"] = _hide_added(status["resources"], added)
    if "allocatedResources" in result:
        result["allocatedResources"] = _without(status["allocatedResources"], added.get("requests"))
    for field in ("state", "lastState"):
        result[field] = {
            name: state | {"message": messages.translate(state["message"], words)} if state.get("message") else state
            for name, state in (status.get(field) or {}).items()
        }
    return result


def _find_added(nested: Object, host: Object, group: str) -> dict[str, Added]:
    """What the host's LimitRange has added to the containers of a group, such as `containers`, by their names.

    Statuses leave it out: otherwise a resize would seem not to come to its end, as what is in force differs from what was asked.
    """
    own = {item["name"]: item.get("resources") or {} for item in spec_of(nested).get(group) or []}
    there = {item["name"]: item.get("resources") or {} for item in spec_of(host).get(group) or []}
    return {
        name: {side: (there[name].get(side) or {}).keys() - (own[name].get(side) or {}).keys() for side in _SIDES}
        for name in own.keys() & there.keys()
    }


def _hide_added(resources: Object, added: Added) -> Object:
    """The `resources` of a container's status without what the host has added. A side of which nothing is left is left out."""
    result = dict(resources)
    for side in _SIDES:
        if side not in resources:
            continue
        if kept := _without(resources[side], added.get(side)):
            result[side] = kept
        else:
            result.pop(side)
    return result


def _without(amounts: Object, names: Collection[str] | None) -> Object:
    return {key: amount for key, amount in amounts.items() if key not in (names or ())}

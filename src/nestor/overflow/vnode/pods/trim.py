"""What is kept in memory of a pod: anyone may have large ones bound to a virtual node. Pure.

Most pods are kept as they are, but for what nobody reads. Of a large one, only what decisions need is kept: it is read anew when
it is sent. A very large one is not sent.
"""

import json
from collections.abc import Iterable

from nestor.api import labels, names
from nestor.api.contracts.vnode import SENT
from nestor.api.objects import (
    Object,
    annotations_of,
    conditions_of,
    keep_few,
    labels_of,
    owners_of,
    spec_of,
    status_of,
    without_managers,
)

WHOLE_LIMIT = 8 * 1024
"""Bytes as JSON of a pod that is kept whole. In memory, it may have ten times as much."""
SENT_LIMIT = 256 * 1024
"""The same of a pod that is sent."""
FEW = 50
"""Containers of each group, readiness gates, and conditions of others, of a large pod that is sent."""
_NOTES_LIMIT = 1024
"""Characters of all labels, and of all annotations, of a large pod."""
_TEXT_LIMIT = 256
_SIZES_LIMIT = 512
"""Bytes as JSON of a container's requests and limits."""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CUT = "cut"
"""Key of a pod of which not all is kept: its size, why it cannot be sent, if so, and digests of what can change."""
_TYPE = ("apiVersion", "kind")
_META = (
    *("name", "namespace", "uid", "resourceVersion", "generation", "generateName", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
_SPEC = ("nodeName", "restartPolicy", "serviceAccountName", "terminationGracePeriodSeconds", "activeDeadlineSeconds")
_LISTS = ("initContainers", "containers", "ephemeralContainers", "readinessGates")
_ITEM = ("name", "image", "restartPolicy", "conditionType")
_OURS = frozenset(
    {"PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "DisruptionTarget", SENT}
)
"""Conditions that only the scheduler and this process write."""
_OWNER = ("apiVersion", "kind", "name", "uid", "controller")


def trim_pod(pod: Object) -> Object:
    """The pod without who wrote which field, which is half of it, and without a second copy of itself; a large one cut."""
    whole = clean(pod)
    size = len(json.dumps(whole))
    return whole if size <= WHOLE_LIMIT else _cut(whole, size)


def clean(pod: Object) -> Object:
    """The pod without what no backend reads."""
    kept, annotations = without_managers(pod), annotations_of(pod)
    if _LAST_APPLIED in annotations:
        kept["metadata"]["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    return kept


def is_cut(pod: Object) -> bool:
    return _CUT in pod


def find_size(pod: Object) -> int:
    """About how many bytes the pod has, if they are many; 0 otherwise."""
    size: int = pod[_CUT]["size"] if _CUT in pod else 0
    return size


def find_excess(pod: Object) -> str:
    """Why the pod is too large to be sent; empty if it is not."""
    excess: str = pod[_CUT]["excess"] if _CUT in pod else ""
    return excess


def find_changeable(pod: Object) -> dict[str, str]:
    """Digests of what of the pod can change while it runs, and means something at a backend."""
    if _CUT in pod:
        kept: dict[str, str] = pod[_CUT]["changeable"]
        return kept
    return {key: names.digest_json(value) for key, value in _read_changeable(pod).items()}


def _read_changeable(pod: Object) -> Object:
    """What can change: `notes`, which are labels and annotations; `spec`; and the names of `debug` containers."""
    spec = pod["spec"]
    own: Object = {key: spec[key] for key in ("activeDeadlineSeconds", "resources") if key in spec}
    for group in ("containers", "initContainers"):
        own[group] = [{key: item.get(key) for key in ("name", "image", "resources")} for item in spec.get(group) or []]
    return {
        "notes": [labels_of(pod), annotations_of(pod)],
        "spec": own,
        "debug": [item["name"] for item in spec.get("ephemeralContainers") or []],
    }


NO_DEBUG = names.digest_json([])


def _cut(pod: Object, size: int) -> Object:
    meta, spec, status = pod["metadata"], spec_of(pod), status_of(pod)
    kept = {key: meta[key] for key in _META if key in meta}
    kept["labels"] = keep_few(labels_of(pod), _NOTES_LIMIT)
    kept["annotations"] = keep_few(annotations_of(pod), _NOTES_LIMIT, first=labels.PENDING_SECONDS)
    kept["ownerReferences"] = [_pick(item, _OWNER) for item in owners_of(pod) if item.get("controller")]
    kept |= {"finalizers": meta["finalizers"][:1]} if meta.get("finalizers") else {}
    small = {key: spec[key] for key in _SPEC if key in spec}
    small |= {key: [_pick_item(item) for item in spec[key][:FEW]] for key in _LISTS if spec.get(key)}
    ours, others = _sort_conditions(pod)
    told = status | {"conditions": [*ours, *(_pick(item, item) for item in others[:FEW])]}
    note = {"size": size, "excess": _find_excess(pod, size), "changeable": find_changeable(pod)}
    return {**_pick(pod, _TYPE), "metadata": kept, "spec": small, "status": told, _CUT: note}


def _find_excess(pod: Object, size: int) -> str:
    if size > SENT_LIMIT:
        return f"the pod has {size} bytes, and at most {SENT_LIMIT} are sent to a backend"
    counts = {f"spec.{key}": len(spec_of(pod).get(key) or ()) for key in _LISTS}
    counts["status.conditions"] = len(_sort_conditions(pod)[1])
    many = next((key for key, count in counts.items() if count > FEW), "")
    return f"`{many}` has {counts[many]} items, and at most {FEW} are possible at a backend" if many else ""


def _sort_conditions(pod: Object) -> tuple[list[Object], list[Object]]:
    found = conditions_of(pod)
    return [item for item in found if item["type"] in _OURS], [item for item in found if item["type"] not in _OURS]


def _pick(item: Object, keys: Iterable[str]) -> Object:
    return {key: item[key][:_TEXT_LIMIT] if isinstance(item[key], str) else item[key] for key in keys if key in item}


def _pick_item(item: Object) -> Object:
    kept, sizes = _pick(item, _ITEM), item.get("resources")
    return kept | {"resources": sizes} if sizes and len(json.dumps(sizes)) <= _SIZES_LIMIT else kept

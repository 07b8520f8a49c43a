"""Which virtual nodes a backend should have, and how one that exists must change. Pure.

A node belongs to a backend if its label and its owner say so. All others are left alone, whatever their names.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from nestor.api import labels, names
from nestor.api.base import DNS_NAME
from nestor.api.objects import Object, annotations_of, is_owned_by, labels_of, spec_of
from nestor.api.overflowbackend import OverflowBackendSpec, Shape, Taint
from nestor.operator.backends.process import build_owner

DISCOVERABLE = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""The only labels of Kubernetes that a backend may give its nodes by itself."""
ALWAYS = {"kubernetes.io/os": "linux", "node.kubernetes.io/exclude-from-external-load-balancers": "true"}
"""Labels of every virtual node, unless its backend's spec says otherwise. No load balancer can send it traffic."""
INTERLINK = {"kubernetes.io/arch": "amd64"}
"""What nodes of interLink backends have besides: the protocol tells no architecture, and pods may ask for one."""

_KEY = re.compile(f"({DNS_NAME[1:-1]}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")


@dataclass(frozen=True)
class Wanted:
    name: str
    shape: str
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


def list_wanted(backend: str, spec: OverflowBackendSpec, shapes: Iterable[Shape]) -> dict[str, Wanted]:
    prefix, is_own = spec.node.name or backend, spec.shapes is not None
    found = (_build_wanted(backend, names.virtual_node(prefix, shape.name), spec, shape, is_own=is_own) for shape in shapes)
    return {item.name: item for item in found}


def build_node(backend: Object, wanted: Wanted) -> Object:
    """A new Node. Clouds look up their own machines by `providerID`; this one is none of theirs."""
    name = backend["metadata"]["name"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": wanted.name,
            "labels": wanted.labels,
            "annotations": {labels.FROM_BACKEND: _note(wanted)},
            "ownerReferences": [build_owner(backend)],
        },
        "spec": {"providerID": f"nestor://{name}/{wanted.shape}", "taints": _dump(wanted.taints)},
    }


def is_of(node: Object, backend: Object) -> bool:
    """Whether the node belongs to this backend, and not to an earlier one of the same name."""
    meta = backend["metadata"]
    return labels_of(node).get(labels.BACKEND) == meta["name"] and is_owned_by(node, meta["uid"])


def find_change(node: Object, wanted: Wanted) -> Object | None:
    """The patch that makes a node as it should be; None if it is. What others have added stays, except that it is not removed
    any more: a node that is wanted again takes pods again.
    """
    old_labels, old_taints = _read_note(node)
    live, taints = labels_of(node), spec_of(node).get("taints") or []
    gone = {key: None for key in old_labels if key in live and key not in wanted.labels}
    new = {key: value for key, value in wanted.labels.items() if live.get(key) != value}
    ours = {_identify(item) for item in _dump(wanted.taints)} | old_taints
    kept = [*(item for item in taints if _identify(item) not in ours), *_dump(wanted.taints)]
    notes: Object = {}
    if annotations_of(node).get(labels.FROM_BACKEND) != _note(wanted):
        notes[labels.FROM_BACKEND] = _note(wanted)
    patch: Object = {}
    if _sort(kept) != _sort(taints):
        patch["taints"] = kept
    if labels.REMOVED_SINCE in annotations_of(node):
        notes[labels.REMOVED_SINCE] = None
        patch["unschedulable"] = None
    meta = ({"labels": gone | new} if gone or new else {}) | ({"annotations": notes} if notes else {})
    if not meta and not patch:
        return None
    known = {key: node["metadata"][key] for key in ("uid", "resourceVersion")}
    return {"metadata": known | meta} | ({"spec": patch} if patch else {})


def _build_wanted(backend: str, name: str, spec: OverflowBackendSpec, shape: Shape, *, is_own: bool) -> Wanted:
    """`is_own`: an admin has written the shape; otherwise the backend has, which is not trusted."""
    own = shape.labels if is_own else {key: value for key, value in shape.labels.items() if _may_tell(key)}
    taints = shape.taints if is_own else [item for item in shape.taints if _may_tell(item.key)]
    template = spec.node.labels
    marks = {labels.MANAGED_BY: "nestor", labels.BACKEND: backend, labels.SHAPE: shape.name}
    if spec.price is not None:
        marks[labels.PRICE] = str(spec.price)
    # An admin's word about one shape counts more than about all; a backend's counts less.
    chosen = template | own if is_own else own | template
    unique = {(item.key, item.effect): item for item in [*taints, *spec.node.list_taints(backend)]}
    return Wanted(
        name=name,
        shape=shape.name,
        labels=ALWAYS | (INTERLINK if spec.interlink else {}) | {"kubernetes.io/hostname": name} | chosen | marks,
        taints=tuple(unique.values()),
    )


def _may_tell(key: str) -> bool:
    return bool(_KEY.fullmatch(key)) and (key in DISCOVERABLE or not labels.is_reserved(key))


def _note(wanted: Wanted) -> str:
    taints = sorted([item.key, item.effect] for item in wanted.taints)
    return json.dumps({"labels": sorted(wanted.labels), "taints": taints}, separators=(",", ":"))


def _read_note(node: Object) -> tuple[set[str], set[tuple[str, str]]]:
    """The keys of the labels, and the keys and effects of the taints, that are on the node because we put them there."""
    try:
        note = json.loads(annotations_of(node).get(labels.FROM_BACKEND) or "{}")
        return set(note.get("labels", ())), {(key, effect) for key, effect in note.get("taints", ())}
    except (ValueError, TypeError, AttributeError):  # somebody else has written it
        return set(), set()


def _identify(taint: Object) -> tuple[str, str]:
    return taint["key"], taint.get("effect", "")


def _dump(taints: Iterable[Taint]) -> list[Object]:
    """As the API server writes them: without empty values."""
    found = (item.model_dump() for item in taints)
    return [{key: value for key, value in item.items() if value} for item in found]


def _sort(taints: Iterable[Object]) -> list[tuple[str, str, str]]:
    return sorted((item["key"], item.get("effect", ""), item.get("value", "")) for item in taints)

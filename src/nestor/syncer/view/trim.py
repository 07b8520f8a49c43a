"""What the caches keep of each object: all but who wrote which field, a third of it. Nobody may change what they hold.

Of NetworkPolicies, whoever may edit one nested namespace can make many of a megabyte, none of which could be carried.
"""

from __future__ import annotations

import json
from collections import OrderedDict

from nestor.kube.sharing import Sharing
from nestor.objects import Object, is_terminating
from nestor.syncer import limits
from nestor.translate.status import is_terminal

_REMEMBERED = 256
_NODE = "f:nodeName"
_CUT = "nestor.dev/cut"
"""Member of an object of which something is left out that its kind may have."""
_UNUSED = ("annotations", "labels", "managedFields")
"""What nobody reads of a NetworkPolicy."""
_NODE_CHOSEN: list[Object] = [{"fieldsV1": {"f:spec": {_NODE: {}}}}]


class Trim:
    """Trims objects, and keeps once what pods have in common: the specs of those of one controller, and of pods that have ended,
    of which controllers may leave thousands, all that is equal.
    """

    def __init__(self) -> None:
        self._share = Sharing()
        self._specs: OrderedDict[str, Object] = OrderedDict()
        """By UID, of the pods seen last. Most changes leave a pod's spec as it is, and comparing takes hardly any time."""

    def __call__(self, obj: Object) -> Object:
        """The object as it is kept."""
        meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        if names_its_node(obj):
            meta["managedFields"] = _NODE_CHOSEN
        kept = {**obj, "metadata": meta}
        if obj.get("kind") == "Pod":
            stays = is_terminal(kept) and not is_terminating(kept)
            return self._end(kept) if stays else kept | {"spec": self._find_spec(kept)}
        return kept

    def _end(self, pod: Object) -> Object:
        self._specs.pop(pod["metadata"].get("uid", ""), None)
        shared: Object = self._share(pod)
        return shared

    def _find_spec(self, pod: Object) -> Object:
        uid, spec = pod["metadata"].get("uid", ""), pod["spec"]
        if self._specs.get(uid) != spec:
            self._specs[uid] = self._share(spec)
        self._specs.move_to_end(uid)
        if len(self._specs) > _REMEMBERED:
            self._specs.popitem(last=False)
        return self._specs[uid]


def is_cut(obj: Object) -> bool:
    """Whether an object is too large to be kept as a whole, and so to be carried."""
    return bool(obj.get(_CUT))


def trim_policy(policy: Object) -> Object:
    """A nested NetworkPolicy as it is kept. Of one that is too large, whom it isolates is left: these pods are closed. If even
    that is too large, all are.
    """
    kept = policy | {"metadata": {key: value for key, value in policy["metadata"].items() if key not in _UNUSED}}
    spec = kept.get("spec") or {}
    if limits.find_excess_of_object("", len(json.dumps(spec))) is None:
        return kept
    selector = spec.get("podSelector") or {}
    is_small = limits.find_excess_of_object("", len(json.dumps(selector))) is None
    return kept | {
        "spec": {"podSelector": selector if is_small else {}, "policyTypes": spec.get("policyTypes") or []},
        _CUT: True,
    }


def names_its_node(pod: Object) -> bool:
    """Whether its user set `nodeName`. A binding leaves the field without a manager."""
    managers = pod["metadata"].get("managedFields") or []
    return any(_NODE in ((item.get("fieldsV1") or {}).get("f:spec") or {}) for item in managers)

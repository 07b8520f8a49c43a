"""What the caches keep of each object: all but who wrote which field, a third of it. Nobody may change what they hold."""

from __future__ import annotations

from collections import OrderedDict

from nestor.kube.sharing import Sharing
from nestor.objects import Object, is_terminating
from nestor.translate.status import is_terminal

_REMEMBERED = 256
_NODE = "f:nodeName"
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


def names_its_node(pod: Object) -> bool:
    """Whether its user set `nodeName`. A binding leaves the field without a manager."""
    managers = pod["metadata"].get("managedFields") or []
    return any(_NODE in ((item.get("fieldsV1") or {}).get("f:spec") or {}) for item in managers)

"""What the caches keep of each object: all but who wrote which field, a third of it. Nobody may change what they hold."""

from __future__ import annotations

from nestor.kube.sharing import Sharing
from nestor.objects import Object
from nestor.translate.status import is_terminal

_NODE = "f:nodeName"
_NODE_CHOSEN: list[Object] = [{"fieldsV1": {"f:spec": {_NODE: {}}}}]


class Trim:
    """Trims objects, and keeps once what pods have in common: the specs of those of one controller, and of pods that have ended,
    of which controllers may leave thousands, all that is equal.
    """

    def __init__(self) -> None:
        self._share = Sharing()

    def __call__(self, obj: Object) -> Object:
        """The object as it is kept."""
        meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        if names_its_node(obj):
            meta["managedFields"] = _NODE_CHOSEN
        kept = {**obj, "metadata": meta}
        if obj.get("kind") == "Pod":
            part = kept if is_terminal(kept) else kept["spec"]
            shared: Object = self._share(part)
            return shared if part is kept else kept | {"spec": shared}
        return kept


def names_its_node(pod: Object) -> bool:
    """Whether its user set `nodeName`. A binding leaves the field without a manager."""
    managers = pod["metadata"].get("managedFields") or []
    return any(_NODE in ((item.get("fieldsV1") or {}).get("f:spec") or {}) for item in managers)

"""Objects that many people see, kept once for all of them, with what pages make of them.

Everybody has what their own watch was given, and nothing else: an object is found here only by its UID and version, and the API
server tells these only those who may see it, with the object itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from nestor.api.objects import Object
from nestor.kube.pages import Trim

T = TypeVar("T")


class Shared(dict[str, Any]):
    """An object that several caches may have. It goes with the last of them."""

    __slots__ = ("__weakref__", "made")

    def __init__(self, found: Object) -> None:
        super().__init__(found)
        self.made: dict[Callable[[Object], Any], Any] = {}


class Pool:
    """What all identities of one server see."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[Trim, str, str], Shared] = WeakValueDictionary()

    def share(self, trim: Trim) -> Trim:
        """The same trim, which gives everybody who has the same version of an object the same one."""

        def keep(found: Object) -> Object:
            meta = found["metadata"]
            uid, version = meta.get("uid"), meta.get("resourceVersion")
            if not uid or not version:
                return trim(found)
            known = self._known.get((trim, uid, version))
            if known is None:
                known = self._known[trim, uid, version] = Shared(trim(found))
            return known

        return keep


def once(make: Callable[[Object], T], found: Object) -> T:
    """What `make` makes of an object, made only once of a shared one. It must depend on the object alone."""
    if not isinstance(found, Shared):
        return make(found)
    if make not in found.made:
        found.made[make] = make(found)
    made: T = found.made[make]
    return made

"""Objects that are alike, kept once: a thousand pods of one Job differ in their names, times and addresses."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

MOST = 4096
"""Parts that are remembered, so that the next object's may be found equal. Those that were not for longest are forgotten."""
TEXT_LIMIT = 4096
"""Characters of the texts that are remembered."""


class Sharing:
    """Gives for an object its equal, made of parts that earlier ones had as well. Nobody may change what it returns."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[Hashable, Any] = OrderedDict()

    def __call__(self, value: Any) -> Any:
        """The equal of `value`, which stays as it is."""
        if isinstance(value, str):
            return sys.intern(value) if len(value) <= TEXT_LIMIT else value
        if isinstance(value, dict):
            parts = {self(key): self(item) for key, item in value.items()}
            return self._find((dict, *((key, _mark(item)) for key, item in parts.items())), parts)
        if isinstance(value, list):
            items = [self(item) for item in value]
            return self._find((list, *map(_mark, items)), items)
        return value

    def _find(self, mark: Hashable, value: Any) -> Any:
        found = self._known.setdefault(mark, value)
        self._known.move_to_end(mark)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return found


def _mark(value: Any) -> Hashable:
    """What equal values have in common. Of a shared one it is where it is: whoever remembers the mark keeps it there."""
    return id(value) if isinstance(value, (dict, list)) else (type(value), value)

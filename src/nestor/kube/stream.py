"""Changes of objects of one kind from now on, without a cache: for what is many, short-lived and of no use afterwards."""

from __future__ import annotations

import time

from nestor.api.objects import Object
from nestor.kube.informer import Change, Informer, Key


class Stream(Informer):
    """Tells of every object that is added or changed after `run()` began, and stores none.

    What was there before is not told, and neither is what happened while the server no longer knew where this watch had
    stopped (410): from there, it goes on with the newest version.
    """

    async def _list(self) -> None:
        """Only the version to begin with: a single object is asked for, and left unread."""
        answer = await self.api.request("GET", self.kind.path(self.namespace), self._query() | {"limit": "1"})
        self._version = (answer.get("metadata") or {}).get("resourceVersion", "")
        self.last_contact = time.monotonic()
        self.synced.set()

    def _set(self, key: Key, new: Object | None, *, final: Object | None = None) -> None:
        for handler in self.handlers if new is not None else ():
            handler(Change(key, None, new))

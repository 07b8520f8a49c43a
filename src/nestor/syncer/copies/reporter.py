"""Tells tenants what becomes of their objects in the host, by events."""

from __future__ import annotations

from nestor.api.objects import Object
from nestor.kube.informer import Key
from nestor.pods.translate import messages
from nestor.syncer.copies.memory import Told
from nestor.syncer.copies.row import Row


class Reporter:
    """Posts the events of one row: each message once, until another one follows or it does not hold any more."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._refused: Told[Key] = Told()
        self._ignored: Told[Key] = Told()

    def __len__(self) -> int:
        """Number of entries in memory."""
        return len(self._refused) + len(self._ignored)

    def forget(self, key: Key) -> None:
        """The source is gone."""
        self._refused.forget(key)
        self._ignored.forget(key)

    def accept(self, key: Key) -> None:
        """Nothing is refused any more: if it is again, that is news."""
        self._refused.forget(key)

    async def refuse(self, key: Key, source: Object, message: str) -> None:
        """Tell the tenant why there is no copy, or not as it should be; again if the source was deleted and recreated."""
        if self._row.refused and self._refused.is_news(key, (source["metadata"]["uid"], message)):
            await self._row.context.recorder.post(source, "Warning", self._row.refused, message)

    async def note_ignored(self, key: Key, source: Object, copy: Object | None) -> None:
        """Tell the tenant what the host leaves out, at the object that is in the nested cluster."""
        about, message = source if self._row.direction == "Down" else copy, self._row.find_ignored(source)
        if message is None or about is None:
            self._ignored.forget(key)
        elif self._ignored.is_news(key, (about["metadata"]["uid"], message)):
            await self._row.context.recorder.post(about, "Warning", self._row.ignored, message)

    def translate(self, key: Key, text: str) -> str:
        """A message of the host in the words of the nested cluster."""
        target = self._row.context.target
        return messages.translate(self._row.explain(text), {self._row.copy_key(key)[1]: key[1], target.namespace: key[0]})

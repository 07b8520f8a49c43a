"""Keeps the application that a job started with in ConfigMap `<job>-app`: later catalog changes only affect later jobs."""

from __future__ import annotations

from dataclasses import replace

from nestor.kube import kinds
from nestor.kube.applier import Applier
from nestor.names import Part
from nestor.operator.admission import app_source
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.identity import JobIdentity


class AppSnapshots:
    """Remembers what it read and wrote. A snapshot is taken only on admission, so that a faulty entry can still be corrected."""

    def __init__(self, applier: Applier) -> None:
        self._applier = applier
        self._kept: dict[str, str] = {}
        """As text, like the next: as Python objects, an AppDef may need thirty times as much memory."""
        self._read: dict[str, str] = {}

    def forget(self, uid: str) -> None:
        """Drop what is remembered about a job that is being deleted."""
        self._kept.pop(uid, None)
        self._read.pop(uid, None)

    def note(self, uid: str, source: AppSource) -> None:
        """Remember an AppDef that was read from an image; it is kept once the job is admitted with it."""
        self._read[uid] = app_source.dump_snapshot(source)

    def recall(self, uid: str, source: AppSource) -> AppSource | None:
        """The AppDef that was read for `source`, if the job still names the same source."""
        found = app_source.load_snapshot(self._read[uid]) if uid in self._read else None
        return found if found and replace(found, app_def=None) == source else None

    async def find(self, known: JobIdentity, digest: str | None) -> AppSource | None:
        """The job's own copy, or None if there is none yet. `digest`: that of the copy, from the job's status."""
        if known.uid in self._kept:
            return app_source.load_snapshot(self._kept[known.uid], known.spec)
        live = await self._applier.api.find(kinds.CONFIG_MAP, known.home.child(Part.APP_SNAPSHOT), known.home.namespace)
        if live is None or (found := app_source.parse_snapshot(live, known.spec, digest)) is None:
            return None
        self._kept[known.uid] = live["data"][app_source.KEY]
        return found

    async def ensure(self, resolved: Resolved) -> None:
        """Store the copy, unless the job contains its AppDef. Recreated from memory if it was lost with its namespace."""
        if not resolved.app.origin:
            return
        home, text = resolved.home, app_source.dump_snapshot(resolved.app)
        body = {"metadata": home.metadata(home.child(Part.APP_SNAPSHOT)), "data": {app_source.KEY: text}}
        await self._applier.ensure(kinds.CONFIG_MAP, body)
        self._kept[resolved.uid] = text
        self._read.pop(resolved.uid, None)

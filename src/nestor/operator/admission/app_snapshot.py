"""The application that a job started with, kept in ConfigMap `<job>-app`: what the catalogue says later is for later jobs."""

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
    """Remembers what it read and wrote. A snapshot is taken when the job is admitted, so that a faulty entry can be corrected."""

    def __init__(self, applier: Applier) -> None:
        self._applier = applier
        self._kept: dict[str, AppSource] = {}
        self._read: dict[str, AppSource] = {}

    def forget(self, uid: str) -> None:
        """Drop what is remembered of a job that goes."""
        self._kept.pop(uid, None)
        self._read.pop(uid, None)

    def note(self, uid: str, source: AppSource) -> None:
        """An AppDef was read from an image; to be kept if the job is admitted with it."""
        self._read[uid] = source

    def recall(self, uid: str, source: AppSource) -> AppSource | None:
        """What was read for `source`, if it still comes from there."""
        found = self._read.get(uid)
        return found if found and replace(found, app_def=None) == source else None

    async def find(self, known: JobIdentity) -> AppSource | None:
        """The job's own copy, or None as long as there is none."""
        if known.uid not in self._kept:
            name = known.home.child(Part.APP_SNAPSHOT)
            live = await self._applier.api.find(kinds.CONFIG_MAP, name, known.home.namespace)
            secret = known.spec.app.image_pull_secret_name if known.spec.app else None
            if live is None or (found := app_source.parse_snapshot(live, secret)) is None:
                return None
            self._kept[known.uid] = found
        return self._kept[known.uid]

    async def ensure(self, resolved: Resolved) -> None:
        """The copy, for what is not in the job itself. Made again from memory when it was lost with its namespace."""
        if not resolved.app.origin:
            return
        home, data = resolved.home, {app_source.KEY: app_source.dump_snapshot(resolved.app)}
        await self._applier.ensure(kinds.CONFIG_MAP, {"metadata": home.metadata(home.child(Part.APP_SNAPSHOT)), "data": data})
        self._kept[resolved.uid] = resolved.app
        self._read.pop(resolved.uid, None)

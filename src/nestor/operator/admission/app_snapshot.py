"""The application that a job started with, kept in ConfigMap `<job>-app`: what the catalogue says later is for later jobs."""

from __future__ import annotations

from dataclasses import replace

from nestor import names
from nestor.cluster.shape import Shape
from nestor.kube import kinds
from nestor.kube.applier import Applier
from nestor.operator.admission import app_source as appsource
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.identity import Known

PART = "app"


class Pins:
    """Remembers what it read and wrote. A pin is made when the job is admitted, so that a faulty entry can be corrected."""

    def __init__(self, applier: Applier) -> None:
        self._applier = applier
        self._pinned: dict[str, AppSource] = {}
        self._read: dict[str, AppSource] = {}

    def forget(self, uid: str) -> None:
        """Drop what is remembered of a job that goes."""
        self._pinned.pop(uid, None)
        self._read.pop(uid, None)

    def note(self, uid: str, source: AppSource) -> None:
        """An AppDef was read from an image; to be pinned if the job is admitted with it."""
        self._read[uid] = source

    def recall(self, uid: str, source: AppSource) -> AppSource | None:
        """What was read for `source`, if it still comes from there."""
        found = self._read.get(uid)
        return found if found and replace(found, app_def=None) == source else None

    async def find(self, known: Known) -> AppSource | None:
        """The job's own copy, or None as long as there is none."""
        if known.uid not in self._pinned:
            name = names.child(known.name, PART)
            live = await self._applier.api.find(kinds.CONFIG_MAP, name, known.host_namespace)
            secret = known.spec.app.image_pull_secret_name if known.spec.app else None
            if live is None or (found := appsource.parse_pin(live, secret)) is None:
                return None
            self._pinned[known.uid] = found
        return self._pinned[known.uid]

    async def ensure(self, resolved: Resolved, shape: Shape) -> None:
        """The copy, for what is not in the job itself. Made again from memory when it was lost with its namespace."""
        if not resolved.app.origin:
            return
        data = {appsource.KEY: appsource.dump_pin(resolved.app)}
        await self._applier.ensure(kinds.CONFIG_MAP, {"metadata": shape.metadata(shape.child(PART)), "data": data})
        self._pinned[resolved.uid] = resolved.app
        self._read.pop(resolved.uid, None)

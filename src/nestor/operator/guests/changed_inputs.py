"""Tells of inputs that have changed since a job copied them: Git may say that they are new, and the job has the old ones.

The catalog is watched. ConfigMaps and Secrets may only be read by name: they are looked at once in `RESYNC_SECONDS`, and nothing
of their content is kept.
"""

import contextlib
import time

from nestor.api import conditions, labels
from nestor.api.names import Part
from nestor.cluster.home import Home
from nestor.kube import kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.app_source import find_newer
from nestor.operator.admission.copied_inputs import pick_content
from nestor.operator.admission.identity import Refused
from nestor.operator.guest import Guest, Word
from nestor.operator.lifecycle.record import was_stopped
from nestor.operator.world.context import Context


class ChangedInputs(Guest):
    """What of each job's inputs has changed. One that is gone is not missed: the job has its copy."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._looks: dict[str, tuple[tuple[str, ...], float]] = {}
        """Which ConfigMap and Secret are not as they were copied, and when that was seen."""

    async def begin(self, resolved: Resolved) -> None:
        """What it starts with was read just now."""
        self._looks.setdefault(resolved.uid, ((), time.monotonic()))

    async def ensure(self, resolved: Resolved, home: Home) -> None:
        _, at = self._looks.get(resolved.uid, ((), -RESYNC_SECONDS))
        if resolved.is_rerun_due:
            self._looks[resolved.uid] = (), time.monotonic()  # its copies were made just now
        elif time.monotonic() - at >= RESYNC_SECONDS:
            self._looks[resolved.uid] = await self._compare(resolved, home), time.monotonic()

    def report(self, resolved: Resolved) -> Word | None:
        """Not of a job that has ended: a rerun would empty its cluster."""
        job = self._context.cache.jobs.get(resolved.name, resolved.namespace)
        if job is not None and was_stopped(job):
            return None
        seen, at = self._looks.get(resolved.uid, ((), time.monotonic()))
        changed = [*seen]
        with contextlib.suppress(Refused):
            if find_newer(resolved, resolved.app, self._context.cache.apps) is not None:
                changed.append(resolved.app.origin)
        text = (
            f"later changes to {', '.join(changed)} are not in use: `nestor rerun {resolved.name}`, or a new value of annotation "
            f"`{labels.RERUN}`, takes them up"
        )
        is_copied = resolved.app.templates_from is not None or resolved.spec.parameters_from is not None
        rest = max(1.0, at + RESYNC_SECONDS - time.monotonic()) if is_copied else None
        return Word(remark=(conditions.INPUTS_CHANGED, text) if changed else None, retry_after=rest)

    def forget(self, uid: str) -> None:
        self._looks.pop(uid, None)

    async def _compare(self, resolved: Resolved, home: Home) -> tuple[str, ...]:
        api, changed = self._context.api, []
        if origin := resolved.app.templates_from:
            copy = await api.find(kinds.CONFIG_MAP, home.child(Part.TEMPLATES), home.namespace)
            found = await api.find(kinds.CONFIG_MAP, origin.name, origin.namespace)
            if copy is not None and found is not None and pick_content(found) != pick_content(copy):
                where = f" in namespace '{origin.namespace}'" if origin.namespace != resolved.namespace else ""
                changed.append(f"ConfigMap '{origin.name}'{where}")
        if (given := resolved.secret_parameters) is not None and resolved.spec.parameters_from is not None:
            name = resolved.spec.parameters_from.secret_ref.name
            secret = await api.find(kinds.SECRET, name, resolved.namespace)
            if secret is not None and (secret.get("data") or {}) != given.data:
                changed.append(f"Secret '{name}'")
        return tuple(changed)

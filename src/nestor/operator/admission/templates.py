"""Copies templates from a ConfigMap into the job's namespace, as they are when the job starts."""

from __future__ import annotations

import json
import time

from nestor.api import conditions, labels, names
from nestor.api.names import Part
from nestor.api.nestedapp import NamespacedConfigMapRef
from nestor.api.objects import Object, labels_of
from nestor.kube import RetryLater, kinds
from nestor.kube.applier import RESYNC_SECONDS, Applier
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.identity import Refused
from nestor.operator.admission.secret_parameters import LONGEST_RETRY_SECONDS, RETRY_SECONDS

KEYS = 1000
"""So many files may come from one ConfigMap, of 1 MiB at most. A pod of the runner mounts each of them."""


class TemplateCopies:
    """Remembers no more than a digest of a job's templates: they are a tenant's, and the operator's memory is everybody's."""

    def __init__(self, applier: Applier, operator_namespace: str) -> None:
        self._applier = applier
        self._api = applier.api
        self._operator_namespace = operator_namespace
        self._digests: dict[str, str] = {}
        self._copied: dict[str, float] = {}
        self._held: dict[str, Object] = {}

    def forget(self, uid: str) -> None:
        """For a job that goes, or has not started: it must copy the templates as they are when it starts."""
        self._digests.pop(uid, None)
        self.forget_copy(uid)
        self.release(uid)

    def forget_copy(self, uid: str) -> None:
        """The copy was lost with its namespace and must be made again."""
        self._copied.pop(uid, None)

    def release(self, uid: str) -> None:
        """Drop the content at the end of a pass."""
        self._held.pop(uid, None)

    async def read(self, resolved: Resolved) -> str:
        """Identifies the source of the plan's templates by a string that changes with their content. Whoever calls this must
        `release` them. Raises `Refused`.
        """
        app, uid = resolved.app, resolved.uid
        if app.image or app.templates_from is None:
            return f"image:{app.image}"
        if uid not in self._digests:
            content = await self._fetch(resolved, app.templates_from)
            self._held[uid], self._digests[uid] = content, _digest(content)
        return f"configmap:{self._digests[uid]}"

    async def ensure(self, resolved: Resolved) -> None:
        """Make the copy that the runner mounts if there is no app image. Raises `RetryLater` if neither the copy nor the original
        has the templates any more that `read` identified.
        """
        uid, origin = resolved.uid, resolved.app.templates_from
        wanted = self._digests.get(uid)
        if origin is None or wanted is None or time.monotonic() - self._copied.get(uid, -RESYNC_SECONDS) < RESYNC_SECONDS:
            return
        content = self._held.get(uid)
        if content is None:
            content = await self._find_again(resolved, origin, wanted)
        # Even if it is empty: the runner's pod waits for it.
        metadata = resolved.home.metadata(resolved.home.child(Part.TEMPLATES))
        await self._applier.ensure(kinds.CONFIG_MAP, {"metadata": metadata, **content})
        self._copied[uid] = time.monotonic()

    async def _find_again(self, resolved: Resolved, origin: NamespacedConfigMapRef, wanted: str) -> Object:
        """What the job has started with, from the copy or else the original."""
        copy = resolved.home.child(Part.TEMPLATES)
        for name, namespace in ((copy, resolved.home.namespace), (origin.name, origin.namespace)):
            content = _pick(await self._api.find(kinds.CONFIG_MAP, name, namespace))
            if _digest(content) == wanted:
                return content
        self.forget(resolved.uid)
        raise RetryLater(1, "the templates are no longer those of the plan")

    async def _fetch(self, resolved: Resolved, origin: NamespacedConfigMapRef) -> Object:
        """The copy made when the job started, or else the current original."""
        copy = resolved.home.child(Part.TEMPLATES)
        found = await self._api.find(kinds.CONFIG_MAP, copy, resolved.home.namespace)
        if found is None:
            found = await self._api.find(kinds.CONFIG_MAP, origin.name, origin.namespace)
            self._check(resolved, origin, found)
        return _pick(found)

    def _check(self, resolved: Resolved, origin: NamespacedConfigMapRef, found: Object | None) -> None:
        """Raises `Refused`. A job may use ConfigMaps of its own namespace; the catalog, those that their owner opened to it.

        The operator can read every ConfigMap, and every user of a catalog entry gets a copy. Writing an entry must not let its
        author read ConfigMaps that he has no access to.
        """
        where = f"ConfigMap '{origin.name}' in namespace '{origin.namespace}'"
        again = RETRY_SECONDS
        is_own = origin.namespace == (self._operator_namespace if resolved.app.origin else resolved.namespace)
        if found is None:
            message = f"no ConfigMap named '{origin.name}' in namespace '{origin.namespace}'"
        elif not is_own and labels_of(found).get(labels.CATALOG) != "true":
            message = (
                f"{where} cannot be used by the catalog: it must be in namespace '{self._operator_namespace}', or its "
                f"owner must set label '{labels.CATALOG}: \"true\"'"
            )
        elif (count := sum(len(part) for part in _pick(found).values())) > KEYS:
            message = f"{where} has {count} keys; templates may have at most {KEYS}: put more into an app image"
            again = LONGEST_RETRY_SECONDS  # it costs more to read than others
        else:
            return
        raise Refused(conditions.TEMPLATES_NOT_FOUND, resolved.app.blame(message), retry_seconds=again)


def _pick(found: Object | None) -> Object:
    content = found or {}
    return {key: content[key] for key in ("data", "binaryData") if content.get(key)}


def _digest(content: Object) -> str:
    return names.digest(json.dumps(content, sort_keys=True), length=32)

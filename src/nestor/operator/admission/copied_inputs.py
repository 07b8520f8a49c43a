"""Copies inputs into the job's namespace: templates and pull secret of the user, the TLS secret of the class."""

from __future__ import annotations

import time
from dataclasses import replace

from nestor.api import conditions, names
from nestor.api.appdef_pull import PULL_TYPES, choose_pull_secret, find_pull_secret_fault
from nestor.api.names import Part
from nestor.api.objects import Object
from nestor.cluster.home import Home
from nestor.kube import Invalid, kinds
from nestor.kube.applier import RESYNC_SECONDS, Applier
from nestor.operator.admission import app_source
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.admission.placement import resolve_placement
from nestor.operator.admission.secret_parameters import RETRY_SECONDS, ParameterSecrets
from nestor.operator.admission.templates import TemplateCopies


class CopiedInputs:
    """Reads and copies inputs. Remembers what it copied, so that a settled job needs no requests."""

    def __init__(self, applier: Applier, operator_namespace: str) -> None:
        self._applier = applier
        self._api = applier.api
        self._operator_namespace = operator_namespace
        self.snapshots = AppSnapshots(applier)
        self.parameters = ParameterSecrets(applier)
        self.templates = TemplateCopies(applier, operator_namespace)
        self._copied: dict[tuple[str, str], float] = {}

    def forget(self, uid: str) -> None:
        """Drop what is remembered about a job that is being deleted."""
        self.snapshots.forget(uid)
        self.parameters.forget(uid)
        self.templates.forget(uid)
        self.forget_copies(uid)

    def forget_copies(self, uid: str) -> None:
        """The copies were lost with their namespace and must be made again."""
        self.templates.forget_copy(uid)
        for key in [key for key in self._copied if key[0] == uid]:
            del self._copied[key]

    async def ensure_pull_secret(self, known: JobIdentity, app: AppSource) -> None:
        """Copy the pull secret of the job or of its catalog entry; one of any other type is refused. Raises `Refused`."""
        named, entry = app.image_pull_secret_name, known.spec.app_ref.name if known.spec.app_ref else ""
        wanted = choose_pull_secret(named, known.namespace, named, self._operator_namespace, entry=entry)
        if wanted is None or self._is_fresh(known.uid, "pull"):
            return
        found = await self._api.find(kinds.SECRET, wanted.name, wanted.namespace)
        fault = find_pull_secret_fault(wanted, found)
        if found is None or fault:
            raise Refused(conditions.PULL_SECRET_NOT_FOUND, fault or "", retry_seconds=RETRY_SECONDS)
        await self._copy(found, known.home, known.home.child(Part.PULL_SECRET))
        self._copied[known.uid, "pull"] = time.monotonic()

    async def ensure_tls_secret(self, resolved: Resolved) -> str | None:
        """Copy the class's TLS secret. Returns what is wrong with it, or None."""
        name = resolved.policy.expose.tls_secret_name
        if not name or self._is_fresh(resolved.uid, "tls"):
            return None
        found = await self._api.find(kinds.SECRET, name, self._operator_namespace)
        if found is None or found.get("type") != "kubernetes.io/tls":
            return (
                f"the class's `tlsSecretName` '{name}' does not name a Secret of type kubernetes.io/tls in namespace "
                f"'{self._operator_namespace}'"
            )
        await self._copy(found, resolved.home, names.CLASS_CERTIFICATE)
        self._copied[resolved.uid, "tls"] = time.monotonic()
        return None

    async def ensure_pull_secrets(self, known: JobIdentity) -> str | None:
        """Copy the class's pull secrets, for its jobs and for backends. Returns which of them are missing, or None."""
        placement = resolve_placement(known.policy, known.spec).placement
        backends = placement.overflow.backends if placement and placement.overflow else []
        named = {*known.policy.images.pull_secret_names, *(name for item in backends for name in item.image_pull_secrets)}
        missing = []
        for name in sorted(named):
            if self._is_fresh(known.uid, f"pull/{name}"):
                continue
            found = await self._api.find(kinds.SECRET, name, self._operator_namespace)
            if found is None or found.get("type") not in PULL_TYPES:
                missing.append(name)
                continue
            await self._copy(found, known.home, names.operators_pull_secret(name))
            self._copied[known.uid, f"pull/{name}"] = time.monotonic()
        if not missing:
            return None
        listed = ", ".join(f"'{name}'" for name in missing)
        return f"no pull secret {listed}, which class '{known.class_name}' names, in namespace '{self._operator_namespace}'"

    async def _copy(self, secret: Object, home: Home, name: str) -> None:
        body = {"metadata": home.metadata(name), "type": secret["type"], "data": secret.get("data") or {}}
        try:
            await self._applier.ensure(kinds.SECRET, body)
        except Invalid:
            live = await self._api.find(kinds.SECRET, name, home.namespace)
            if live is None or live.get("type") == body["type"]:
                raise
            # A type cannot change, so one of another type takes the place of the earlier copy.
            await self._api.delete(kinds.SECRET, name, home.namespace, uid=live["metadata"]["uid"])
            await self._applier.ensure(kinds.SECRET, body)

    def _is_fresh(self, uid: str, what: str) -> bool:
        return time.monotonic() - self._copied.get((uid, what), -RESYNC_SECONDS) < RESYNC_SECONDS


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

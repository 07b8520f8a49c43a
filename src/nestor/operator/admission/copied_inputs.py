"""Copies inputs into the job's namespace: templates and pull secret of the user, the TLS secret of the class."""

from __future__ import annotations

import json
import time

from nestor import names
from nestor.api import conditions, labels
from nestor.api.appdef_pull import PULL_TYPES, choose_pull_secret, find_pull_secret_fault
from nestor.api.nestedapp import NamespacedConfigMapRef
from nestor.cluster.home import Home
from nestor.kube import Invalid, kinds
from nestor.kube.applier import RESYNC_SECONDS, Applier
from nestor.names import Part
from nestor.objects import Object, labels_of
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.app_snapshot import AppSnapshots
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.admission.placement import resolve_placement
from nestor.operator.admission.secret_parameters import RETRY_SECONDS, ParameterSecrets


class CopiedInputs:
    """Reads and copies inputs. Remembers what it copied, so that a settled job needs no requests."""

    def __init__(self, applier: Applier, operator_namespace: str) -> None:
        self._applier = applier
        self._api = applier.api
        self._operator_namespace = operator_namespace
        self.snapshots = AppSnapshots(applier)
        self.parameters = ParameterSecrets(applier)
        self._templates: dict[str, Object] = {}
        self._copied: dict[tuple[str, str], float] = {}

    def forget(self, uid: str) -> None:
        """Drop what is remembered about a job that is being deleted."""
        self.snapshots.forget(uid)
        self.parameters.forget(uid)
        self._templates.pop(uid, None)
        self.forget_copies(uid)

    def forget_templates(self, uid: str) -> None:
        """For a job that has not started: it must copy the templates as they are when it starts."""
        self._templates.pop(uid, None)

    def forget_copies(self, uid: str) -> None:
        """The copies were lost with their namespace and must be made again; the templates stay those the job started with."""
        for key in [key for key in self._copied if key[0] == uid]:
            del self._copied[key]

    async def read_templates(self, resolved: Resolved) -> str:
        """Identifies the source of the plan's templates by a string that changes with their content. Raises `Refused`."""
        app = resolved.app
        if app.image or app.templates_from is None:
            return f"image:{app.image}"
        content = self._templates.get(resolved.uid)
        if content is None:
            content = await self._fetch_templates(resolved, app.templates_from)
            self._templates[resolved.uid] = content
        return f"configmap:{names.digest(json.dumps(content, sort_keys=True), length=32)}"

    async def _fetch_templates(self, resolved: Resolved, origin: NamespacedConfigMapRef) -> Object:
        """The copy made when the job started, or else the current original."""
        copy = resolved.home.child(Part.TEMPLATES)
        found = await self._api.find(kinds.CONFIG_MAP, copy, resolved.home.namespace)
        if found is None:
            found = await self._api.find(kinds.CONFIG_MAP, origin.name, origin.namespace)
            self._check_templates(resolved, origin, found)
        content = found or {}
        return {key: content[key] for key in ("data", "binaryData") if content.get(key)}

    def _check_templates(self, resolved: Resolved, origin: NamespacedConfigMapRef, found: Object | None) -> None:
        """Raises `Refused`. A job may use ConfigMaps of its own namespace; the catalogue, those that their owner opened to it.

        The operator can read every ConfigMap, and every user of a catalogue entry gets a copy. Writing an entry must not let its
        author read ConfigMaps that he has no access to.
        """
        where = f"ConfigMap '{origin.name}' in namespace '{origin.namespace}'"
        is_own = origin.namespace == (self._operator_namespace if resolved.app.origin else resolved.namespace)
        if found is None:
            message = f"no ConfigMap named '{origin.name}' in namespace '{origin.namespace}'"
        elif not is_own and labels_of(found).get(labels.CATALOGUE) != "true":
            message = (
                f"{where} cannot be used by the catalogue: it must be in namespace '{self._operator_namespace}', or its "
                f"owner must set label '{labels.CATALOGUE}: \"true\"'"
            )
        else:
            return
        raise Refused(conditions.TEMPLATES_NOT_FOUND, resolved.app.blame(message), retry_seconds=RETRY_SECONDS)

    async def ensure_templates(self, resolved: Resolved) -> None:
        """Make the copy that the runner mounts if there is no app image."""
        # Even if it is empty: the runner's pod waits for it.
        if (content := self._templates.get(resolved.uid)) is not None:
            metadata = resolved.home.metadata(resolved.home.child(Part.TEMPLATES))
            await self._applier.ensure(kinds.CONFIG_MAP, {"metadata": metadata, **content})

    async def ensure_pull_secret(self, known: JobIdentity, app: AppSource) -> None:
        """Copy the pull secret of the job or of its catalogue entry; one of any other type is refused. Raises `Refused`."""
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

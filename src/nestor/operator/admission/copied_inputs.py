"""What a job brings from its user's namespace, or its class from the operator's: templates, pull secret, TLS secret; copied."""

from __future__ import annotations

import json
import time

from nestor import names
from nestor.api import conditions, labels
from nestor.api.nestedapp import NamespacedConfigMapRef
from nestor.cluster.home import Home
from nestor.kube import Invalid, kinds
from nestor.kube.applier import RESYNC_SECONDS, Applier
from nestor.names import Part
from nestor.objects import Object, labels_of
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.app_snapshot import AppSnapshots
from nestor.operator.admission.identity import JobIdentity, Refused

RETRY_SECONDS = 5.0
"""How soon a missing ConfigMap or Secret is looked for again; foreign ones are not watched."""
PULL_TYPES = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg")


class CopiedInputs:
    """Reads and copies. Remembers what it copied, so that a settled job costs no request."""

    def __init__(self, applier: Applier, operator_namespace: str) -> None:
        self._applier = applier
        self._api = applier.api
        self._operator_namespace = operator_namespace
        self.snapshots = AppSnapshots(applier)
        self._templates: dict[str, Object] = {}
        self._copied: dict[tuple[str, str], float] = {}

    def forget(self, uid: str) -> None:
        """Drop what is remembered of a job that goes."""
        self.snapshots.forget(uid)
        self._templates.pop(uid, None)
        self.forget_copies(uid)

    def forget_templates(self, uid: str) -> None:
        """The job has not begun: it copies its templates only then, as they are by that time."""
        self._templates.pop(uid, None)

    def forget_copies(self, uid: str) -> None:
        """The copies went with their namespace and are to be made anew; the templates stay those that the job started with."""
        for key in [key for key in self._copied if key[0] == uid]:
            del self._copied[key]

    async def read_templates(self, resolved: Resolved) -> str:
        """What the plan's templates come from, as a string that changes with their content. Raises `Refused`."""
        app = resolved.app
        if app.image or app.templates_from is None:
            return f"image:{app.image}"
        content = self._templates.get(resolved.uid)
        if content is None:
            content = await self._fetch_templates(resolved, app.templates_from)
            self._templates[resolved.uid] = content
        return f"configmap:{names.digest(json.dumps(content, sort_keys=True), length=32)}"

    async def _fetch_templates(self, resolved: Resolved, origin: NamespacedConfigMapRef) -> Object:
        """The copy that was made when the job started, else the original as it is now."""
        copy = resolved.home.child(Part.TEMPLATES)
        found = await self._api.find(kinds.CONFIG_MAP, copy, resolved.home.namespace)
        if found is None:
            found = await self._api.find(kinds.CONFIG_MAP, origin.name, origin.namespace)
            self._check_templates(resolved, origin, found)
        content = found or {}
        return {key: content[key] for key in ("data", "binaryData") if content.get(key)}

    def _check_templates(self, resolved: Resolved, origin: NamespacedConfigMapRef, found: Object | None) -> None:
        """Raises `Refused`. Users may name what is in their own namespace; the catalogue, what its owner has put up for it.

        The operator may read every ConfigMap, and every user of an entry of the catalogue gets a copy: so whoever may write
        entries must not get to read by them what he may not read himself.
        """
        where = f"ConfigMap '{origin.name}' in namespace '{origin.namespace}'"
        is_own = origin.namespace == (self._operator_namespace if resolved.app.origin else resolved.namespace)
        if found is None:
            message = f"no ConfigMap named '{origin.name}' in namespace '{origin.namespace}'"
        elif not is_own and labels_of(found).get(labels.CATALOGUE) != "true":
            message = (
                f"{where} is not for the catalogue: it must be in namespace '{self._operator_namespace}', or have label "
                f"'{labels.CATALOGUE}: \"true\"' from its owner"
            )
        else:
            return
        raise Refused(conditions.TEMPLATES_NOT_FOUND, resolved.app.blame(message), retry_seconds=RETRY_SECONDS)

    async def ensure_templates(self, resolved: Resolved) -> None:
        """The copy that the runner mounts, if there is no app image."""
        # An empty one too: the runner's pod waits for it.
        if (content := self._templates.get(resolved.uid)) is not None:
            metadata = resolved.home.metadata(resolved.home.child(Part.TEMPLATES))
            await self._applier.ensure(kinds.CONFIG_MAP, {"metadata": metadata, **content})

    async def ensure_pull_secret(self, known: JobIdentity, name: str | None) -> None:
        """Only pull secrets are copied, whatever the name says. Raises `Refused`."""
        if not name or self._is_fresh(known.uid, "pull"):
            return
        found = await self._api.find(kinds.SECRET, name, known.namespace)
        where = f"Secret '{name}' in namespace '{known.namespace}'"
        if found is None:
            raise _refuse_pull_secret(f"no {where}")
        if found.get("type") not in PULL_TYPES:
            raise _refuse_pull_secret(f"{where} has type '{found.get('type')}'; it must be one of {', '.join(PULL_TYPES)}")
        await self._copy(found, known.home, known.home.child(Part.PULL_SECRET))
        self._copied[known.uid, "pull"] = time.monotonic()

    async def ensure_tls_secret(self, resolved: Resolved) -> str | None:
        """Copy the class's TLS secret; returns what is wrong with it, or None."""
        name = resolved.policy.expose.tls_secret_name
        if not name or self._is_fresh(resolved.uid, "tls"):
            return None
        found = await self._api.find(kinds.SECRET, name, self._operator_namespace)
        if found is None or found.get("type") != "kubernetes.io/tls":
            return (
                f"the class's `tlsSecretName` '{name}' is no Secret of type kubernetes.io/tls in namespace "
                f"'{self._operator_namespace}'"
            )
        await self._copy(found, resolved.home, names.CLASS_CERTIFICATE)
        self._copied[resolved.uid, "tls"] = time.monotonic()
        return None

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


def _refuse_pull_secret(message: str) -> Refused:
    return Refused(conditions.PULL_SECRET_NOT_FOUND, f"`app.imagePullSecretName`: {message}", retry_seconds=RETRY_SECONDS)

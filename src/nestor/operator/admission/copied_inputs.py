"""Copies inputs into the job's namespace: AppDef, templates and pull secret of the user, the TLS secret of the class."""

import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from nestor.api import conditions, labels, names
from nestor.api.images import PULL_TYPES, choose_pull_secret, find_pull_secret_fault
from nestor.api.names import Part
from nestor.api.nestedapp import NamespacedConfigMapRef
from nestor.api.objects import Object, labels_of
from nestor.cluster.home import Home
from nestor.kube import Invalid, kinds
from nestor.kube.applier import RESYNC_SECONDS, Applier
from nestor.operator.admission import app_source
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.admission.placement import resolve_placement
from nestor.operator.admission.secret_parameters import LONGEST_RETRY_SECONDS, RETRY_SECONDS


@dataclass
class _Memory:
    """What is remembered of one job's inputs, so that a settled job needs no requests."""

    kept: str = ""
    """The copy of its application. As text, like the next: as Python objects, an AppDef may need thirty times as much memory."""
    read: str = ""
    """An application whose AppDef was read from an image: the job may move to a cluster of a pool before it has its copy."""
    templates: str = ""
    """No more than their digest: they are a tenant's, and the operator's memory is everybody's."""
    copied: dict[tuple[str, str], float] = field(default_factory=dict)
    """When other copies were made, by their namespaces and names."""

    def is_fresh(self, home: Home, copy: str) -> bool:
        return time.monotonic() - self.copied.get((home.namespace, copy), -RESYNC_SECONDS) < RESYNC_SECONDS


KEYS = 1000
"""So many files may come from one ConfigMap, of 1 MiB at most. A pod of the runner mounts each of them."""


class CopiedInputs:
    def __init__(self, applier: Applier, operator_namespace: str) -> None:
        self._applier = applier
        self._api = applier.api
        self._operator_namespace = operator_namespace
        self._memories: defaultdict[str, _Memory] = defaultdict(_Memory)
        """By the UIDs of jobs."""

    def forget(self, uid: str) -> None:
        self._memories.pop(uid, None)

    def forget_copies(self, uid: str) -> None:
        """The copies were lost with their namespace and must be made again."""
        self._memories[uid].copied.clear()

    async def ensure_pull_secret(self, known: JobIdentity, app: AppSource) -> None:
        """Copy the pull secret of the job or of its catalog entry; one of any other type is refused. Raises `Refused`."""
        named, entry = app.image_pull_secret_name, known.spec.app_ref.name if known.spec.app_ref else ""
        wanted = choose_pull_secret(named, known.namespace, named, self._operator_namespace, entry=entry)
        copy = known.home.child(Part.PULL_SECRET)
        if wanted is None or (self._memories[known.uid].is_fresh(known.home, copy) and not known.is_rerun_due):
            return
        found = await self._api.find(kinds.SECRET, wanted.name, wanted.namespace)
        fault = find_pull_secret_fault(wanted, found)
        if found is None or fault:
            raise Refused(conditions.PULL_SECRET_NOT_FOUND, fault or "", retry_seconds=RETRY_SECONDS)
        await self._copy(found, known, copy)

    async def ensure_tls_secret(self, resolved: Resolved) -> str | None:
        """Copy the class's TLS secret. Returns what is wrong with it, or None."""
        name = resolved.policy.expose.tls_secret_name
        if not name or await self._copy_operators(name, ("kubernetes.io/tls",), resolved, names.CLASS_CERTIFICATE):
            return None
        return (
            f"the class's `tlsSecretName` '{name}' does not name a Secret of type kubernetes.io/tls in namespace "
            f"'{self._operator_namespace}'"
        )

    async def ensure_pull_secrets(self, known: JobIdentity) -> str | None:
        """Copy the class's pull secrets, for its jobs and for backends. Returns which of them are missing, or None."""
        placement, _ = resolve_placement(known.policy, known.spec)
        backends = placement.overflow.backends if placement and placement.overflow else []
        named = {*known.policy.images.pull_secret_names, *(name for item in backends for name in item.image_pull_secrets)}
        made = {name: await self._copy_operators(name, PULL_TYPES, known, names.operators_pull_secret(name)) for name in named}
        missing = sorted(f"'{name}'" for name, is_made in made.items() if not is_made)
        if not missing:
            return None
        where = f"in namespace '{self._operator_namespace}'"
        return f"no pull secret {', '.join(missing)}, which class '{known.class_name}' names, {where}"

    async def _copy_operators(self, name: str, types: Collection[str], known: JobIdentity, copy: str) -> bool:
        """Copy a Secret of the operator's namespace. False: there is none of these types."""
        if self._memories[known.uid].is_fresh(known.home, copy):
            return True
        found = await self._api.find(kinds.SECRET, name, self._operator_namespace)
        if found is None or found.get("type") not in types:
            return False
        await self._copy(found, known, copy)
        return True

    async def _copy(self, secret: Object, known: JobIdentity, name: str) -> None:
        home = known.home
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
        self._memories[known.uid].copied[home.namespace, name] = time.monotonic()

    def note(self, uid: str, source: AppSource) -> None:
        """Remember an AppDef that was read from an image."""
        self._memories[uid].read = app_source.dump_snapshot(source)

    def recall(self, uid: str, source: AppSource) -> AppSource | None:
        """The AppDef that was read for `source`, if the job still names the same source."""
        found = app_source.load_snapshot(self._memories[uid].read)
        return found if found and replace(found, app_def=None) == source else None

    async def find_snapshot(self, known: JobIdentity, digest: str | None) -> AppSource | None:
        """The job's own copy, or None if there is none yet. `digest`: that of the copy, from the job's status."""
        if kept := self._memories[known.uid].kept:
            return app_source.load_snapshot(kept, known.spec)
        live = await self._api.find(kinds.CONFIG_MAP, known.home.child(Part.APP_SNAPSHOT), known.home.namespace)
        if live is None or (found := app_source.parse_snapshot(live, known.spec, digest)) is None:
            return None
        self._memories[known.uid].kept = live["data"][app_source.KEY]
        return found

    async def ensure_snapshot(self, resolved: Resolved) -> None:
        """Store the copy, unless the job contains its AppDef. First on admission, so that a faulty entry can be corrected."""
        if not resolved.app.origin:
            return
        home, text = resolved.home, app_source.dump_snapshot(resolved.app)
        body = {"metadata": home.metadata(home.child(Part.APP_SNAPSHOT)), "data": {app_source.KEY: text}}
        await self._applier.ensure(kinds.CONFIG_MAP, body)
        memory = self._memories[resolved.uid]
        memory.kept, memory.read = text, ""

    def forget_templates(self, uid: str) -> None:
        """For a job that has not started: it must copy the templates as they are when it starts."""
        if uid in self._memories:
            self._memories[uid].templates = ""

    async def read_templates(self, resolved: Resolved) -> tuple[str, Object | None]:
        """A string that identifies the source of the plan's templates and changes with their content; and what they are, if they
        had to be read for it. Raises `Refused`.
        """
        app, memory = resolved.app, self._memories[resolved.uid]
        if app.image or app.templates_from is None:
            return f"image:{app.image}", None
        is_fresh = memory.is_fresh(resolved.home, resolved.home.child(Part.TEMPLATES))
        if memory.templates and is_fresh and not resolved.is_rerun_due:
            return f"configmap:{memory.templates}", None
        content = await self._fetch_templates(resolved, app.templates_from)
        memory.templates = names.digest_json(content)
        return f"configmap:{memory.templates}", content

    async def ensure_templates(self, resolved: Resolved, content: Object | None) -> None:
        """Make the copy that the runner mounts if there is no app image. `content`: what was read for the plan in this pass."""
        if content is None:
            return
        home, copy = resolved.home, resolved.home.child(Part.TEMPLATES)
        # Even if it is empty: the runner's pod waits for it.
        await self._applier.ensure(kinds.CONFIG_MAP, {"metadata": home.metadata(copy), **content})
        self._memories[resolved.uid].copied[home.namespace, copy] = time.monotonic()

    async def _fetch_templates(self, resolved: Resolved, origin: NamespacedConfigMapRef) -> Object:
        """The copy made when the job started, or else the current original. For a rerun, the original comes first, and is needed
        if a newer application names it.
        """
        copy = await self._api.find(kinds.CONFIG_MAP, resolved.home.child(Part.TEMPLATES), resolved.home.namespace)
        if copy is not None and not resolved.is_rerun_due:
            return pick_content(copy)
        found, kept = await self._api.find(kinds.CONFIG_MAP, origin.name, origin.namespace), self._memories[resolved.uid].kept
        before = app_source.load_snapshot(kept)
        if found is None and copy is not None and (before is None or before.templates_from == origin):
            return pick_content(copy)
        self._check_templates(resolved, origin, found)
        return pick_content(found)

    def _check_templates(self, resolved: Resolved, origin: NamespacedConfigMapRef, found: Object | None) -> None:
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
        elif (count := sum(len(part) for part in pick_content(found).values())) > KEYS:
            message = f"{where} has {count} keys; templates may have at most {KEYS}: put more into an app image"
            again = LONGEST_RETRY_SECONDS  # it costs more to read than others
        else:
            return
        raise Refused(conditions.TEMPLATES_NOT_FOUND, resolved.app.blame(message), retry_seconds=again)


def pick_content(found: Object | None) -> Object:
    content = found or {}
    return {key: content[key] for key in ("data", "binaryData") if content.get(key)}

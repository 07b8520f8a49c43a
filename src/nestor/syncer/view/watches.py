"""Watches of nested objects on demand, even of kinds that do not exist yet."""

import asyncio
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Change, Informer, Kind, NotFound, kinds, pages
from nestor.syncer.view.context import RETRY_LIMIT

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.5
_API_VERSION = re.compile(r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$")
_PLURAL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_ANSWER_BYTES = 4 * 2**20
"""Of the list of what a group has."""
_KNOWN = {(kind.api_version, kind.name): kind for kind in (kinds.POD, kinds.JOB)}


@dataclass(frozen=True)
class Selection:
    """Which objects to watch. Empty means any."""

    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""
    labels: tuple[tuple[str, str], ...] = ()


class Watches:
    """Keeps one informer for each wanted selection.

    `on_change` is called for each change, and with None once a selection's objects are known or its kind is known to be missing.
    `build` makes the informer of a selection whose kind is known; by default, it has whole objects.
    """

    def __init__(
        self,
        api: Api,
        on_change: Callable[[Selection, Change | None], None],
        build: Callable[[Api, Kind, Selection], Informer] | None = None,
    ) -> None:
        self._api = api
        self._on_change = on_change
        self._build = build or build_informer
        self._wanted: frozenset[Selection] = frozenset()
        self._changed = asyncio.Event()
        self._informers: dict[Selection, Informer] = {}
        self._kinds = dict(_KNOWN)
        self._missing: set[Selection] = set()

    def want(self, selections: Iterable[Selection]) -> None:
        self._wanted = frozenset(selections)
        self._changed.set()

    def find(self, selection: Selection) -> list[Object] | None:
        """The objects; None if they are not known because the kind is missing or the first list has not arrived."""
        informer = self._informers.get(selection)
        return list(informer) if informer is not None and informer.synced.is_set() else None

    def is_missing(self, selection: Selection) -> bool:
        """True if the nested cluster was asked and does not have this kind (yet)."""
        return selection in self._missing

    async def run(self) -> None:
        tasks: dict[Selection, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                await self._changed.wait()
                self._changed.clear()
                for selection in tasks.keys() - self._wanted:
                    tasks.pop(selection).cancel()
                    self._informers.pop(selection, None)
                    self._missing.discard(selection)
                for selection in self._wanted - tasks.keys():
                    tasks[selection] = group.create_task(self._watch(selection), name=f"watch {selection.kind}")

    async def _watch(self, selection: Selection) -> None:
        informer = self._build(self._api, await self._resolve(selection), selection)
        informer.on_change(lambda change: self._on_change(selection, change))
        self._informers[selection] = informer
        async with asyncio.TaskGroup() as group:
            group.create_task(informer.run())
            await informer.synced.wait()
            self._on_change(selection, None)

    async def _resolve(self, selection: Selection) -> Kind:
        """Wait until the nested cluster serves the kind, and return it: templates may install its CRD later."""
        key, delay = (selection.api_version, selection.kind), _RETRY_SECONDS
        while key not in self._kinds:
            try:
                found = await discover(self._api, *key)
                if found is not None:
                    self._kinds[key] = found
                    break
                if selection not in self._missing:
                    self._missing.add(selection)
                    self._on_change(selection, None)
            except ApiError as error:
                log.info("cannot look up kind %s of %s, retrying: %s", selection.kind, selection.api_version, error)
            await asyncio.sleep(delay)
            delay = min(2 * delay, RETRY_LIMIT)
        # Also reached when another selection has found the kind.
        self._missing.discard(selection)
        return self._kinds[key]


def build_informer(api: Api, kind: Kind, selection: Selection) -> Informer:
    labels = ",".join(f"{key}={value}" for key, value in selection.labels)
    fields = f"metadata.name={selection.name}" if selection.name else ""
    namespace = selection.namespace or None
    if kind in _KNOWN.values():
        return Informer(api, kind, namespace, labels=labels, fields=fields)
    # No page is longer than the limit, unless the tenant's own server answers.
    return Informer(api.with_limit(pages.PAGE_BYTES), kind, namespace, labels=labels, fields=fields)


async def discover(api: Api, api_version: str, name: str) -> Kind | None:
    """The kind as served by the API server, or None if it is not served."""
    if not _API_VERSION.match(api_version):  # it becomes part of the path
        return None
    group, _, version = api_version.rpartition("/")
    try:
        answer = await api.with_limit(_ANSWER_BYTES).request("GET", f"/apis/{api_version}" if group else f"/api/{api_version}")
    except NotFound:
        return None
    found = answer.get("resources") if isinstance(answer, dict) else None
    # The server of a group may be the tenant's own.
    for item in (item for item in found if isinstance(item, dict)) if isinstance(found, list) else ():
        plural = item.get("name")
        if item.get("kind") == name and isinstance(plural, str) and _PLURAL.fullmatch(plural):
            return Kind(group, version, plural, name, namespaced=bool(item.get("namespaced")))
    return None

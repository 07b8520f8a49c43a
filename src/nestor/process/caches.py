"""`/debug/caches`: what a process knows of its API servers, and whether it is at work. Kinds, selectors and numbers alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nestor.kube import Informer, Kind, WorkQueue
from nestor.kube.stream import Stream
from nestor.objects import Object

CACHES = "/debug/caches"
SOON_SECONDS = 0.5
"""What is due within this time counts as work under way."""


def write(servers: Mapping[str, Iterable[Informer]], queues: Iterable[WorkQueue[Any]], more: Iterable[Object] = ()) -> str:
    """The page. `servers`: by the names that the process has for its API servers. `more`: caches that are no informers, as
    `describe` has them.
    """
    caches = [_describe(server, informer) for server, informers in servers.items() for informer in informers]
    return json.dumps({"caches": [*caches, *more], "busy": sum(queue.count_due(SOON_SECONDS) for queue in queues)})


def describe(server: str, kind: Kind, objects: Iterable[Object], *, is_known: bool) -> Object:
    """A cache of all objects of a kind. `versions` is the sum of their resource versions: what a list of the same versions has.

    Resource versions of one kind only grow, so who has the same number of objects and the same sum knows the same.
    """
    found = [int(item["metadata"]["resourceVersion"]) for item in objects]
    about = {"server": server, "apiVersion": kind.api_version, "resource": kind.plural}
    return about | {"isKnown": is_known, "objects": len(found), "versions": sum(found)}


def _describe(server: str, informer: Informer) -> Object:
    """`version` is the newest that was heard of. A stream of events has nothing else."""
    selectors = {"namespace": informer.namespace, "labelSelector": informer.labels, "fieldSelector": informer.fields}
    found = describe(server, informer.kind, informer, is_known=bool(informer.version)) | {"version": int(informer.version or 0)}
    if isinstance(informer, Stream):
        del found["objects"], found["versions"]
    return found | {key: value for key, value in selectors.items() if value}

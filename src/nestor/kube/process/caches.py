"""`/debug/caches`: what a process knows of its API servers, and whether it is at work. Kinds, selectors and numbers alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nestor.api.objects import Object
from nestor.kube import Informer, WorkQueue
from nestor.kube.stream import Stream

CACHES = "/debug/caches"
SOON_SECONDS = 0.5
"""What is due within this time counts as work under way."""


def write(servers: Mapping[str, Iterable[Informer]], queues: Iterable[WorkQueue[Any]]) -> str:
    """The page. `servers`: by the names that the process has for its API servers."""
    caches = [_describe(server, informer) for server, informers in servers.items() for informer in informers]
    return json.dumps({"caches": caches, "busy": sum(queue.count_due(SOON_SECONDS) for queue in queues)})


def _describe(server: str, informer: Informer) -> Object:
    """`version` is the newest that was heard of. A stream of events has nothing else. `versions` is the sum of the objects'
    resource versions: those of one kind only grow, so who has the same number of objects and the same sum knows the same.
    """
    selectors = {"namespace": informer.namespace, "labelSelector": informer.labels, "fieldSelector": informer.fields}
    found: Object = {"server": server, "apiVersion": informer.kind.api_version, "resource": informer.kind.plural}
    found |= {"isKnown": bool(informer.version), "version": int(informer.version or 0)}
    if not isinstance(informer, Stream):
        versions = [int(item["metadata"]["resourceVersion"]) for item in informer]
        found |= {"objects": len(versions), "versions": sum(versions)}
    return found | {key: value for key, value in selectors.items() if value}

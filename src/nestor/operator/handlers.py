"""Nestor's kopf handlers: kopf begins and ends the work, and says which of our resources has changed.

It only says which one. How the object is now, the caches know (`world/cache`), which watches of ours keep: kopf tells nothing of
what was deleted while its watch was broken, and has no place for what the operator itself has written.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import kopf

from nestor.api import labels
from nestor.operator.wiring import Operator


@dataclass
class Memo:
    """What kopf hands to each handler."""

    operator: Operator
    stop: asyncio.Event
    """Ends kopf."""
    work: asyncio.Task[None] | None = None


async def run(operator: Operator, stop: asyncio.Event) -> None:
    """Run until `stop` is set, a signal arrives (kopf takes the process's signals), or a part of the work fails: raises that."""
    logging.getLogger("kopf").setLevel(logging.WARNING)
    memo = Memo(operator, stop)
    await kopf.operator(clusterwide=True, standalone=True, memo=memo, stop_flag=stop)
    if memo.work is not None and memo.work.done() and not memo.work.cancelled():
        memo.work.result()


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: Memo, **_: Any) -> None:
    """Begin to work. kopf itself writes nothing: no events, no finalizers, no annotations."""
    settings.posting.enabled = False
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    memo.work = asyncio.create_task(memo.operator.work(), name="nestor")
    memo.work.add_done_callback(lambda _: memo.stop.set())


@kopf.on.cleanup()
async def end(memo: Memo, **_: Any) -> None:
    """Have nothing begun that is not ended."""
    if memo.work is not None:
        memo.work.cancel()
        await asyncio.wait({memo.work})


@kopf.on.login()
def log_in(**arguments: Any) -> kopf.ConnectionInfo | None:
    """As a pod, or by a kubeconfig."""
    return kopf.login_with_service_account(**arguments) or kopf.login_with_kubeconfig(**arguments)


@kopf.on.event(labels.GROUP, "nestedappjobs")
@kopf.on.event(labels.GROUP, "nestedclusters")
@kopf.on.event(labels.GROUP, "nestedclasses")
@kopf.on.event(labels.GROUP, "nestedapps")
@kopf.on.event(labels.GROUP, "overflowbackends")
async def look_at(memo: Memo, resource: kopf.Resource, namespace: str | None, name: str, **_: Any) -> None:
    """Have a pass made over what has changed."""
    memo.operator.look_at(resource.plural, namespace or "", name)

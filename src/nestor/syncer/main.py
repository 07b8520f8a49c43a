"""The syncer's process: what it starts, in which order, and how it exits."""

import asyncio
import datetime
import logging
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from nestor.api.contracts.cluster import READY_PATH, ROOT_CA
from nestor.kube import Api, kinds, process
from nestor.kube.events import EventRecorder
from nestor.kube.pace import Pace
from nestor.syncer import limits, parts
from nestor.syncer.cluster import bootstrap
from nestor.syncer.process import health, identity
from nestor.syncer.process.gate import Gate
from nestor.syncer.settings import Settings, parse
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.context import PATIENCE_SECONDS, Context, find_target, patiently

log = logging.getLogger(__name__)

_MANAGER = "nestor-syncer"
_READY_TIMEOUT = 5
_SETTLE_SECONDS = 30


def main(arguments: list[str]) -> int:
    """Run until stopped. Returns 0 after a signal, or when credentials or the NestedCluster were replaced and the container must
    restart; 1 if a part stops unexpectedly.
    """
    process.set_up_log()
    settings = parse(arguments)
    code = 0
    try:
        asyncio.run(process.run_until_signal(run(settings)))
    except* identity.Outdated as reasons:
        log.info("exiting so that the container restarts: %s", process.find_first(reasons))
    except* Exception:
        log.exception("exiting: a part of the syncer stopped unexpectedly")
        code = 1
    return code


async def run(settings: Settings) -> None:
    """Start everything in order and keep it running until cancelled. If any part stops, all of them do."""
    begin = time.monotonic()
    state = health.Health(health.ServerHealth(datetime.timedelta(seconds=settings.server_seconds)))
    gate = Gate(settings.server_port)
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        spawn = partial(process.spawn, group)
        own = identity.read_digest(settings.access)
        group.create_task(identity.watch(settings.access, own), name="credentials")
        spawn(health.serve(state, settings.health_port), "health")
        spawn(gate.serve(settings.gate_port), "gate")
        # 1. The host side fills its caches while the nested server is still starting.
        host = await stack.enter_async_context(await Api.connect(settings.host_kubeconfig, manager=_MANAGER))
        host.pace = Pace(limits.HOST_WRITES, limits.HOST_BYTES, limits.SMALL_BYTES)
        nested = await stack.enter_async_context(await Api.connect(settings.nested_kubeconfig, manager=_MANAGER))
        state.clients = {"host": host, "nested": nested}
        spawn(health.watch_server(host, settings.namespace, settings.cluster, state.server), "server")
        target, cluster = await find_target(host, settings)
        caches = Caches(host, nested, target)
        group.create_task(identity.watch_cluster(caches.host_cluster, cluster["metadata"]["uid"]), name="identity")
        context = Context(host, nested, target, caches, EventRecorder(nested, _MANAGER))
        # 2. Controllers subscribe before the informers run, so they see every object, but do not act yet.
        made = parts.build(context, cluster, settings)
        caches.seal()
        for informer in caches.host_side:
            spawn(informer.run(), f"host {informer.kind.plural}")
        # 3. The nested side starts as soon as its API server responds.
        await wait_for_api(nested, READY_PATH)
        made.status.version = (await wait_for_api(nested, "/version"))["gitVersion"]
        for informer in caches.nested_side:
            spawn(informer.run(), f"nested {informer.kind.plural}")
        for name, serve in made.servers.items():
            spawn(serve(), name)
        spawn(bootstrap.keep_basics(nested, target, gate.is_open.set, state.note_admin), "basics")
        # 4. Only full caches show which objects no longer exist. From here on, controllers create and delete.
        await caches.wait_for_sync()
        for name, queue in made.queues.items():
            spawn(queue.run(), name)
        spawn(made.watches.run(), "watches of the outcome")
        state.caches, state.queues, state.counters, state.working = caches, made.queues, made.counters, True
        basics = _await_basics(gate, made.is_settled, settings.dns_ready_url, nested)
        spawn(health.watch_nested(nested, state, made.status, basics), "nested health")
        log.info("syncing pods of %s to %s; started in %.2f s", target.cluster, target.namespace, time.monotonic() - begin)


async def _await_basics(gate: Gate, is_settled: Callable[[], bool], dns_ready_url: str, nested: Api) -> None:
    """The gate opens when the DNS server has its rights."""
    await gate.is_open.wait()
    for _ in range(int(_SETTLE_SECONDS / PATIENCE_SECONDS)):
        if is_settled():
            break
        await asyncio.sleep(PATIENCE_SECONDS)
    else:  # not for ever: a webhook of the tenant's may refuse what should be there
        log.warning("not all nodes could be mirrored within %d s; going on without them", _SETTLE_SECONDS)
    await health.wait_for_dns(dns_ready_url)
    await wait_for_api(nested, "/readyz")
    await wait_for_api(nested, kinds.CONFIG_MAP.path("default", ROOT_CA))


async def wait_for_api(nested: Api, path: str) -> Any:
    """Wait until the nested API server answers; returns what it says."""
    return await patiently(partial(nested.request, "GET", path, timeout=_READY_TIMEOUT), "nested")

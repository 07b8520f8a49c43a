"""Builds the parts of a syncer and connects them to the caches and to each other."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nestor.api import names
from nestor.api.objects import Object, status_of
from nestor.kube import WorkQueue, kinds
from nestor.kube.informer import Key
from nestor.kube.kinds import Right, right
from nestor.pods.kubelet import auth
from nestor.pods.kubelet.server import KubeletServer
from nestor.pods.providers import host
from nestor.pods.providers.base import Provider
from nestor.syncer.cluster import status, webhook
from nestor.syncer.cluster.addresses import Addresses
from nestor.syncer.cluster.argocd import ArgoCDRights
from nestor.syncer.cluster.definitions import Definitions
from nestor.syncer.cluster.not_carried import NotCarried
from nestor.syncer.cluster.status import ClusterStatus, Suspend
from nestor.syncer.copies.engine import Engine
from nestor.syncer.copies.references import References
from nestor.syncer.copies.rows import find_rows
from nestor.syncer.metrics import usage
from nestor.syncer.metrics.api import MetricsApi
from nestor.syncer.metrics.server import MetricsServer
from nestor.syncer.metrics.usage import HostUsage
from nestor.syncer.outcome.controller import OutcomeController
from nestor.syncer.pods import gang_groups
from nestor.syncer.pods.controller import PodController
from nestor.syncer.pods.create import Deciders, PodCreator
from nestor.syncer.pods.delete import PodDeleter
from nestor.syncer.pods.events import EventController
from nestor.syncer.pods.gangs import Gangs
from nestor.syncer.pods.ignored_fields import IgnoredFields
from nestor.syncer.pods.isolation import Isolation
from nestor.syncer.pods.kubelet import build_finder
from nestor.syncer.pods.own_nodes import OwnNodes
from nestor.syncer.pods.places import Places
from nestor.syncer.pods.sync import PodSyncer
from nestor.syncer.pods.tokens import TokenController
from nestor.syncer.settings import Settings
from nestor.syncer.suspend.evict import PodEvictor
from nestor.syncer.suspend.jobs import JobSuspender
from nestor.syncer.suspend.status import SuspendStatus
from nestor.syncer.view import context as view
from nestor.syncer.view.context import Context
from nestor.syncer.view.watches import Watches


@dataclass(frozen=True)
class Parts:
    """What to run: servers, and what needs no other cache, at once; queues and watches once the caches are full."""

    status: ClusterStatus
    queues: dict[str, WorkQueue[Any]]
    watches: dict[str, Watches]
    servers: dict[str, Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=dict)
    counters: dict[str, Callable[[], int]] = field(default_factory=dict)
    """Metrics that only grow, by name."""
    host_rights: tuple[Right, ...] = ()
    """Permissions needed on the host, apart from those for the caches (see `find_rights`)."""
    is_settled: Callable[[], bool] = lambda: True
    """Whether all is there that the cluster must have before it counts as ready."""


def build_shared(context: Context, cluster: Object, settings: Settings) -> Parts:
    """All parts, for a nested cluster whose pods run in the host namespace. `cluster` is the NestedCluster."""
    provider = host.HostProvider(context.host, context.target.namespace, context.target.selector)
    references = References(context.caches)
    engines = build_engines(context, references)
    pods = build_pods(context, provider, engines, references)
    control = build_control(context, cluster, settings, pods.suspend)
    not_carried = NotCarried(context)
    kubelet = KubeletServer(provider, build_finder(context.caches, context.target), auth.ApiServerOnly())
    services = engines[kinds.SERVICE.plural]
    addresses = Addresses(context, services)
    keep_webhook = partial(webhook.keep_configuration, context.nested, settings.access, settings.services_port)
    servers: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
        "kubelet API": partial(kubelet.serve, settings.kubelet_port, partial(auth.build_tls, settings.access)),
        "Service webhook": partial(webhook.serve, settings.services_port, settings.access, addresses.review),
        "Service webhook's configuration": keep_webhook,
        "not synced": not_carried.run,
        "definitions": Definitions(context).run,
    }
    if settings.metrics_port:
        servers["metrics API"] = partial(build_metrics(context, settings).serve, settings.metrics_port)
    argocd = ArgoCDRights(context.nested, context.caches)
    return Parts(
        status=control.status,
        queues={engine.name: engine.queue for engine in engines.values()}
        | pods.queues
        | control.queues
        | {"not-carried": not_carried.queue, "argocd": argocd.queue},
        watches=pods.watches | control.watches,
        servers=servers,
        counters={"service_addresses_reserved": lambda: addresses.reserved, "service_addresses_missed": lambda: addresses.missed},
        host_rights=(
            *control.host_rights,
            *host.RIGHTS,
            *usage.RIGHTS,
            *gang_groups.RIGHTS,
            *(item for engine in engines.values() for item in engine.host_rights),
        ),
        is_settled=lambda: all(engine.is_settled for engine in engines.values()),
    )


def build_metrics(context: Context, settings: Settings) -> MetricsServer:
    """The metrics API, at the address of this pod."""

    async def find_address() -> str:
        if settings.metrics_address:
            return settings.metrics_address
        pod = await context.host.find(kinds.POD, names.server_pod(settings.cluster), settings.namespace)
        return str(status_of(pod).get("podIP") or "")

    api = MetricsApi(context.caches, HostUsage(context.host, context.target.namespace, context.target.selector))
    return MetricsServer(api, context.nested, settings.access, find_address)


def build_control(context: Context, cluster: Object, settings: Settings, suspend: Suspend | None = None) -> Parts:
    """The parts that every nested cluster has, wherever its pods run: status and outcome."""
    written = ClusterStatus(context, cluster, suspend)
    outcome = OutcomeController(context, settings.server_uid, written.set_outcome)
    return Parts(
        status=written,
        queues={"outcome": outcome.queue, "cluster-status": written.queue},
        watches={"outcome": outcome.watches},
        host_rights=(*status.RIGHTS, *view.RIGHTS),
    )


def build_engines(context: Context, references: References) -> dict[str, Engine]:
    """One engine per row, by name."""
    engines = [Engine(row(context, references)) for row in find_rows()]
    return {engine.name: engine for engine in engines}


@dataclass(frozen=True)
class PodParts:
    """The parts that sync pods."""

    suspend: SuspendStatus
    queues: dict[str, WorkQueue[Any]]
    watches: dict[str, Watches]


def build_pods(context: Context, provider: Provider, engines: dict[str, Engine], references: References) -> PodParts:
    """The parts for pods, and for what only pods have: tokens, events, eviction on suspend."""
    tokens, events, jobs = TokenController(context), EventController(context), JobSuspender(context)

    async def ensure_node(name: str) -> None:
        key: Key = ("", name)
        await engines[kinds.NODE.plural].ensure(key)

    gangs, isolation, own_nodes = Gangs(context), Isolation(context), OwnNodes(context.caches)
    needs = [
        references.check,
        *(engine.ensure_needs for engine in engines.values()),
        tokens.ensure,
        isolation.ensure,
        IgnoredFields(context, own_nodes).tell,
    ]
    creator = PodCreator(context, provider, needs, Deciders(Places(context), gangs, own_nodes, isolation))
    syncer = PodSyncer(context, provider, ensure_node, references.find_clash, gangs, isolation)
    pods = PodController(context, creator, syncer, PodDeleter(context, provider, syncer), PodEvictor(context, jobs))
    jobs.on_release(pods.queue.add)
    return PodParts(
        suspend=SuspendStatus(context, provider, lambda: creator.creating > 0),
        queues={
            "pods": pods.queue,
            "pod-creations": pods.creations,
            "tokens": tokens.queue,
            "events": events.queue,
            "suspended-jobs": jobs.queue,
            "gang-groups": gangs.groups.queue,
        },
        watches={"suspended-jobs": jobs.watches},
    )


def find_rights(parts: Parts, context: Context) -> tuple[Right, ...]:
    """All permissions needed on the host: for what the parts do there, and for what the caches list and watch."""
    return (*parts.host_rights, *(right(informer.kind, "list", "watch") for informer in context.caches.host_side))

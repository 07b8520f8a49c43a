"""Builds the parts of a syncer and connects them to the caches and to each other."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from nestor.api import names
from nestor.api.objects import Object, status_of
from nestor.kube import WorkQueue, kinds
from nestor.pods.kubelet import auth
from nestor.pods.kubelet.routes import Route
from nestor.pods.kubelet.server import Find, KubeletServer, Served
from nestor.pods.providers.host import HostProvider
from nestor.pods.translate import messages
from nestor.pods.translate.target import Target
from nestor.syncer.cluster import webhook
from nestor.syncer.cluster.addresses import Addresses
from nestor.syncer.cluster.argocd import ArgoCDRights
from nestor.syncer.cluster.idle import IdleMeter
from nestor.syncer.cluster.not_carried import NotCarried
from nestor.syncer.cluster.status import ClusterStatus
from nestor.syncer.copies.engine import Engine
from nestor.syncer.copies.references import References
from nestor.syncer.copies.rows import find_rows
from nestor.syncer.copies.rows.snapshots import Definitions
from nestor.syncer.metrics.api import MetricsApi
from nestor.syncer.metrics.server import MetricsServer
from nestor.syncer.outcome.controller import OutcomeController
from nestor.syncer.pods.controller import PodController
from nestor.syncer.pods.create import PodCreator
from nestor.syncer.pods.delete import PodDeleter
from nestor.syncer.pods.events import EventController
from nestor.syncer.pods.gangs import Gangs
from nestor.syncer.pods.isolation import Isolation
from nestor.syncer.pods.own_nodes import OwnNodes
from nestor.syncer.pods.places import Places
from nestor.syncer.pods.sync import PodSyncer
from nestor.syncer.pods.tokens import TokenController
from nestor.syncer.settings import Settings
from nestor.syncer.suspend.evict import PodEvictor
from nestor.syncer.suspend.jobs import JobSuspender
from nestor.syncer.view.caches import Caches
from nestor.syncer.view.context import Context
from nestor.syncer.view.watches import Watches


@dataclass(frozen=True)
class Parts:
    """What to run: servers, and what needs no other cache, at once; queues and watches once the caches are full."""

    status: ClusterStatus
    queues: dict[str, WorkQueue[Any]]
    watches: Watches
    servers: dict[str, Callable[[], Coroutine[Any, Any, None]]]
    counters: dict[str, Callable[[], int]]
    """Metrics that only grow, by name."""
    is_settled: Callable[[], bool]
    """Whether all is there that the cluster must have before it counts as ready."""


def build(context: Context, cluster: Object, settings: Settings) -> Parts:
    """All parts, for a nested cluster whose pods run in the host namespace. `cluster` is the NestedCluster."""
    provider = HostProvider(context.host)
    references = References(context.caches)
    engines = {engine.name: engine for engine in (Engine(row(context, references)) for row in find_rows())}
    creator, pod_queues = build_pods(context, provider, engines)
    written = ClusterStatus(context, cluster, lambda: creator.creating > 0)
    outcome = OutcomeController(context, settings.server_uid, written.set_outcome)
    not_carried, argocd = NotCarried(context), ArgoCDRights(context.nested, context.caches)
    kubelet = KubeletServer(provider, build_finder(context.caches, context.target), auth.ApiServerOnly())
    addresses = Addresses(context, engines[kinds.SERVICE.plural])
    keep_webhook = partial(webhook.keep_configuration, context.nested, settings.access, settings.services_port)
    servers: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
        "kubelet API": partial(kubelet.serve, settings.kubelet_port, partial(auth.build_tls, settings.access)),
        "Service webhook": partial(webhook.serve, settings.services_port, settings.access, addresses.review),
        "Service webhook's configuration": keep_webhook,
        "not synced": not_carried.run,
    }
    metrics = MetricsApi(context.caches, context.host, context.target.selector)
    servers["idleness"] = IdleMeter(context.caches, metrics, written.set_idle).run
    if settings.metrics_port:
        servers["metrics API"] = partial(build_metrics(context, settings, metrics).serve, settings.metrics_port)
    return Parts(
        status=written,
        queues={name: engine.queue for name, engine in engines.items()}
        | pod_queues
        | {
            "outcome": outcome.queue,
            "cluster-status": written.queue,
            "not-carried": not_carried.queue,
            "argocd": argocd.queue,
            "definitions": Definitions(context).queue,
        },
        watches=outcome.watches,
        servers=servers,
        counters={"service_addresses_reserved": lambda: addresses.reserved, "service_addresses_missed": lambda: addresses.missed},
        is_settled=lambda: all(engine.row.is_settled for engine in engines.values()),
    )


def build_metrics(context: Context, settings: Settings, api: MetricsApi) -> MetricsServer:
    """The metrics API, at the address of this pod."""

    async def find_address() -> str:
        if settings.metrics_address:
            return settings.metrics_address
        pod = await context.host.find(kinds.POD, names.server_pod(settings.cluster), settings.namespace)
        return str(status_of(pod).get("podIP") or "")

    return MetricsServer(api, context.nested, settings.access, find_address)


def build_finder(caches: Caches, target: Target) -> Find:
    """Finds the host pod of a nested pod for the kubelet API. If a call names a UID, it must match."""

    def find(route: Route) -> Served | None:
        nested = caches.nested(kinds.POD).get(route.pod, route.namespace)
        if nested is None or (route.uid and route.uid != nested["metadata"]["uid"]):
            return None
        host = caches.host_by_uid.get(nested["metadata"]["uid"])
        if host is None:
            return None
        return Served(host, partial(messages.translate, words=messages.build_words(nested, target, host)))

    return find


def build_pods(
    context: Context, provider: HostProvider, engines: dict[str, Engine]
) -> tuple[PodCreator, dict[str, WorkQueue[Any]]]:
    """Who creates host pods, and the queues for pods and for what only pods have: tokens, events, eviction on suspend."""
    tokens, events, jobs = TokenController(context), EventController(context), JobSuspender(context)

    async def ensure_node(name: str) -> None:
        await engines[kinds.NODE.plural].ensure(("", name))

    gangs, isolation = Gangs(context), Isolation(context)
    needs = [*(engine.ensure_needs for engine in engines.values()), tokens.ensure, isolation.ensure]
    creator = PodCreator(context, provider, needs, Places(context), gangs, OwnNodes(context.caches), isolation)
    syncer = PodSyncer(context, provider, ensure_node, gangs, isolation)
    pods = PodController(context, creator, syncer, PodDeleter(context, provider, syncer), PodEvictor(context, jobs))
    jobs.wake = pods.queue.add
    return creator, {
        "pods": pods.queue,
        "pod-creations": pods.creations,
        "tokens": tokens.queue,
        "events": events.queue,
        "suspended-jobs": jobs.queue,
        "gang-groups": gangs.groups.queue,
    }

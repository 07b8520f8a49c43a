"""All controllers of one syncer, attached to the caches and to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nestor.kube import WorkQueue
from nestor.objects import Object
from nestor.syncer.cluster_status import ClusterStatus
from nestor.syncer.config import ConfigController
from nestor.syncer.context import Context
from nestor.syncer.events import EventController
from nestor.syncer.nodes import NodeController
from nestor.syncer.outcome.controller import OutcomeController
from nestor.syncer.pods.controller import PodController
from nestor.syncer.pods.create import PodCreator
from nestor.syncer.pods.delete import PodDeleter
from nestor.syncer.pods.sync import PodSyncer
from nestor.syncer.service_links import LinksController
from nestor.syncer.services import ServiceController
from nestor.syncer.settings import Settings
from nestor.syncer.suspend.evict import PodEvictor
from nestor.syncer.suspend.jobs import JobSuspender
from nestor.syncer.suspend.rest import Rest
from nestor.syncer.tokens import TokenController
from nestor.syncer.watches import Watches


@dataclass(frozen=True)
class Controllers:
    """What is to run once the caches are full."""

    queues: dict[str, WorkQueue[Any]]
    watches: dict[str, Watches]
    status: ClusterStatus


def build(context: Context, cluster: Object, settings: Settings) -> Controllers:
    """The controllers, before the first object is heard of. `cluster` is the NestedCluster."""
    nodes, config, tokens, links = (
        NodeController(context),
        ConfigController(context),
        TokenController(context),
        LinksController(context),
    )
    syncer, creator, jobs = PodSyncer(context, nodes), PodCreator(context, config, tokens, links), JobSuspender(context)
    pods = PodController(context, creator, syncer, PodDeleter(context, syncer), PodEvictor(context, jobs))
    jobs.on_release(pods.queue.add)
    services, events = ServiceController(context), EventController(context)
    status = ClusterStatus(context, cluster, Rest(context, lambda: creator.creating > 0))
    outcome = OutcomeController(context, settings.server_uid, status.set_outcome)
    return Controllers(
        queues={
            "nodes": nodes.queue,
            "config": config.queue,
            "tokens": tokens.queue,
            "service-links": links.queue,
            "pods": pods.queue,
            "services": services.queue,
            "events": events.queue,
            "suspended-jobs": jobs.queue,
            "outcome": outcome.queue,
            "cluster-status": status.queue,
        },
        watches={"suspended-jobs": jobs.watches, "outcome": outcome.watches},
        status=status,
    )

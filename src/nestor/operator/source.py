"""kopf as the source of events of our own resources; the only module that imports it. It writes nothing."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kopf
import yaml

from nestor.api import labels
from nestor.kube import Kind
from nestor.kube.client import Object
from nestor.operator.store import Store

END_SECONDS = 5.0
"""How long kopf may take to end when all must."""

Handler = Callable[[Object], None]
Feeds = dict[Kind, tuple[Store, Handler]]
"""By kind: where its objects go, and who is told."""


def build_settings() -> kopf.OperatorSettings:
    """Explicit where a default could surprise: nothing is written, nobody is waited for, no request hangs."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.persistence.finalizer = f"{labels.GROUP}/kopf-is-not-used"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=labels.GROUP)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=labels.GROUP)
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.queueing.worker_limit = None
    settings.execution.max_workers = 1
    return settings


def build_registry(feeds: Feeds, kubeconfig: str | None) -> kopf.OperatorRegistry:
    """Each kind's events go into its store, and then to its handler with the object."""
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(build_login(kubeconfig))
    for kind, (store, handler) in feeds.items():
        kopf.on.event(labels.GROUP, kind.plural, registry=registry)(_feed(store, handler))
    return registry


def build_login(kubeconfig: str | None) -> Callable[..., Any]:
    """One way to log in, the same as of `nestor.kube`: kopf else mixes the credentials of all client libraries it finds."""

    async def log_in(**kwargs: Any) -> Any:
        if kubeconfig is not None:
            return read_kubeconfig(yaml.safe_load(await asyncio.to_thread(Path(kubeconfig).read_text)))
        if "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ:
            return kopf.login_with_service_account(**kwargs)
        return kopf.login_with_kubeconfig(**kwargs)

    return log_in


def read_kubeconfig(content: Object) -> kopf.ConnectionInfo:
    """The current context of a kubeconfig; kopf's own reader takes no path."""
    context = _named(content["contexts"], content["current-context"])["context"]
    cluster = _named(content["clusters"], context["cluster"])["cluster"]
    user = _named(content["users"], context["user"])["user"]
    return kopf.ConnectionInfo(
        server=cluster["server"], ca_path=cluster.get("certificate-authority"), ca_data=cluster.get("certificate-authority-data"),
        certificate_path=user.get("client-certificate"), certificate_data=user.get("client-certificate-data"),
        private_key_path=user.get("client-key"), private_key_data=user.get("client-key-data"), token=user.get("token"),
    )


def _named(items: list[Object], name: str) -> Object:
    return next(item for item in items if item["name"] == name)


def _feed(store: Store, handler: Handler) -> Callable[..., Any]:
    async def take(event: dict[str, Any], **_: Any) -> None:
        obj = event["object"]
        if event["type"] == "DELETED":
            store.drop(obj)
        else:
            store.put(obj)
        handler(obj)

    return take


async def run(feeds: Feeds, stop: asyncio.Event, kubeconfig: str | None = None) -> None:
    """Deliver events until `stop` is set, or SIGTERM or SIGINT arrives (kopf takes the process's signals)."""
    running = asyncio.create_task(_run_kopf(feeds, stop, kubeconfig), name="kopf")
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        # Something else has died. kopf ends all of its tasks and closes its connections when it is told to stop; cancelled while
        # it starts, it does not, and the log's last word would be a complaint about that instead of the reason.
        stop.set()
        await asyncio.wait({running}, timeout=END_SECONDS)
        raise


async def _run_kopf(feeds: Feeds, stop: asyncio.Event, kubeconfig: str | None) -> None:
    logging.getLogger("kopf").setLevel(logging.WARNING)
    tasks = await kopf.spawn_tasks(
        registry=build_registry(feeds, kubeconfig), settings=build_settings(), clusterwide=True, standalone=True, stop_flag=stop,
    )
    try:
        await kopf.run_tasks(tasks, ignored=_Everything())
    finally:
        # What it would end itself if it might end what it does not know: requests on their way.
        left = [task for task in asyncio.all_tasks() if _is_of_kopf(task)]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


class _Everything(frozenset[Any]):
    """At its end, kopf takes every task that it does not know for one of its own: it would wait 5 s for our queue, cancel it in
    the middle of a job, and raise what some request of ours got for an answer meanwhile.
    """

    def __contains__(self, _: object) -> bool:
        return True


def _is_of_kopf(task: asyncio.Task[Any]) -> bool:
    """By the file of its code; kopf's tasks have no other mark."""
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_filename.startswith(_KOPF)


_KOPF = str(Path(kopf.__file__).parent)

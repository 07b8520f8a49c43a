"""The process: what it starts, in which order, how it exits, and what probes and metrics hear of it."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from nestor.api import conditions
from nestor.api.faults import explain
from nestor.api.objects import Object, spec_of, status_of
from nestor.api.overflowbackend import OverflowBackendSpec, OverflowBackendStatus
from nestor.kube import Api, ApiError, Informer, WorkQueue, kinds, process
from nestor.kube.serving import pages
from nestor.kube.serving.pages import CACHES, METRICS, STALE_SECONDS, Family, Pages, Samples
from nestor.overflow.vnode.api import NodeApi
from nestor.overflow.vnode.backend import factory, health, view
from nestor.overflow.vnode.backend.factory import MissingSecret, Secrets
from nestor.overflow.vnode.backend.view import BackendView
from nestor.overflow.vnode.identity import describe_lacking
from nestor.overflow.vnode.nodes import Nodes
from nestor.overflow.vnode.pods.controller import PodController
from nestor.overflow.vnode.pods.inputs import Refresher
from nestor.overflow.vnode.pods.orphans import Memory, OrphanFinder
from nestor.overflow.vnode.pods.poll import StatusPoller
from nestor.overflow.vnode.restart import Restart
from nestor.overflow.vnode.settings import Settings, parse
from nestor.pods.providers.base import Backend

log = logging.getLogger(__name__)

MANAGER = "nestor-vnode"
_PATIENCE_SECONDS = 2.0

Build = Callable[[Object, Secrets], Awaitable[Backend]]


@dataclass(frozen=True)
class Parts:
    view: BackendView
    nodes: Nodes
    server: NodeApi
    health: health.Health
    pods: PodController
    poller: StatusPoller

    @property
    def informers(self) -> list[Informer]:
        return [self.view.informer, *self.nodes.informers]

    @property
    def queues(self) -> dict[str, WorkQueue[str]]:
        return {"pods": self.pods.queue, "pod-creations": self.pods.creations}

    def measure(self) -> Iterator[Family]:
        yield Family("nestor_vnode_backend_answers", "gauge", "Whether the backend answers.", (), {(): self.health.is_answering})
        lengths: Samples = {(name,): len(queue) for name, queue in self.queues.items()}
        yield Family("nestor_vnode_queue_length", "gauge", "Pods that wait for processing.", ("queue",), lengths)
        states = Counter((entry.home.node, entry.mark or "Unsent") for entry in self.pods.registry)
        yield Family("nestor_vnode_pods", "gauge", "Pods by whether they were sent.", ("node", "state"), {**states})
        yield Family("nestor_vnode_status_calls_total", "counter", "Questions about all pods.", (), {(): self.poller.calls})
        silence: Samples = {(item.kind.plural, item.fields): item.silence for item in self.informers}
        words = "Since a watch of the API server last reported anything."
        yield Family("nestor_vnode_watch_silence_seconds", "gauge", words, ("resource", "selector"), silence)


@dataclass
class State:
    """How far the process has got."""

    problem: str = "starting"
    """Why it has no parts yet."""
    parts: Parts | None = None

    def find_unready(self) -> str | None:
        """Why pods that are bound now would not be run, as far as that is this process's affair."""
        if self.parts is None:
            return self.problem
        return self.parts.nodes.find_problem() or self.parts.server.find_problem()

    def find_stale(self) -> str | None:
        """Why the process should be started again, if so."""
        for item in self.parts.informers if self.parts else ():
            if item.silence >= STALE_SECONDS:
                return f"a watch of {item.kind.plural} went silent"
        return None

    def write_metrics(self) -> str:
        words = "Whether pods that are bound now would run."
        ready = Family("nestor_vnode_ready", "gauge", words, (), {(): self.find_unready() is None})
        return pages.write_metrics([ready, *(self.parts.measure() if self.parts else ())])

    def write_caches(self) -> str:
        found = self.parts
        return pages.write_caches({"host": found.informers}, found.queues.values()) if found else pages.write_caches({}, ())


def main(arguments: list[str]) -> int:
    """Run until stopped. Returns 0 after a signal, or when something was replaced and the container must restart; 1 if a part
    stops unexpectedly.
    """
    process.set_up_log()
    settings = parse(arguments)
    code = 0
    try:
        asyncio.run(process.run_until_signal(run(settings)))
    except* Restart as reasons:
        log.info("exiting so that the container restarts: %s", process.find_first(reasons))
    except* Exception:
        log.exception("exiting: a part of the process stopped unexpectedly")
        code = 1
    return code


async def run(settings: Settings, build: Build = factory.build_backend) -> None:
    """Start everything in order and keep it running until cancelled. If any part stops, all of them do."""
    state = State()
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        spawn = partial(process.spawn, group)
        probes = {"/readyz": state.find_unready, "/healthz": state.find_stale}
        texts = {METRICS: state.write_metrics, CACHES: state.write_caches}
        spawn(Pages(probes, texts).serve(settings.health_port), "health")
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        api = await stack.enter_async_context(await Api.connect(settings.kubeconfig, manager=MANAGER))
        body, secrets, backend = await _connect(api, settings, build, state)
        stack.push_async_callback(backend.close)
        version = str((await _patiently(lambda: api.request("GET", "/version"), state))["gitVersion"])
        spawn(secrets.watch(), "Secrets")
        _start(settings, api, body, backend, version, state, spawn)


def _start(
    settings: Settings,
    api: Api,
    body: Object,
    backend: Backend,
    version: str,
    state: State,
    spawn: Callable[[Coroutine[Any, Any, None], str], object],
) -> None:
    """`version` is that of the host's API server."""
    name = settings.backend
    spec = OverflowBackendSpec.model_validate(spec_of(body))
    answers = health.Health(patience=factory.find_patience(spec))
    shown = BackendView(api, body, answers)
    pods = PodController(backend, name, settings.address, answers)
    nodes = Nodes(api, settings, shown, answers, pods, version)
    server = NodeApi(api, settings, nodes, backend, pods.registry, shown.look)
    shown.find_lacking = lambda: describe_lacking([*nodes.certificates, *server.certificates])
    poller = StatusPoller(backend, pods.registry, answers, factory.find_period(spec), pods.queue.add)
    state.parts = Parts(shown, nodes, server, answers, pods, poller)
    spawn(shown.informer.run(), "OverflowBackend")
    spawn(shown.keep(backend), "status of the OverflowBackend")
    spawn(health.watch(backend, answers), "checks")
    spawn(nodes.run(), "nodes")
    spawn(server.run(name), "kubelet API")
    spawn(pods.queue.run(), "pods")
    spawn(pods.creations.run(), "creations")
    spawn(poller.run(), "statuses")
    spawn(Memory(shown, pods.registry, lambda: nodes.names, is_needed=backend.lists is None).run(), "notes of pods")
    if backend.lists is not None:
        spawn(OrphanFinder(backend.lists, pods.registry, answers, lambda: nodes.names).run(), "orphans")
    if backend.refreshes is not None:
        spawn(Refresher(backend.refreshes, pods.registry, answers).run(), "refreshes")
    log.info("serving backend '%s'", name)


async def _connect(api: Api, settings: Settings, build: Build, state: State) -> tuple[Object, Secrets, Backend]:
    """The OverflowBackend and its provider, as soon as nothing is missing; until then, its status says what is."""
    while True:
        body = await _patiently(lambda: api.get(kinds.OVERFLOW_BACKEND, settings.backend), state)
        try:
            spec = OverflowBackendSpec.model_validate(spec_of(body))
            secrets = Secrets(api, settings.namespace, spec.secret_names())
            await _patiently(secrets.load, state)
            return body, secrets, await build(body, secrets)
        except MissingSecret as error:
            reason, message = conditions.SECRET_NOT_FOUND, f"{error} is missing in namespace '{settings.namespace}'"
        except ValidationError as error:
            reason, message = conditions.BACKEND_INVALID, explain(error, "spec")
        except ValueError as error:
            reason, message = conditions.BACKEND_INVALID, str(error)
        state.problem = message
        log.warning("the backend cannot be used: %s", message)
        known = OverflowBackendStatus.model_validate(status_of(body))
        said = [conditions.Condition(conditions.REACHABLE, "False", reason, message)]
        status = view.build_status(body, list(known.shapes or []), known.unconfirmed_pods, said)
        try:
            await view.write_status(api, body, status)
        except ApiError as error:
            log.warning("status of OverflowBackend '%s' not written: %s", settings.backend, error)
        await asyncio.sleep(_PATIENCE_SECONDS)


async def _patiently(ask: Callable[[], Coroutine[Any, Any, Any]], state: State) -> Any:
    """Retry until there is an answer: the operator makes our rights at the same time as this pod."""
    while True:
        try:
            return await ask()
        except ApiError as error:
            state.problem = error.message
            log.info("waiting for the host cluster: %s", error)
            await asyncio.sleep(_PATIENCE_SECONDS)

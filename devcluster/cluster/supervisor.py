"""Process 1 of the cluster: starts the control plane in order and the nodes beside it, ends everything when one of them ends.

Run by `launcher` as `python -m devcluster.cluster.supervisor` inside new pid, mount, uts and ipc namespaces. It restarts
nothing: a component that dies is a fault to look at, so the cluster ends with that component's last words in its state. Only
a node may be stopped and started again, by order (see `control`).
"""

import asyncio
import contextlib
import logging
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from typing import Literal

from devcluster.cluster import api, cgroups, components, configs, control, network, paths, settings, state
from devcluster.cluster.components import Component
from devcluster.cluster.logs import tail
from devcluster.cluster.node import components as node_components
from devcluster.cluster.node import facts, runtime
from devcluster.cluster.node import network as node_network
from devcluster.cluster.paths import NodePaths, Paths
from devcluster.cluster.plugin import components as plugin_components
from devcluster.cluster.processes import ComponentEnded, Processes

log = logging.getLogger(__name__)

NODE_STOP_SECONDS = 15.0


class Supervisor:
    """The running control plane and nodes. Made inside the running event loop."""

    def __init__(self, layout: Paths) -> None:
        self._layout = layout
        self._nodes = layout.nodes()
        self._processes = Processes(layout.log, configs.environment(layout))

    async def run(self) -> None:
        """Work until told to stop. Raises `ComponentEnded` when a component ends before that."""
        await self._processes.serve(self._start, self._stop)

    async def _start(self) -> None:
        with _api_is_ready() as wait_for_api:
            for component in components.first(self._layout):
                self._spawn(component)
            for node in self._nodes:
                self._spawn(node_components.init(node), wait_for_api)
            log.info("the control plane and the nodes are started")
            client = api.Client(self._layout)
            while not await asyncio.to_thread(client.is_ready):  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.05)
            log.info("the API server is ready")
            for node in self._nodes:
                await asyncio.to_thread(client.create, "/api/v1/nodes", facts.node_object(node.node))
        for component in components.after_api(self._layout):
            self._spawn(component)
        await control.listen(self._layout, self._obey)
        state.save(self._layout.state, state.State("Running"))
        log.info("everything is started")

    def _spawn(self, component: Component, stdin: int | None = None) -> None:
        prefix = network.enter(self._layout.netns) if component.side == "cluster" else []
        self._processes.spawn(component, prefix, stdin)

    async def _stop(self) -> None:
        """End the nodes in order, so that their image stores stay usable. The rest needs no order, its data goes away; what is
        left when process 1 ends is killed by the kernel."""
        names = [plugin_components.init(self._layout.plugin).name, *(node_components.init(node).name for node in self._nodes)]
        await asyncio.gather(*(self._processes.end(name, NODE_STOP_SECONDS) for name in names))
        await self._processes.end("registry")

    async def _obey(self, order: control.Order) -> None:
        """Stop or start a node, or the interLink plugin; nothing happens to one that is as ordered. Raises `RuntimeError` for one
        that cannot be."""
        if order.node == facts.PLUGIN:
            await self._obey_for_plugin(order.action)
            return
        if order.node == control.VOLUMES:
            volumes = components.volumes(self._layout)
            if not self._processes.runs(volumes.name):
                self._spawn(volumes)
            return
        node = find_stoppable(self._nodes, order.node)
        component = node_components.init(node)
        if order.action == "stop":
            # A power cut: nothing of the node is heard from the first moment on, and nothing in it gets a chance to tidy up.
            node.stopped.touch()
            node_network.unplug(self._layout.netns)
            await self._processes.end(component.name, 0)
            cgroups.remove(name=node.node.cgroup)
        elif not self._processes.runs(component.name):
            cgroups.create()
            with _api_is_ready() as wait_for_api:
                self._spawn(component, wait_for_api)
            node.stopped.unlink(missing_ok=True)

    async def _obey_for_plugin(self, action: Literal["stop", "start"]) -> None:
        paths = self._layout.plugin
        component = plugin_components.init(paths)
        if action == "stop":
            await self._processes.end(component.name, NODE_STOP_SECONDS)
            shutil.rmtree(paths.home, ignore_errors=True)
            for file in (*plugin_components.sockets(paths), self._layout.plugin_socket):
                file.unlink(missing_ok=True)
            cgroups.remove(name=plugin_components.CGROUP)
            return
        known = state.load(paths.state)
        if known is not None and known.message:
            await self._processes.end(component.name, NODE_STOP_SECONDS)  # a part of it has ended, so it ends too
        if not self._processes.runs(component.name):
            for folder in (paths.home, paths.log):
                folder.mkdir(parents=True, exist_ok=True)
            paths.state.unlink(missing_ok=True)
            runtime.prepare(paths)
            self._spawn(component)


def find_stoppable(nodes: list[NodePaths], name: str) -> NodePaths:
    """The node of that name. Raises `RuntimeError` when it cannot be stopped, or there is none."""
    found = next((node for node in nodes if node.node.name == name), None)
    if found is None:
        raise RuntimeError(f"the cluster has no node '{name}', only {', '.join(node.node.name for node in nodes)}")
    if found.node == facts.FIRST:
        raise RuntimeError(f"'{name}' shares its network with the control plane and cannot be stopped alone")
    return found


@contextlib.contextmanager
def _api_is_ready() -> Iterator[int]:
    """A file descriptor to read from, which ends when the `with` does: that is how nodes learn that the API server is ready."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


def prepare(layout: Paths) -> None:
    """Make the cluster's own host name and network, which end with the namespaces they are made in, and the nodes' stores."""
    socket.sethostname(settings.NAME)
    nodes = layout.nodes()
    network.setup(layout.netns, has_second_node=any(node.node == facts.SECOND for node in nodes))
    log.info("the network is made")
    for node in nodes:
        runtime.prepare(node)
    runtime.remove_old(layout)
    log.info("the image stores are in order")


async def _run(layout: Paths) -> None:
    await Supervisor(layout).run()


def explain(layout: Paths, ended: ComponentEnded) -> state.State:
    """How the cluster ended, in the words of whoever knows best: a node's process 1 has said which of its programs it was."""
    for node in layout.nodes():
        known = state.load(node.state)
        if known and ended.name == node_components.init(node).name:
            return known
    return state.State("Failed", f"{ended}\n{tail(layout.log / f'{ended.name}.log')}", ended.name)


def main() -> int:
    """Run the cluster to its end; the state tells how it ended."""
    layout = paths.default()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    try:
        prepare(layout)
        asyncio.run(_run(layout))
    except ComponentEnded as ended:
        state.save(layout.state, explain(layout, ended))
        return 1
    except Exception as error:
        log.exception("the supervisor failed")
        state.save(layout.state, state.State("Failed", f"{type(error).__name__}: {error}", "supervisor"))
        return 1
    state.save(layout.state, state.State("Stopped"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Process 1 of a node: makes the node's surroundings, starts its programs, ends the pods and them in order when asked to.

Run by the supervisor as `python -m devcluster.cluster.node NAME` inside new namespaces. Its standard input ends when the API
server is ready. Killing it ends every process of the node, as a power cut does.
"""

import asyncio
import contextlib
import socket
import sys

from devcluster.cluster import configs, init, paths
from devcluster.cluster.node import components, facts, mounts, network, runtime
from devcluster.cluster.paths import NodePaths
from devcluster.cluster.processes import Processes


class NodeProcesses:
    """The node's running programs."""

    def __init__(self, layout: NodePaths) -> None:
        self._layout = layout
        self._processes = Processes(layout.base.log, configs.environment(layout.base))

    async def run(self) -> None:
        """Work until told to stop. Raises `ComponentEnded` when one of the programs ends before."""
        await self._processes.serve(self._start, self._stop)

    async def _start(self) -> None:
        # A kubelet that asks containerd too early ends itself.
        await self._processes.spawn_ready(components.containerd(self._layout))
        api_is_ready, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_reader(sys.stdin, api_is_ready.set)
        await api_is_ready.wait()
        loop.remove_reader(sys.stdin)
        self._processes.spawn(components.proxy(self._layout))
        self._processes.spawn(components.policies(self._layout))
        self._processes.spawn(components.kubelet(self._layout))

    async def _stop(self) -> None:
        """End the kubelet, then the pods, then containerd, in this order, so that the image store stays usable."""
        name = self._layout.node.name
        with contextlib.suppress(Exception):  # a node that failed half-way is simply not clean
            await self._processes.end(f"{name}/kubelet")
            runtime.clean(self._layout)  # blocks on purpose: the event loop would reap the commands that it runs
            if await self._processes.end(f"{name}/containerd") == 0:
                runtime.mark_clean(self._layout)


def prepare(layout: NodePaths) -> None:
    """Make the node's own host name, mounts and network. Each ends with the namespaces it is made in."""
    socket.sethostname(layout.node.name)
    if layout.node != facts.FIRST:
        network.setup(layout.base.netns)
    mounts.setup(layout)


async def _work(layout: NodePaths) -> None:
    await NodeProcesses(layout).run()


def main(name: str) -> int:
    """Run the node to its end; its state tells why it failed."""
    layout = next(node for node in paths.default().nodes() if node.node.name == name)
    return init.run(layout, f"{name}/node", prepare, _work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Process 1 of the plugin: makes its surroundings, starts containerd and the server, ends the containers and them in order.

Run by the supervisor as `python -m devcluster.cluster.plugin` inside new namespaces. Killing it ends every process in them.
"""

import contextlib
import socket
import subprocess
import sys

from devcluster.cluster import configs, init, paths
from devcluster.cluster.node import mounts, runtime
from devcluster.cluster.paths import RuntimePaths
from devcluster.cluster.plugin import components
from devcluster.cluster.processes import Processes
from devcluster.plugin.ctr import NAMESPACE


class PluginProcesses:
    """The plugin's running programs. Made inside the running event loop."""

    def __init__(self, layout: RuntimePaths) -> None:
        self._layout = layout
        self._processes = Processes(layout.base.log, configs.environment(layout.base))

    async def run(self) -> None:
        """Work until told to stop. Raises `ComponentEnded` when one of the programs ends before."""
        await self._processes.serve(self._start, self._stop)

    async def _start(self) -> None:
        await self._processes.spawn_ready(components.containerd(self._layout))
        self._processes.spawn(components.server(self._layout))

    async def _stop(self) -> None:
        """End the server, then the containers, then containerd, in this order, so that the image store stays usable."""
        name = self._layout.name
        with contextlib.suppress(RuntimeError, subprocess.SubprocessError):  # one that failed half-way is simply not clean
            await self._processes.end(f"{name}/server")
            runtime.clean(self._layout, NAMESPACE)  # blocks on purpose: the event loop would reap the commands that it runs
            if await self._processes.end(f"{name}/containerd") == 0:
                runtime.mark_clean(self._layout)


def prepare(layout: RuntimePaths) -> None:
    """Make the plugin's own host name, files and mounts. The first and the last end with its namespaces."""
    socket.sethostname(layout.name)
    configs.write(layout.etc, components.files(layout))
    mounts.setup(layout)


async def _work(layout: RuntimePaths) -> None:
    await PluginProcesses(layout).run()


def main() -> int:
    """Run the plugin to its end; its state tells why it failed."""
    layout = paths.default().plugin
    return init.run(layout, components.init(layout).name, prepare, _work)


if __name__ == "__main__":
    sys.exit(main())

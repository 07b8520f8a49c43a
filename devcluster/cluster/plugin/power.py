"""The interLink plugin's switch, from the machine's side."""

import json
from dataclasses import dataclass
from pathlib import Path

from devcluster.cluster import control, health, state
from devcluster.cluster.node.facts import PLUGIN
from devcluster.cluster.paths import Paths
from devcluster.cluster.plugin import components
from devcluster.plugin.orders import Client
from devcluster.plugin.ports import Ports
from devcluster.progress import Progress

START_SECONDS = 30.0


@dataclass(frozen=True)
class PluginInfo:
    """How to reach the plugin, from the machine and from pods of the embedded cluster."""

    server_url: str
    """Hop 1, with `/token` for client credentials."""
    server_tls_url: str
    """Hop 1, for clients with a certificate."""
    plugin_url: str
    """Hop 2."""
    plugin_tls_url: str
    """Hop 2, for clients with a certificate."""
    pki: Path
    """Folder with `ca.crt`, `client.crt` and `client.key`."""
    client: Client
    """For its switches."""


def info(layout: Paths) -> PluginInfo:
    """Where the plugin is, or would be."""
    address, ports = components.ADDRESS, Ports()
    return PluginInfo(
        server_url=f"http://{address}:{ports.server}",
        server_tls_url=f"https://{address}:{ports.server_tls}",
        plugin_url=f"http://{address}:{ports.plugin}",
        plugin_tls_url=f"https://{address}:{ports.plugin_tls}",
        pki=layout.plugin.home / "server" / "pki",
        client=Client(layout.plugin_socket),
    )


def up(layout: Paths, progress: Progress) -> PluginInfo:
    """Have it run; safe to repeat. Raises `RuntimeError` when it does not start."""
    control.send(layout, control.Order("start", PLUGIN))
    found = info(layout)
    logs = tuple(f"{PLUGIN}/{name}" for name in ("init", "containerd", "server"))
    health.wait(layout, health.Check("interLink plugin answers", lambda: _is_up(layout), START_SECONDS, logs), progress)
    return found


def down(layout: Paths, progress: Progress) -> None:
    """End it and every container in it; harmless when it does not run. Its images stay."""
    with progress.stage("End the interLink plugin"):
        control.send(layout, control.Order("stop", PLUGIN))


def status(layout: Paths) -> tuple[bool, str]:
    """Whether it runs, and how it is, in words."""
    try:
        seen = info(layout).client.state()
    except RuntimeError:
        known = state.load(layout.plugin.state)
        return False, f"failed: {known.message}" if known else "not running"
    pods = f"{len(seen['pods'])} pods" if len(seen["pods"]) != 1 else "1 pod"
    return True, f"running, {pods}; switches: {json.dumps(seen['switches'])}"


def _is_up(layout: Paths) -> bool:
    is_up, message = status(layout)
    if message.startswith("failed"):
        raise RuntimeError(f"the interLink plugin {message}")
    return is_up

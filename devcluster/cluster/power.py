"""The nodes' power switch: stopping one as a power cut does, and starting it again."""

import contextlib
from collections.abc import Sequence

from devcluster.cluster import control, health, launcher
from devcluster.cluster.paths import Paths
from devcluster.progress import Progress


def stop(layout: Paths, name: str, progress: Progress) -> None:
    """Stop a node. The cluster notices that by itself, later. Raises `RuntimeError` when the node cannot be stopped."""
    with progress.stage(f"Stop node {name}"):
        control.send(layout, control.Order("stop", name))


def start(layout: Paths, name: str, progress: Progress) -> None:
    """Start a node and wait until it is ready; safe to repeat. Raises `RuntimeError` when it cannot be started."""
    with progress.stage(f"Start node {name}"):
        control.send(layout, control.Order("start", name))
    for node in layout.nodes():
        if node.node.name == name:
            health.wait(layout, health.node_check(node), progress)


def start_all(layout: Paths, progress: Progress) -> None:
    """Start the stopped nodes. One that cannot be started makes the cluster unhealthy, no more."""
    with contextlib.suppress(RuntimeError):
        for name in stopped(layout):
            start(layout, name, progress)


def names(layout: Paths) -> list[str]:
    """The running cluster's nodes."""
    return [node.node.name for node in layout.nodes()] if launcher.is_running(layout) else []


def stopped(layout: Paths) -> list[str]:
    """The nodes that were stopped by order."""
    return [node.node.name for node in layout.nodes() if node.stopped.exists()]


def describe(healthy: bool, without: Sequence[str]) -> str:
    """How the running cluster is, `without` its stopped nodes."""
    if without:
        return f"running without {', '.join(without)}; 'python -m devcluster node start {without[0]}' starts it"
    return "running" if healthy else "running, but not healthy"

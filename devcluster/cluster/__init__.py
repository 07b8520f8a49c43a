"""A cluster to develop and test against, chosen by the environment variable `CLUSTER`:

- `embedded` (default): a real Kubernetes of two nodes that this package starts on a bare Linux machine;
- `current`: the cluster that kubectl's current context names, only looked at;
- `kind`: a kind cluster, where Docker and kind are installed.

Belongs here: processes, namespaces, configuration and readiness of the cluster. Building binaries and images does not
(`devcluster.build`), and nothing here knows what Nestor does.
"""

import contextlib
import os
from contextlib import AbstractContextManager
from typing import Literal

from devcluster.cluster import current, embedded, kind, lock, paths, power
from devcluster.cluster.info import ClusterInfo, Status
from devcluster.cluster.leftovers import find
from devcluster.cluster.plugin import power as plugin_power
from devcluster.cluster.plugin.power import PluginInfo
from devcluster.progress import Progress, Silent

KINDS = ("embedded", "current", "kind")

__all__ = [
    "ClusterInfo",
    "PluginInfo",
    "Status",
    "down",
    "hold",
    "kubeconfig",
    "leftovers",
    "load",
    "node",
    "nodes",
    "plugin",
    "plugin_status",
    "status",
    "up",
]


def up(progress: Progress | None = None, *extras: str) -> ClusterInfo:
    """Have a ready cluster; safe to call when there is one. `extras`: of `build.EXTRAS`, for the embedded one. Raises
    `RuntimeError` that says what is wrong."""
    if _kind() == "embedded":
        return embedded.up(progress or Silent(), *extras)
    return {"current": current.up, "kind": kind.up}[_kind()](progress or Silent())


def down(progress: Progress | None = None) -> list[str]:
    """End the cluster; safe to call when there is none. What could not be removed, normally nothing."""
    match _kind():
        case "embedded":
            return embedded.down(progress or Silent())
        case "kind":
            kind.down(progress or Silent())
    return []  # a current context is not ours to end


def load(progress: Progress | None = None, *extras: str) -> None:
    """Build the images that changed, and these of `build.EXTRAS` for the embedded cluster, and give them to the cluster."""
    match _kind():
        case "embedded":
            embedded.load(progress or Silent(), *extras)
        case "kind":
            from devcluster.build import dockerfiles  # noqa: PLC0415 - the other functions must work where nothing can be built

            kind.load(dockerfiles.list_sources(), progress or Silent())
        case _:
            raise RuntimeError("CLUSTER=current: push the images to a registry that the cluster pulls from")


def node(action: Literal["stop", "start"], name: str, progress: Progress | None = None) -> None:
    """Stop a node of the embedded cluster as a power cut does, or start it again. Raises `RuntimeError` that says why not."""
    if _kind() != "embedded":
        raise RuntimeError("only the embedded cluster's nodes can be stopped and started")
    embedded.node(action, name, progress or Silent())


def nodes() -> list[str]:
    """Names of the embedded cluster's nodes, the first of which carries the control plane; none of another cluster's."""
    return power.names(paths.default()) if _kind() == "embedded" else []


def plugin(action: Literal["up", "down"], progress: Progress | None = None) -> PluginInfo:
    """Start the embedded cluster's interLink plugin, or end it with its containers; how to reach it. Safe to repeat. Raises
    `RuntimeError` that says why not."""
    if _kind() != "embedded":
        raise RuntimeError("only the embedded cluster has an interLink plugin")
    return embedded.plugin(action, progress or Silent())


def plugin_status() -> tuple[bool, str]:
    """Whether the interLink plugin runs, and how it is, in words."""
    return plugin_power.status(paths.default()) if _kind() == "embedded" else (False, "only the embedded cluster has one")


def hold(what: str, progress: Progress | None = None) -> AbstractContextManager[None]:
    """Have this machine's one embedded cluster for as long as the `with` lasts: others wait, and so do we for them. `up` and
    `down` hold it by themselves; who wants the cluster to stay as it is between them holds it for longer."""
    if _kind() != "embedded":
        return contextlib.nullcontext()
    return lock.run(paths.default(), what, progress or Silent())


def status() -> Status:
    """How the cluster is."""
    chosen = {"embedded": embedded.status, "current": current.status, "kind": kind.status}[_kind()]
    return chosen()


def kubeconfig() -> str:
    """Path of the kubeconfig that leads to the cluster."""
    match _kind():
        case "embedded":
            return str(paths.default().kubeconfig)
        case "kind":
            return str(kind.kubeconfig(paths.default()))
    return str(current.kubeconfig())


def leftovers() -> list[str]:
    """What an embedded cluster that ended has left on the machine, a line each; a running one lists itself."""
    return find(paths.default())


def _kind() -> str:
    chosen = os.environ.get("CLUSTER") or "embedded"
    if chosen not in KINDS:
        raise RuntimeError(f"CLUSTER must be one of {', '.join(KINDS)}, not '{chosen}'")
    return chosen

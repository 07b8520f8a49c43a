"""The embedded cluster from the outside: start it, end it, ask how it is. `CLUSTER=embedded`, the default."""

import contextlib
import fcntl
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from devcluster.cluster import (
    cgroups,
    configs,
    control,
    health,
    images,
    launcher,
    leftovers,
    lock,
    machine,
    network,
    paths,
    power,
    preflight,
    settings,
    state,
)
from devcluster.cluster.info import ClusterInfo, Status
from devcluster.cluster.node import runtime
from devcluster.cluster.paths import Paths
from devcluster.cluster.plugin import power as plugin_power
from devcluster.cluster.plugin.power import PluginInfo
from devcluster.progress import Progress

ADDONS = Path(__file__).parent / "addons"
BUSY_SECONDS = 30.0
"""How long a running cluster may take to answer before it is replaced, with everybody's pods in it."""


def info(layout: Paths) -> ClusterInfo:
    """How to reach the cluster."""
    ports = settings.ports()
    return ClusterInfo(layout.kubeconfig, ports.http, settings.DOMAIN, settings.INGRESS_CLASS, ports.https)


def up(progress: Progress, *extras: str) -> ClusterInfo:
    """Have a ready cluster with these of `build.EXTRAS`: a healthy one is kept, a broken one replaced. Images are brought up to
    date in any case."""
    from devcluster import build  # noqa: PLC0415 - `down` and `status` must work where nothing can be built

    layout = paths.default()
    # Before anything starts: whoever finds no image, or no rights yet, asks again later and later.
    build.ensure_images(progress, *extras)
    with lock.run(layout, "devcluster up", progress), _only_one(layout, progress):
        kept = _keep_or_start(layout, progress)
        # While the control plane starts by itself.
        _wait(layout, [health.registry_check(), *health.runtime_checks(layout)], progress)
        _load(layout, progress, extras)
        _wait(layout, [health.api_check(layout)], progress)
        if not kept:
            _apply_addons(layout, progress)
        _wait(layout, [*health.node_checks(layout), *health.service_checks()], progress)
        _start_volumes(layout, extras)
    return info(layout)


def load(progress: Progress, *extras: str) -> list[str]:
    """Build what changed, and these of `build.EXTRAS`, push it to the cluster's registry, have the nodes pull it again; the tags
    that they will pull."""
    layout = paths.default()
    _require_running(layout)
    with lock.run(layout, "devcluster load", progress), _only_one(layout, progress):
        stale = _load(layout, progress, extras)
        _start_volumes(layout, extras)
    return stale


def node(action: Literal["stop", "start"], name: str, progress: Progress) -> None:
    """Stop a node as a power cut does, or start it again. Raises `RuntimeError` that says why not."""
    layout = paths.default()
    _require_running(layout)
    act = {"stop": power.stop, "start": power.start}[action]
    with lock.run(layout, f"devcluster node {action}", progress), _only_one(layout, progress):
        act(layout, name, progress)


def plugin(action: Literal["up", "down"], progress: Progress) -> PluginInfo:
    """Start the interLink plugin, or end it; how to reach it. Raises `RuntimeError` that says why not."""
    layout = paths.default()
    _require_running(layout)
    with lock.run(layout, f"devcluster plugin {action}", progress), _only_one(layout, progress):
        if action == "up":
            return plugin_power.up(layout, progress)
        plugin_power.down(layout, progress)
    return plugin_power.info(layout)


def down(progress: Progress) -> list[str]:
    """End the cluster, whatever state it is in, and return what is left of it (nothing, unless something went wrong)."""
    layout = paths.default()
    with lock.run(layout, "devcluster down", progress, wants_cluster=False), _only_one(layout, progress):
        with progress.stage("End the embedded cluster") as stage:
            _end(layout)
            left = leftovers.find(layout)
            stage.detail = f"{len(left)} things are left" if left else "nothing is left"
        if other := lock.other_cluster(layout):
            progress.note(f"Left alone: {other}")
    return left


def status() -> Status:
    """How the cluster is, each part asked once, all at the same time."""
    layout = paths.default()
    known = state.load(layout.state)
    if not launcher.is_running(layout):
        failed = known is not None and known.phase == "Failed"
        return Status("embedded", False, False, f"failed: {known.message}" if known and failed else "not running")
    found = health.ask(health.checks(layout))
    healthy = all(found.values()) and known is not None and known.phase == "Running"
    return Status("embedded", True, healthy, power.describe(healthy, power.stopped(layout)), found)


def _keep_or_start(layout: Paths, progress: Progress) -> bool:
    """Whether the running cluster could be kept."""
    if launcher.is_running(layout):
        power.start_all(layout, progress)
        if not (faults := _find_faults(layout)):
            progress.note("The embedded cluster runs already.")
            return True
        progress.note(f"The embedded cluster is not healthy ({faults}); it is started anew.")
    _end(layout)
    preflight.check(layout)
    with progress.stage("Start the embedded cluster"), lock.claim(layout) as claimed:
        if claimed is None:
            raise RuntimeError(f"this machine has a cluster already: {lock.other_cluster(layout)}")
        machine.prepare(layout.machine)
        cgroups.create()
        launcher.start(layout, claimed)
    return False


def _find_faults(layout: Paths) -> str:
    """What of a running cluster fails for long: on a busy machine, a late answer is no fault. Empty if everything works."""
    deadline = time.monotonic() + BUSY_SECONDS
    while not (found := status()).healthy:
        known = state.load(layout.state)
        if known is None or known.phase not in ("Starting", "Running") or time.monotonic() > deadline:
            return ", ".join(f"not: {title}" for title, is_ok in found.checks.items() if not is_ok) or found.message
        time.sleep(health.POLL_SECONDS)
    return ""


def _require_running(layout: Paths) -> None:
    if not launcher.is_running(layout):
        raise RuntimeError("the embedded cluster does not run; 'python -m devcluster up' starts it")


def _end(layout: Paths) -> None:
    """End the supervisor, remove what outlives processes. Each step is harmless when there is nothing to do."""
    launcher.stop(layout)
    with lock.claim(layout) as claimed:
        if claimed is not None:  # else these are of another cache's cluster
            network.remove_link()
            cgroups.remove()
            machine.restore(layout.machine)
    mounted = launcher.mounts_below(layout.cluster)
    if mounted:
        raise RuntimeError(f"still mounted, so nothing was removed: {', '.join(mounted)}")
    for name in leftovers.CLUSTER_FILES:
        path = layout.cluster / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _wait(layout: Paths, checks: Sequence[health.Check], progress: Progress) -> None:
    for check in checks:
        health.wait(layout, check, progress)


def _load(layout: Paths, progress: Progress, extras: Sequence[str]) -> list[str]:
    from devcluster import build  # noqa: PLC0415 - see `up`

    build.push_images(settings.REGISTRY, progress, *extras)
    return forget_old_images(layout, progress)


def _start_volumes(layout: Paths, extras: Sequence[str]) -> None:
    if control.VOLUMES in extras:
        control.send(layout, control.Order("start", control.VOLUMES))


def forget_old_images(layout: Paths, progress: Progress) -> list[str]:
    """Make the nodes pull what the registry knows better by now; these tags."""
    stale = sorted({name for node in layout.nodes() if runtime.answers(node) for name in images.refresh(node)})
    for name in stale:
        progress.note(f"Rebuilt, the nodes will pull it again: {name}")
    return stale


def _apply_addons(layout: Paths, progress: Progress) -> None:
    """What the cluster itself needs to run as objects: DNS, the Ingress class, access rules."""
    kubectl = [str(layout.bin / "kubectl"), f"--kubeconfig={layout.kubeconfig}"]
    command = [*kubectl, "apply", "--server-side", "--force-conflicts", "-f", str(ADDONS)]
    with progress.stage("Apply the addons"):
        result = subprocess.run(command, capture_output=True, text=True, check=False, env=configs.environment(layout))
        if result.returncode != 0:
            raise RuntimeError(f"the addons could not be applied: {result.stderr.strip()}")


@contextlib.contextmanager
def _only_one(layout: Paths, progress: Progress) -> Iterator[None]:
    """One starter or ender at a time; the lock goes with the process that holds it."""
    layout.cache.mkdir(parents=True, exist_ok=True)
    with layout.lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress.stage("Wait for another process that starts or ends the cluster"):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield

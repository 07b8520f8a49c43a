"""What a node leaves in containerd's store: images stay for the next cluster, pods must not.

A store that was left in order is kept; after a crash nobody can tell what state it is in, and it is thrown away: filling it
again from the local registry takes seconds.
"""

import shutil
import socket
import subprocess
import threading
import time

from devcluster.cluster import configs
from devcluster.cluster.paths import Paths, RuntimePaths

CTR_SECONDS = 30.0
KUBERNETES = "k8s.io"
"""containerd's namespace of Kubernetes' containers."""
OLD = ".old-"
"""In the name of a store that was put aside."""


def prepare(paths: RuntimePaths) -> None:
    """Before a cluster's first containerd starts: keep a store that was left in order, put any other aside for `remove_old`."""
    if not paths.containerd_clean.exists() and paths.containerd.exists():
        paths.containerd.rename(paths.containerd.with_name(f"{paths.containerd.name}{OLD}{time.time_ns()}"))
    paths.containerd_clean.unlink(missing_ok=True)
    paths.containerd.mkdir(parents=True, exist_ok=True)


def remove_old(paths: Paths) -> threading.Thread:
    """Remove the stores that were put aside, while the cluster already starts: on a busy machine, that takes half a minute. What
    is left when we end is removed next time."""

    def remove() -> None:
        for folder in paths.cache.glob(f"*{OLD}*"):
            shutil.rmtree(folder, ignore_errors=True)

    thread = threading.Thread(target=remove, daemon=True)
    thread.start()
    return thread


def clean(paths: RuntimePaths, namespace: str = KUBERNETES) -> None:
    """While containerd still runs, with the kubelet gone: end and remove all pods. The marker that the store is in order is
    set by `mark_clean`, once containerd has ended too."""
    for kind, remove in (("containers", "tasks"), ("sandboxes", "sandboxes"), ("containers", "containers")):
        names = _list(paths, kind, namespace)
        if names:
            ctr(paths, remove, "rm", *(["--force"] if remove != "containers" else []), *names, namespace=namespace, check=False)
    left = _list(paths, "containers", namespace) + _list(paths, "sandboxes", namespace)
    if left:
        raise RuntimeError(f"containerd still holds {', '.join(left)}")


def answers(paths: RuntimePaths) -> bool:
    """Whether containerd takes requests."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(paths.socket))
        except OSError:
            return False
    return True


def mark_clean(paths: RuntimePaths) -> None:
    """The store may be used by the next cluster."""
    paths.containerd_clean.touch()


def ctr(paths: RuntimePaths, *arguments: str, namespace: str = KUBERNETES, check: bool = True) -> str:
    """Run containerd's own client."""
    command = [str(paths.base.bin / "ctr"), "--address", str(paths.socket), "--namespace", namespace]
    result = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        timeout=CTR_SECONDS,
        check=False,
        env=configs.environment(paths.base),
    )
    if check and result.returncode != 0:
        raise RuntimeError(f"'ctr {' '.join(arguments[:3])}' failed: {result.stderr.strip()}")
    return result.stdout


def _list(paths: RuntimePaths, kind: str, namespace: str) -> list[str]:
    """Ids of all containers or sandboxes (which have no quiet listing; the first line is a heading)."""
    if kind == "containers":
        return ctr(paths, "containers", "ls", "-q", namespace=namespace).split()
    return [line.split()[0] for line in ctr(paths, "sandboxes", "ls", namespace=namespace).splitlines()[1:] if line.strip()]

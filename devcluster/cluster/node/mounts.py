"""A node's own `/run`, `/var` and `/etc/hosts`: what node software writes to fixed places stays in the cache or in memory.

Called inside the node's mount namespace; the mounts end with it. The kubelet, containerd, runc, the CNI plugins and
iptables all write below /run and /var by habit (some paths are not configurable), and would leave files on the machine.
"""

import sys
from pathlib import Path

from devcluster.cluster.configs import CHECKOUT
from devcluster.cluster.network import run
from devcluster.cluster.paths import Paths, RuntimePaths

VAR_FOLDERS = ("lib/kubelet", "lib/cni", "log/pods", "log/containers", "tmp", "cache", "lock")


def setup(paths: RuntimePaths) -> None:
    """Cover the machine's places by the node's. What a stopped node left in `/var` is there again, as after a reboot."""
    for folder in VAR_FOLDERS:
        (paths.var / folder).mkdir(parents=True, exist_ok=True)
    if not (paths.var / "run").is_symlink():
        (paths.var / "run").symlink_to("/run")
    own_run = paths.run
    own_run.mkdir(exist_ok=True)
    run(["mount", "-t", "tmpfs", "-o", "mode=755", "nestor-run", str(own_run)])
    (own_run / "netns").mkdir()
    for own, place in ((own_run, Path("/run")), (paths.var, Path("/var"))):
        for path in visible_below(place, needed(paths.base)):
            mount_point = own / path.relative_to(place)
            mount_point.mkdir(parents=True, exist_ok=True)
            run(["mount", "--rbind", str(path), str(mount_point)])
        run(["mount", "--rbind", str(own), str(place)])
    run(["mount", "--bind", str(paths.etc / "hosts"), "/etc/hosts"])
    # The kubelet needs "shared" for mount propagation into pods; there are no peers outside, our namespace was made private.
    # Last, since a bind mount of a shared mount would repeat at its source every mount made in it later.
    run(["mount", "--make-rshared", "/"])


def needed(paths: Paths) -> list[Path]:
    """Folders that the node's processes must find where they are: cache, checkout, Python."""
    return sorted({paths.cache, CHECKOUT, Path(sys.prefix), Path(sys.base_prefix)})


def visible_below(place: Path, folders: list[Path]) -> list[Path]:
    """Those of `folders` that covering `place` would hide; of nested ones, the outermost."""
    hidden: list[Path] = []
    for folder in sorted(folder for folder in folders if folder.is_relative_to(place)):
        if not any(folder.is_relative_to(outer) for outer in hidden):
            hidden.append(folder)
    return hidden

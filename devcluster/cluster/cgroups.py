"""The pods' cgroups: one directory of ours below the root of each hierarchy, whether the machine has cgroup v1 or v2."""

import time
from pathlib import Path

from devcluster.cluster import settings
from devcluster.cluster.node import facts

ROOT = Path("/sys/fs/cgroup")
REMOVE_SECONDS = 10.0


def hierarchies(root: Path = ROOT) -> list[Path]:
    """The root of every cgroup hierarchy: one for v2, one per controller for v1 (or the hybrid of both)."""
    if (root / "cgroup.controllers").exists():
        return [root]
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink())


def create(root: Path = ROOT) -> None:
    """Make the nodes' directories in each hierarchy; a kubelet insists that its cgroup root exists."""
    for hierarchy in hierarchies(root):
        for node in facts.ALL:
            (hierarchy / node.cgroup).mkdir(parents=True, exist_ok=True)


def existing(root: Path = ROOT, name: str = settings.CGROUP) -> list[Path]:
    """Our directories of that name that are there."""
    candidates = [hierarchy / name for hierarchy in hierarchies(root)]
    return [path for path in candidates if path.is_dir()]


def remove(root: Path = ROOT, name: str = settings.CGROUP) -> None:
    """Remove our directories of that name and all below. The processes in them must have been ended; the kernel may need a
    moment for the last of them, so a busy directory is tried again for a while."""
    deadline = time.monotonic() + REMOVE_SECONDS
    for top in existing(root, name):
        folders = sorted((path for path in top.rglob("*") if path.is_dir()), key=lambda path: len(path.parts), reverse=True)
        for folder in [*folders, top]:
            _remove_one(folder, deadline)


def _remove_one(folder: Path, deadline: float) -> None:
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return

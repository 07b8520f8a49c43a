"""How much of its disk and memory the pod uses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
FILES_LIMIT = 300_000


@dataclass(frozen=True)
class Memory:
    """Bytes, without what the kernel gives back when asked (file contents that it caches)."""

    used: int
    limit: int


def measure_folder(folder: Path, *, bytes_limit: int, files_limit: int = FILES_LIMIT) -> tuple[int, int]:
    """Bytes on disk and number of files below `folder`; counting stops when one of the limits is passed.

    Without recursion, since nothing bounds the depth of what a script makes.
    """
    size = files = 0
    ahead = [str(folder)]
    while ahead:
        try:
            entries = list(os.scandir(ahead.pop()))
        except OSError:  # gone, or too deep: what cannot be reached by its path
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            size += status.st_blocks * 512
            files += 1
            if entry.is_dir(follow_symlinks=False):
                ahead.append(entry.path)
        if size > bytes_limit or files > files_limit:
            break
    return size, files


def read_memory(cgroup: Path = CGROUP) -> Memory | None:
    """Of the container, by cgroup v2; None where there is no limit, or none that can be seen."""
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        used = int((cgroup / "memory.current").read_text())
        fields = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    if limit == "max":
        return None
    cached = int(fields.get("file", 0)) - int(fields.get("shmem", 0))
    return Memory(used - cached, int(limit))

"""What an attempt uses, and may: it is stopped with a reason before the kernel or kubelet kill the pod without one."""

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

from nestor.apps.runner.processes import Family

CGROUP = Path("/sys/fs/cgroup")
FILES_LIMIT = 300_000
WORK_LIMIT = 900 * 2**20
TEMPORARY_LIMIT = 230 * 2**20
"""Bytes in the volumes /work and /tmp: below their size limits (`nestor.operator.job.runner_pod`); kubelet evicts beyond them."""
PROCESS_LIMIT = 512
MEMORY_SHARE = 0.8
TICK_SECONDS = 0.1
PROCESSES_EVERY = 2
"""Ticks; memory, the quickest to run out and the cheapest to read, is looked at in each."""
DISK_SHARE = 20
"""The disk is measured, in a thread, at most this fraction of the time, and not more often than once a second."""


@dataclass(frozen=True)
class Memory:
    """Bytes, without what the kernel gives back when asked (file contents that it caches)."""

    used: int
    limit: int


@dataclass(frozen=True)
class Limits:
    """`folders` with their bytes; `processes` at the same time."""

    folders: tuple[tuple[Path, int], ...] = ()
    processes: int = PROCESS_LIMIT
    files: int = FILES_LIMIT


async def watch(family: Family, limits: Limits) -> str:
    tick, next_disk = 0, 0.0
    while True:
        if tick % PROCESSES_EVERY == 0 and (reason := _check_processes(family, limits)):
            return reason
        if reason := check_memory(read_memory()):
            return reason
        if time.monotonic() >= next_disk:
            start = time.monotonic()
            try:
                reason = await asyncio.to_thread(check_folders, limits)
            except RuntimeError as error:  # not even a thread can be started
                reason = f"the runner's pod has reached its limit of processes ({error})"
            if reason:
                return reason
            next_disk = time.monotonic() + max(1.0, (time.monotonic() - start) * DISK_SHARE)
        await asyncio.sleep(TICK_SECONDS)
        tick += 1


def _check_processes(family: Family, limits: Limits) -> str | None:
    processes = family.find()
    family.settle(processes)
    if len(processes) <= limits.processes:
        return None
    return f"{len(processes)} processes at the same time, more than the allowed {limits.processes}"


def check_memory(memory: Memory | None) -> str | None:
    """Whether the pod is about to run out of memory and be killed, together with the runner."""
    if memory is None or memory.used <= memory.limit * MEMORY_SHARE:
        return None
    return f"the runner's pod uses {_mib(memory.used)} of its {_mib(memory.limit)} of memory"


def check_folders(limits: Limits) -> str | None:
    for folder, most in limits.folders:
        size, files = measure_folder(folder, bytes_limit=most, files_limit=limits.files)
        if size > most:
            return f"{folder} holds more than the {_mib(most)} that a runner may store there"
        if files > limits.files:
            return f"{folder} holds more than the {limits.files} files that a runner may store there"
    return None


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


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

"""What one attempt may use. Beyond that it is stopped with a reason, before the kernel or kubelet kill the pod without one."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from nestor.runner import usage
from nestor.runner.processes import Family

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
class Limits:
    """`folders` with their bytes; `processes` at the same time."""

    folders: tuple[tuple[Path, int], ...] = ()
    processes: int = PROCESS_LIMIT
    files: int = usage.FILES_LIMIT


async def watch(family: Family, limits: Limits) -> str:
    """Return the reason once a limit is exceeded."""
    tick, next_disk = 0, 0.0
    while True:
        if tick % PROCESSES_EVERY == 0 and (reason := _check_processes(family, limits)):
            return reason
        if reason := check_memory(usage.read_memory()):
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


def check_memory(memory: usage.Memory | None) -> str | None:
    """Whether the pod is about to run out of memory and be killed, together with the runner."""
    if memory is None or memory.used <= memory.limit * MEMORY_SHARE:
        return None
    return f"the runner's pod uses {_mib(memory.used)} of its {_mib(memory.limit)} of memory"


def check_folders(limits: Limits) -> str | None:
    """Whether a folder is about to be full."""
    for folder, most in limits.folders:
        size, files = usage.measure_folder(folder, bytes_limit=most, files_limit=limits.files)
        if size > most:
            return f"{folder} holds more than the {_mib(most)} that a runner may store there"
        if files > limits.files:
            return f"{folder} holds more than the {limits.files} files that a runner may store there"
    return None


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"

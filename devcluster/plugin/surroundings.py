"""What a pod's containers share: a network namespace of their own, with nothing but its loopback interface, and cgroups."""

import asyncio
import contextlib
import os
from pathlib import Path

from devcluster.cluster import cgroups


async def make_network(file: Path) -> None:
    """Make a network namespace, kept alive by a mount on `file`; harmless when there is one. Raises `RuntimeError`.

    When it is cancelled, it ends once there is one: who removes it must not come before.
    """
    if _make_mount_point(file):
        making = asyncio.create_task(_run("unshare", f"--net={file}", "ip", "link", "set", "lo", "up"))
        try:
            await asyncio.shield(making)
        finally:
            await asyncio.gather(making, return_exceptions=True)


async def remove_network(file: Path) -> None:
    """Remove a network namespace; harmless when there is none."""
    with contextlib.suppress(RuntimeError):  # not mounted
        await _run("umount", str(file))
    await asyncio.to_thread(file.unlink, missing_ok=True)


async def remove_cgroup(name: str) -> None:
    """Remove a pod's cgroup, whose processes have ended."""
    await asyncio.to_thread(cgroups.remove, name=name)


def ran_out_of_memory(cgroup: str) -> bool:
    """Whether the kernel has ended a process of this cgroup for its memory limit."""
    for file in (cgroups.ROOT / "memory" / cgroup / "memory.oom_control", cgroups.ROOT / cgroup / "memory.events"):
        if file.exists():
            counts = dict(line.split() for line in file.read_text().splitlines())
            return counts.get("oom_kill", "0") != "0"
    return False


async def wait_for_exit(pid: int) -> None:
    """Return when a process has ended, which need not be a child of ours."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(process, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process)
        os.close(process)


def _make_mount_point(file: Path) -> bool:
    """Whether it was not there."""
    if file.exists():
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    return True


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, errors = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"'{' '.join(command)}' failed: {errors.decode().strip()}")

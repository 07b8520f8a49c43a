"""containerd's client `ctr`: images are pulled, containers started, signaled and removed by it."""

import asyncio
import contextlib
import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from devcluster.plugin import logger
from devcluster.plugin.spec import ContainerSpec, Mount
from nestor.api.objects import Object

NAMESPACE = "interlink"
_EXIT_CODE = re.compile(r"exit with non-zero exit code (\d+)")


class CtrFailed(Exception):
    """containerd did not do as it was told; the message is its own."""


@dataclass(frozen=True)
class Image:
    """What of an image's configuration starting a container needs."""

    id: str
    entrypoint: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ctr:
    """A containerd."""

    program: Path
    socket: Path
    hosts: Path
    """Folder of `hosts.toml` files, which say where images are pulled from."""
    runc: Path

    async def pull(self, image: str) -> Image:
        """Have an image as its registry has it now. Raises `CtrFailed`."""
        await self._run("images", "pull", "--hosts-dir", str(self.hosts), image)
        rows = (await self._run("images", "ls", f"name=={image}")).splitlines()[1:]
        digest = rows[0].split()[2]
        manifest = await self._content(digest)
        if "manifests" in manifest:
            manifest = await self._content(manifest["manifests"][0]["digest"])
        config = (await self._content(manifest["config"]["digest"])).get("config") or {}
        return Image(f"{image.partition('@')[0].rpartition(':')[0]}@{digest}", tuple(config.get("Entrypoint") or ()))

    async def start(self, container: str, spec: ContainerSpec, image: Image, surroundings: list[str], logs: Path) -> int:
        """Start a container, its output in a file of its name in `logs`; the pid of its process. Raises `CtrFailed` and leaves no
        container."""
        file = logs / f"{container}.pid"
        try:
            around = [*surroundings, "--log-uri", log_driver(logs), "--pid-file", str(file)]
            await self._run(*self.start_arguments(container, spec, image, around))
            return int(file.read_text())
        except CtrFailed:
            await self._try("containers", "rm", container)
            raise
        finally:
            file.unlink(missing_ok=True)

    def start_arguments(self, container: str, spec: ContainerSpec, image: Image, surroundings: list[str]) -> list[str]:
        """The arguments for a container's start."""
        flags = ["run", "--detach", "--runc-binary", str(self.runc), *surroundings]
        flags += [word for name, value in spec.env.items() for word in ("--env", f"{name}={value}")]
        flags += [word for mount in spec.mounts for word in ("--mount", mount_flag(mount))]
        for name, value in (("--cwd", spec.cwd), ("--user", spec.user)):
            flags += [name, value] if value else []
        flags += ["--cpu-shares", str(spec.shares)]
        flags += ["--memory-limit", str(spec.memory)] if spec.memory else []
        flags += ["--cpus", str(spec.cpus)] if spec.cpus else []
        flags += ["--read-only"] if spec.is_read_only else []
        words = [*spec.command, *spec.args]
        if spec.args and not spec.command:
            words = [*image.entrypoint, *words]
        return [*flags, spec.image, container, *words]

    def starts_under_way(self) -> list[int]:
        """The processes of `start` calls that somebody made before us and that have not ended."""
        return [
            pid for pid, words in commands() if words[0] == str(self.program) and "run" in words and str(self.socket) in words
        ]

    async def signal(self, container: str, name: str) -> None:
        """Send a signal to a container's process; harmless when it has ended."""
        await self._try("tasks", "kill", "-s", name, container)

    async def collect(self, container: str) -> int:
        """The exit code of a container that has ended; it is removed, and its log is complete. Raises `CtrFailed` while it still
        runs."""
        _, _, errors = await self._try("tasks", "rm", container)
        if "must be stopped" in errors:
            raise CtrFailed(errors)
        await self._try("containers", "rm", container)
        found = _EXIT_CODE.search(errors)
        return int(found[1]) if found else 0

    async def remove(self, container: str) -> None:
        """End and remove a container, whatever its state; harmless when there is none."""
        await self._try("tasks", "rm", "--force", container)
        await self._try("containers", "rm", container)

    async def tasks(self) -> dict[str, int]:
        """Containers that were started and not removed, with the pid of their process; 0: it has ended."""
        rows = [line.split() for line in (await self._run("tasks", "ls")).splitlines()[1:]]
        return {name: 0 if state == "STOPPED" else int(pid) for name, pid, state in rows}

    async def containers(self) -> list[str]:
        """All containers."""
        return (await self._run("containers", "ls", "-q")).split()

    async def _content(self, digest: str) -> Object:
        content: Object = json.loads(await self._run("content", "get", digest))
        return content

    async def _run(self, *arguments: str) -> str:
        code, output, errors = await self._try(*arguments)
        if code:
            raise CtrFailed(_last_line(errors) or f"'ctr {arguments[0]}' ended with exit code {code}")
        return output

    async def _try(self, *arguments: str) -> tuple[int, str, str]:
        command = [str(self.program), "--address", str(self.socket), "--namespace", NAMESPACE, *arguments]
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        output, errors = await process.communicate()
        return process.returncode or 0, output.decode(), errors.decode(errors="replace")


def _last_line(errors: str) -> str:
    """What `ctr` says itself; before it come warnings of containerd's."""
    lines = errors.strip().splitlines()
    return lines[-1].removeprefix("ctr: ") if lines else ""


def commands() -> Iterator[tuple[int, list[str]]]:
    """Every process that we see, with its command line."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            yield int(folder.name), (folder / "cmdline").read_text(errors="replace").split("\0")


def log_driver(logs: Path) -> str:
    """What containerd's shim is to start for a container's output: our `logger`, by Python's path and its argument."""
    return f"binary://{sys.executable}?{Path(logger.__file__).resolve()}={logs}"


def mount_flag(mount: Mount) -> str:
    """A mount as `ctr` reads it: fields of a CSV line, since a path may hold a comma."""
    options = f"rbind:{'ro' if mount.is_read_only else 'rw'}"
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(
        ["type=bind", f"src={mount.source}", f"dst={mount.target}", f"options={options}"]
    )
    return line.getvalue()

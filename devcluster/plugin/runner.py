"""Starts one container after the other of a pod, and sees each of them end."""

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from devcluster.plugin import decide, spec, surroundings
from devcluster.plugin.ctr import Ctr, CtrFailed
from devcluster.plugin.record import Container, Pod, Run
from devcluster.plugin.spec import Folders
from nestor.api import times

COLLECT_SECONDS = 60.0
"""How long after a process ended containerd may take to notice."""
START_ERROR = 128
"""Exit code of a container whose program could not be started, as of a kubelet's."""
MAX_MESSAGE = 4096


@dataclass(frozen=True)
class Place:
    """Where pods run."""

    ctr: Ctr
    home: Path
    """A folder for each pod."""
    networks: Path
    """Mount points of network namespaces."""
    cgroup: str
    """Below the root of each hierarchy."""

    def folders(self, uid: str) -> Folders:
        """A pod's files."""
        return Folders(self.home / uid)

    def pod_cgroup(self, uid: str) -> str:
        """The cgroup of a pod's containers."""
        return f"{self.cgroup}/{uid}"


class Runner:
    """The containers of one pod. `save` is called after each change of the record, `changed` after each end of a container."""

    def __init__(self, place: Place, record: Pod, base_backoff: Callable[[], float], save: Callable[[], None]) -> None:
        self._place, self._record, self._base_backoff, self._save = place, record, base_backoff, save
        self.changed = asyncio.Event()
        self.watchers: dict[str, asyncio.Task[None]] = {}
        """One for each running container."""

    async def start(self, container: Container) -> None:
        """Start a container, or note why it does not start and when to try again."""
        built = spec.build(self._record.pod, self._spec(container), self._folders, self._devices(container))
        try:
            image = await self._place.ctr.pull(built.image)
        except CtrFailed as error:
            self._postpone(container, "ErrImagePull", str(error))
            return
        container.image_id = image.id
        run = Run(uuid.uuid4().hex)
        # Noted before it is started: should we end now, the next one of us must know whose it is.
        for old in container.begin(run):
            (self._folders.logs / f"{old.id}.log").unlink(missing_ok=True)
        self._save()
        around = ["--cgroup", f"/{self._cgroup(run)}", "--hostname", self._hostname]
        around += ["--with-ns", f"network:{self._place.networks / self._record.uid}"]
        try:
            run.pid = await self._place.ctr.start(run.id, built, image, around, self._folders.logs)
        except CtrFailed as error:
            run.started, run.message = times.timestamp(), str(error)
            self._note_end(container, run, START_ERROR, "StartError")
            return
        run.started = times.timestamp()
        self._save()
        self.watch(container, run)

    def watch(self, container: Container, run: Run) -> None:
        """See a running container end."""
        self.watchers[run.id] = asyncio.create_task(self._watch(container, run), name=f"watch {run.id}")

    async def adopt(self, tasks: dict[str, int]) -> None:
        """Take over what ran before a restart; `tasks` are the processes that containerd knows."""
        for container in self._record.containers:
            run = container.last
            if run is None or run.finished:
                continue
            if run.id in tasks:
                run.pid, run.started = tasks[run.id], run.started or times.timestamp()
                self.watch(container, run)
            elif not run.pid:  # it never came to its start
                container.runs.pop()
                container.restarts = max(0, container.restarts - 1)
            else:
                self._note_end(container, run, 255, "Unknown")

    async def _watch(self, container: Container, run: Run) -> None:
        if run.pid:
            await surroundings.wait_for_exit(run.pid)
        is_oom = surroundings.ran_out_of_memory(self._cgroup(run))
        code = await self._collect(run)
        message = self._folders.message(container.name)
        run.message = message.read_bytes()[:MAX_MESSAGE].decode(errors="replace")
        message.write_text("")
        self._note_end(container, run, code, "OOMKilled" if is_oom else "Error" if code else "Completed")
        del self.watchers[run.id]

    async def _collect(self, run: Run) -> int:
        """The exit code. containerd may see the end a moment later than we do."""
        async with asyncio.timeout(COLLECT_SECONDS):
            while True:
                try:
                    return await self._place.ctr.collect(run.id)
                except CtrFailed:
                    await asyncio.sleep(0.02)

    def _note_end(self, container: Container, run: Run, code: int, reason: str) -> None:
        run.finished, run.code, run.reason = times.timestamp(), code, reason
        is_again = decide.will_run(container, self._policy(container)) and not self._record.is_deleted
        if is_again:
            self._postpone(container, "CrashLoopBackOff", f"started again after {reason}, exit code {code}")
        self._save()
        self.changed.set()

    def _postpone(self, container: Container, reason: str, message: str) -> None:
        container.failures += 1
        container.waiting, container.message = reason, message
        container.not_before = time.time() + decide.backoff(self._base_backoff(), container.failures)
        self._save()

    def _policy(self, container: Container) -> str:
        policy = self._record.restart_policy
        return "OnFailure" if container.is_init and policy != "Never" else policy

    def _devices(self, container: Container) -> dict[str, str]:
        """What tells a container its accelerators, of which there are none: numbers only."""
        found = self._record.devices.get(container.name) or {}
        words = [f"{name}={','.join(map(str, numbers))}" for name, numbers in sorted(found.items())]
        return {"ACCELERATORS": " ".join(words)} if words else {}

    def _spec(self, container: Container) -> dict[str, object]:
        pod = self._record.pod["spec"]
        items = [*(pod.get("initContainers") or []), *pod["containers"]]
        return next(item for item in items if item["name"] == container.name)

    def _cgroup(self, run: Run) -> str:
        return f"{self._place.pod_cgroup(self._record.uid)}/{run.id}"

    @property
    def _folders(self) -> Folders:
        return self._place.folders(self._record.uid)

    @property
    def _hostname(self) -> str:
        return str(self._record.pod["spec"].get("hostname") or self._record.pod["metadata"]["name"])[:63]

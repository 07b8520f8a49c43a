"""One cluster per machine: whoever starts, ends or tests it waits for the others, also for those of another checkout or cache.

Two locks of the kernel, which go with the processes that hold them. The *run* lock is held while somebody starts, ends or uses
the cluster, by `hold` for as long as a whole `make test`. The *cluster* lock is held by the running cluster itself and says
whose it is.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

from devcluster.cluster.paths import Paths
from devcluster.progress import Progress

FOLDER = Path("/run/lock/nestor")
RUN, CLUSTER = "run", "cluster"
VARIABLE = "NESTOR_RUN"
"""Process number of the holder of the run lock, in the environment of what it has started."""
CLAIM_SECONDS = 5.0


@dataclass(frozen=True)
class Holder:
    """Who holds a lock."""

    what: str
    pid: int
    folder: str
    cache: str
    since: str

    def __str__(self) -> str:
        return f"{self.what}, started at {self.since} by process {self.pid} in {self.folder}, cache {self.cache}"


@contextlib.contextmanager
def run(layout: Paths, what: str, progress: Progress, *, wants_cluster: bool = True) -> Iterator[None]:
    """Nobody else on this machine starts, ends or uses the cluster during the `with`; waits until that is so. What this process
    starts meanwhile belongs to the same run. With `wants_cluster` it also waits until no other cache's cluster runs."""
    if is_held_for_us():
        yield
        return
    with _take(layout, progress, wants_cluster=wants_cluster) as file:
        _sign(file, layout, what)
        os.environ[VARIABLE] = str(os.getpid())
        try:
            yield
        finally:
            del os.environ[VARIABLE]


def is_held_for_us() -> bool:
    """Whether this process, or one that started it, holds the run lock."""
    holder = _holder(RUN)
    return holder is not None and os.environ.get(VARIABLE) == str(holder.pid) and not _is_free(RUN)


@contextlib.contextmanager
def claim(layout: Paths) -> Iterator[int | None]:
    """The machine's cluster is ours to start, or its remains ours to remove, during the `with` and for as long as a process keeps
    the file descriptor; None when another cache's cluster runs."""
    with _open(CLUSTER) as file:
        deadline = time.monotonic() + CLAIM_SECONDS  # those who look whether it is free hold it for a moment
        while not _try(file, fcntl.LOCK_EX):
            if other_cluster(layout) or time.monotonic() > deadline:
                yield None
                return
            time.sleep(0.01)
        _sign(file, layout, "the cluster")
        yield file.fileno()


def other_cluster(layout: Paths) -> Holder | None:
    """Whose cluster runs, when it is another cache's."""
    holder = _holder(CLUSTER)
    return holder if holder and holder.cache != str(layout.cache) and not _is_free(CLUSTER) else None


@contextlib.contextmanager
def _take(layout: Paths, progress: Progress, *, wants_cluster: bool) -> Iterator[TextIO]:
    while True:
        with _open(RUN) as file:
            _wait(file, fcntl.LOCK_EX, RUN, progress)
            if not wants_cluster or other_cluster(layout) is None:
                yield file
                return
        # Not while we hold the run lock: whoever is to end that cluster needs it.
        with _open(CLUSTER) as file:
            _wait(file, fcntl.LOCK_SH, CLUSTER, progress)


def _wait(file: TextIO, mode: int, name: str, progress: Progress) -> None:
    if not _try(file, mode):
        with progress.stage(f"Wait for {_holder(name) or 'another run'}"):
            fcntl.flock(file, mode)


def _try(file: TextIO, mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(name: str) -> bool:
    with _open(name) as file:
        return _try(file, fcntl.LOCK_SH)


def _open(name: str) -> TextIO:
    """The lock's file. It is never removed: a lock on a removed file keeps nobody out. Raises `RuntimeError` when refused."""
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        return (FOLDER / name).open("a+")
    except OSError as error:
        raise RuntimeError(f"the machine-wide lock cannot be had: {error}") from error


def _sign(file: TextIO, layout: Paths, what: str) -> None:
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    file.truncate(0)
    file.write(json.dumps(asdict(Holder(what, os.getpid(), os.getcwd(), str(layout.cache), since))))
    file.flush()


def _holder(name: str) -> Holder | None:
    """Who signed last; None when that cannot be told, as while it is being written."""
    try:
        return Holder(**json.loads((FOLDER / name).read_text()))
    except (OSError, ValueError, TypeError):
        return None

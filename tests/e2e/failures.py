"""What is kept of the cluster when a test of this folder fails: logs, events and jobs, as they are before fixtures tidy up.

They are in `$NESTOR_CACHE/failed/<test>/`. A hook of pytest calls this, which is not asynchronous.
"""

import contextlib
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from nestor.api import labels
from nestor.api.objects import Object, status_of

SYSTEM = "nestor-system"
KEPT = 20
"""Tests whose folders stay, the newest ones."""
SECONDS = 60.0
"""For all that is written about one test."""
PAUSE_SECONDS = 60.0
"""After one test's, in which further failures of this process are told to look there: they are often rows of one scenario."""
LOG_BYTES = 1_000_000
"""Of one pod's containers."""
PODS = 24
"""Of jobs, the youngest ones, whose logs are kept."""


class Keeper:
    """Writes what is kept of failures, below `folder`."""

    def __init__(self, folder: Path, kubectl: str) -> None:
        self._folder = folder
        self._kubectl = kubectl
        self._last: tuple[float, Path] | None = None

    def keep(self, test: str, kubeconfig: Path) -> Path:
        """Write everything about the failure of a test; where it is. What cannot be had within `SECONDS` is missing."""
        if self._last and time.monotonic() < self._last[0] + PAUSE_SECONDS:
            return self._last[1]
        into = self._folder / name_of(test)
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        deadline = time.monotonic() + SECONDS
        for file, arguments in self._list_commands(kubeconfig, deadline):
            (into / file).write_text(self._run(kubeconfig, arguments, deadline))
        self._forget_old()
        self._last = time.monotonic(), into
        return into

    def _list_commands(self, kubeconfig: Path, deadline: float) -> Iterator[tuple[str, tuple[str, ...]]]:
        """By the file that gets their output. The most telling ones come first."""
        yield "jobs.txt", ("describe", "nestedappjobs,nestedclusters", "-A")
        yield "events.txt", ("get", "events", "-A", "--sort-by=.metadata.creationTimestamp")
        yield "pods.txt", ("get", "pods", "-A", "-o", "wide")
        parts = f"{labels.COMPONENT} in (server,runner,reader,vnode)"
        operator = ("-n", SYSTEM, "-l", "app.kubernetes.io/name=nestor")
        for chosen, count in ((operator, 2), (("-A", "-l", parts), PODS)):
            for found in self._find_youngest(kubeconfig, chosen, count, deadline):
                namespace, pod = found["metadata"]["namespace"], found["metadata"]["name"]
                logs = ("logs", "-n", namespace, pod, "--all-containers", "--prefix", "--timestamps", "--ignore-errors")
                yield f"{namespace}.{pod}.log", (*logs, f"--limit-bytes={LOG_BYTES}", "--tail=5000")
                if any(item["restartCount"] for item in status_of(found).get("containerStatuses") or ()):
                    yield f"{namespace}.{pod}.previous.log", (*logs, f"--limit-bytes={LOG_BYTES}", "--previous")

    def _find_youngest(self, kubeconfig: Path, chosen: tuple[str, ...], count: int, deadline: float) -> list[Object]:
        """So many pods at most."""
        said = self._run(kubeconfig, ("get", "pods", *chosen, "-o", "json"), deadline)
        try:
            found: list[Object] = json.loads(said)["items"]
        except ValueError:
            return []
        return sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), reverse=True)[:count]

    def _run(self, kubeconfig: Path, arguments: tuple[str, ...], deadline: float) -> str:
        """What kubectl says, errors included."""
        command = [self._kubectl, "--kubeconfig", str(kubeconfig), "--request-timeout=10s", *arguments]
        left = min(15.0, deadline - time.monotonic())
        if left <= 0:
            return f"not asked for: {SECONDS:.0f} s were over\n"
        try:
            ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=left)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{error}\n"
        return ended.stdout + ended.stderr

    def _forget_old(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # another worker does so too
            by_age = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in by_age[KEPT:]:
                shutil.rmtree(path, ignore_errors=True)


def name_of(test: str) -> str:
    """A folder's name for the id of a test."""
    return re.sub(r"[^\w.-]+", "-", test.removeprefix("tests/e2e/")).strip("-")[:150]

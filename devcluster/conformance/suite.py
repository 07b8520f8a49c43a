"""Runs Kubernetes' test suite against a cluster, and writes down each test as it ends."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster.build import commands
from devcluster.conformance import results, sets
from devcluster.conformance.results import Result
from devcluster.progress import Stage

Object = dict[str, Any]
_PASSED_BY_NAME = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _")


class SuiteError(RuntimeError):
    """The suite could not run; the message says why."""


@dataclass(frozen=True)
class Suite:
    """The programs, and how they are run."""

    bin: Path
    """The folder of e2e.test, ginkgo and kubectl."""
    folder: Path
    """For the reports and the log of a run."""
    processes: int
    """How many tests run at a time."""
    minutes: float = 0
    """After which the run ends, with what it has; 0: when all are done."""

    def names(self) -> dict[str, list[str]]:
        """The names of all tests, by set."""
        program = str(self.bin / "e2e.test")
        conformance = commands.capture([program, "--list-conformance-tests"])
        return sets.parse(conformance, commands.capture([program, "--list-tests"]))

    def version(self) -> str:
        """The version of Kubernetes that the suite is of."""
        return commands.capture([str(self.bin / "e2e.test"), "--version"])

    def run(self, names: Sequence[str], kubeconfig: Path, on_result: Callable[[Result], None]) -> list[Result]:
        """Run the tests; `on_result` gets each as it ends, without messages, and what is returned has them.

        Raises `SuiteError` if it could not begin.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        report, reading = self.folder / "report.json", results.Reading(names)
        report.unlink(missing_ok=True)
        with (self.folder / "suite.log").open("w") as log, self._start(self.command(names, kubeconfig)) as process:
            lines = process.stdout or ()
            try:
                for line in lines:
                    log.write(line)
                    if result := reading.read(line):
                        on_result(result)
            except BaseException:
                process.send_signal(signal.SIGINT)  # it ends its tests and writes the report
                log.writelines(lines)
                raise
        if not report.exists():
            raise SuiteError(
                f"the suite wrote no report; the end of {self.folder / 'suite.log'}:\n{commands.tail(self.folder / 'suite.log')}"
            )
        suites = json.loads(report.read_text())
        if failure := results.find_setup_failure(suites):
            raise SuiteError(f"the suite could not begin: {failure}")
        return results.read_report(suites, names)

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Apart from what the terminal sends to us: a second signal would keep it from writing its report."""
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "INT", *command], cwd=self.folder, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip

    def command(self, names: Sequence[str], kubeconfig: Path) -> list[str]:
        """The command line."""
        ginkgo = [str(self.bin / "ginkgo"), "run", f"--procs={self.processes}", "--no-color", "--silence-skips", "-v"]
        ginkgo += [f"--output-dir={self.folder}", "--json-report=report.json", f"--focus={focus(names)}"]
        ginkgo += [f"--timeout={f'{self.minutes * 60:.0f}s' if self.minutes else '24h'}"]
        options = {
            "provider": "skeleton",
            "kubeconfig": kubeconfig,
            "kubectl-path": self.bin / "kubectl",
            "dump-logs-on-failure": "false",
            "disable-log-dump": "true",
            "node-schedulable-timeout": "1m",
        }
        return [*ginkgo, str(self.bin / "e2e.test"), "--", *(f"--{name}={value}" for name, value in options.items())]


def focus(names: Sequence[str]) -> str:
    """A regular expression of Go that selects exactly these tests; the suite's title stands before their names."""
    escaped = ("".join(letter if letter in _PASSED_BY_NAME else f"\\{letter}" for letter in name) for name in names)
    return f"^Kubernetes e2e suite ({'|'.join(escaped)})$"


class Counting:
    """Says on a stage how far a run is."""

    def __init__(self, stage: Stage, total: int) -> None:
        self._stage, self._total = stage, total
        self._began = time.monotonic()
        self.ended = self.failed = 0

    def add(self, result: Result) -> None:
        """Count one test."""
        self.ended += 1
        self.failed += result.state == "failed"
        rate = self.ended / max(time.monotonic() - self._began, 1) * 60
        self._stage.detail = f"{self.ended} of {self._total}, {self.failed} failed, {rate:.0f} per minute"

"""A real API server, a templates folder, and the runner as the process that its pod runs."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from nestor.api import names
from nestor.api.contracts import runner as contract
from nestor.apps import steps
from nestor.kube import Api, kinds
from tests.integration import apiserver

ROOT = Path(__file__).parents[3]

KUBECTL = """#!/bin/sh
echo $$ > {folder}/kubectl.pid
slow={folder}/slow-$NESTOR_STEP
if [ -e $slow ]; then echo going slow; while [ -e $slow ]; do sleep 0.1; done; fi
exec {kubectl} "$@"
"""


@dataclass
class RunnerProcess:
    """A runner that was started, and what it wrote."""

    process: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._changed = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            async with self._changed:
                self.lines.append(line.decode().rstrip("\n"))
                self._changed.notify_all()

    async def wait(self) -> int:
        """Its exit code."""
        await self._reader
        return await self.process.wait()

    async def wait_for_end(self) -> int:
        """Its exit code, even while others hold its output open."""
        return await self.process.wait()

    async def wait_for_line(self, part: str) -> None:
        """Await a line that contains `part`."""
        async with self._changed:
            await self._changed.wait_for(lambda: any(part in line for line in self.lines))

    def send(self, number: signal.Signals) -> None:
        """Signal the process."""
        self.process.send_signal(number)

    @property
    def log(self) -> str:
        """All it wrote so far."""
        return "\n".join(self.lines)


@dataclass
class Stage:
    """Templates, a plan, and runners for it."""

    command: list[str]
    api: Api
    kubeconfig: Path
    folder: Path
    running: list[RunnerProcess] = field(default_factory=list)

    @property
    def templates(self) -> Path:
        """What the app image's /templates would be."""
        return self.folder / "templates"

    def write(self, **files: str) -> None:
        """Put `name.yml` files into the templates folder."""
        for name, content in files.items():
            (self.templates / f"{name}.yml").write_text(content)

    def plan(self, *fields: dict[str, Any], **plan: Any) -> steps.Plan:
        """A plan of steps with these fields; a step without a type applies `<name>.yml`."""
        made = []
        for given in fields:
            complete = given if "type" in given else {"type": "kubectl", "path": f"{given['name']}.yml", **given}
            does = {key: value for key, value in complete.items() if not key.startswith(("retry", "timeout"))}
            made.append(steps.Step(**complete, hash=names.digest(repr(sorted(does.items())))))
        digest = names.digest(*(step.model_dump_json() for step in made), repr(sorted(plan.items())))
        return steps.Plan(hash=digest, base=str(self.folder), steps=tuple(made), **plan)

    def script(self, name: str, text: str, **field: Any) -> dict[str, Any]:
        """The fields of a custom step."""
        return {"name": name, "type": "custom", "cmd": base64.b64encode(text.encode()).decode(), **field}

    def with_whole_starts(self) -> Stage:
        """The same for tests that kill or measure runners: what they mean is the process itself, not what stands for it."""
        return replace(self, command=[sys.executable, "-m", "nestor"])

    async def start(self, plan: steps.Plan, kubeconfig: Path | None = None) -> RunnerProcess:
        """Start a runner as its pod would."""
        file = self.folder / "plan.json"
        file.write_text(plan.to_json())
        process = await asyncio.create_subprocess_exec(
            *self.command,
            "runner",
            f"--plan={file}",
            f"--kubeconfig={kubeconfig or self.kubeconfig}",
            f"--templates={self.templates}",
            f"--work={self.folder / 'work'}",
            f"--temporary={self.folder / 'tmp'}",
            env={"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        started = RunnerProcess(process)
        self.running.append(started)
        return started

    async def run(self, plan: steps.Plan) -> RunnerProcess:
        """Run to the end."""
        runner = await self.start(plan)
        await runner.wait()
        return runner

    def slow_down(self, step: str) -> None:
        """Make the kubectl of a step hang until `speed_up`. Say so before the step begins."""
        (self.folder / f"slow-{step}").touch()

    def speed_up(self) -> None:
        """Let hanging kubectls go on, and later ones."""
        for file in self.folder.glob("slow-*"):
            file.unlink()

    def read_kubectl(self) -> int:
        """The process id of the kubectl that was started last."""
        return int((self.folder / "kubectl.pid").read_text())

    async def record(self) -> dict[str, Any]:
        """`run.json` as the syncer would read it."""
        found = await self.api.get(kinds.CONFIG_MAP, contract.RECORD_NAME, contract.RECORD_NAMESPACE)
        content: dict[str, Any] = json.loads(found["data"][contract.RECORD_KEY])
        return content

    async def states(self) -> list[tuple[str, int]]:
        """State and attempt of each recorded step."""
        return [(step["state"], step["attempt"]) for step in (await self.record())["steps"]]


@pytest.fixture
async def stage(nestor: list[str], host: Api, control_plane: apiserver.ControlPlane, tmp_path: Path) -> AsyncIterator[Stage]:
    """An empty templates folder and no record of an earlier run; no runner outlives its test."""
    for name in ("templates", "work", "tmp", "bin"):
        (tmp_path / name).mkdir()
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.write_text(KUBECTL.format(folder=tmp_path, kubectl=apiserver.binary().parent / "kubectl"))
    kubectl.chmod(0o755)
    (tmp_path / "bin" / "helm").symlink_to(apiserver.binary("helm"))
    await host.delete(kinds.CONFIG_MAP, contract.RECORD_NAME, contract.RECORD_NAMESPACE)
    result = Stage(nestor, host, control_plane.kubeconfig, tmp_path)
    yield result
    result.speed_up()
    for runner in result.running:
        if runner.process.returncode is None:
            runner.send(signal.SIGKILL)
        await runner.wait()

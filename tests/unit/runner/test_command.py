from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from nestor.runner.command import Outcome, run_command


async def run(script: str, folder: Path, limit: float = 20) -> tuple[Outcome, list[str]]:
    lines: list[str] = []
    outcome = await run_command(
        [sys.executable, "-u", "-c", script],
        folder=folder, environment={"PATH": os.environ["PATH"]}, limit=limit, show=lines.append,
    )
    return outcome, lines


async def test_output_and_errors_arrive_in_their_order(tmp_path: Path) -> None:
    outcome, lines = await run("import sys; print('out'); print('err', file=sys.stderr); print('end')", tmp_path)
    assert outcome == Outcome(0, "out\nerr\nend")
    assert outcome.is_success
    assert lines == ["out", "err", "end"]


async def test_the_exit_code_is_told(tmp_path: Path) -> None:
    outcome, _ = await run("import sys; sys.exit('no')", tmp_path)
    assert outcome == Outcome(1, "no")


async def test_a_command_sees_only_the_given_environment_and_no_input(tmp_path: Path) -> None:
    script = "import os, sys; print(sorted(set(os.environ) - {'LC_CTYPE'}), os.getcwd(), repr(sys.stdin.read()))"
    _, lines = await run(script, tmp_path)
    assert lines == [f"['PATH'] {tmp_path} ''"]


async def test_a_command_that_does_not_exist_is_an_outcome(tmp_path: Path) -> None:
    outcome = await run_command(["/no/such"], folder=tmp_path, environment={}, limit=1, show=print)
    assert outcome.exit_code is None
    assert "/no/such cannot be started" in outcome.message


FAMILY = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_timeout_ends_the_whole_group(tmp_path: Path) -> None:
    started = time.monotonic()
    outcome, [child] = await run(FAMILY, tmp_path, limit=1)
    assert outcome.exit_code is None
    assert outcome.message == f"no end within 1 s, stopped; it said last:\n{child}"
    assert not is_running(int(child))
    assert time.monotonic() - started < 10


async def test_a_cancelled_command_leaves_no_process(tmp_path: Path) -> None:
    said: asyncio.Queue[str] = asyncio.Queue()
    task = asyncio.create_task(run_command(
        [sys.executable, "-c", FAMILY], folder=tmp_path, environment={"PATH": os.environ["PATH"]}, limit=30, show=said.put_nowait,
    ))
    child = await asyncio.wait_for(said.get(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(int(child))

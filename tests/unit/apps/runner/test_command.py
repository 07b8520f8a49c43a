import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nestor.apps.runner import command, processes
from nestor.apps.runner.command import Outcome, run_command
from nestor.apps.runner.guard import Limits

ENVIRONMENT = {"PATH": os.environ["PATH"]}


@pytest.fixture(autouse=True)
def _subreaper() -> Iterator[None]:
    """As the runner is; orphans of a test would else go to somebody else."""
    processes.become_subreaper()
    yield
    processes.become_subreaper(False)


async def run_late(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch, state: str = "S") -> tuple[Outcome, list[str]]:
    """A command whose time is over once the child that it names sleeps (S), or it and its parent are stopped (T)."""
    loop, lines = asyncio.get_running_loop(), list[str]()
    now = loop.time

    def look(line: str | None = None) -> None:
        lines.extend([line] if line else [])
        child, parent = read_stat(int(lines[0]))
        if child == state and (state == "S" or read_stat(int(parent))[0] == state):
            monkeypatch.setattr(loop, "time", lambda: now() + LIMIT)
        else:
            loop.call_later(0.01, look)

    command = [sys.executable, "-u", "-c", script]
    return await run_command(command, folder=folder, environment=ENVIRONMENT, limit=LIMIT, show=look), lines


def read_stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]


async def run(script: str, folder: Path, limit: float = 30, limits: Limits | None = None) -> tuple[Outcome, list[str]]:
    lines: list[str] = []
    outcome = await run_command(
        [sys.executable, "-u", "-c", script],
        folder=folder,
        environment=ENVIRONMENT,
        limit=limit,
        show=lines.append,
        limits=limits or Limits(),
    )
    return outcome, lines


def is_running(pid: int) -> bool:
    try:
        return read_stat(pid)[0] != "Z"
    except FileNotFoundError:
        return False


async def test_output_and_errors_arrive_in_their_order(tmp_path: Path) -> None:
    outcome, lines = await run("import sys; print('out'); print('err', file=sys.stderr); print('end')", tmp_path)
    assert outcome == Outcome(0, "out\nerr\nend")
    assert outcome.is_success
    assert lines == ["out", "err", "end"]


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("import sys; sys.exit('no')", Outcome(1, "no")),
        ("import os; print('so far'); os.kill(os.getpid(), 9)", Outcome(137, "so far")),  # as a shell has it
    ],
)
async def test_the_exit_code_is_told(tmp_path: Path, script: str, outcome: Outcome) -> None:
    assert (await run(script, tmp_path))[0] == outcome


async def test_a_command_sees_only_the_given_environment_and_no_input(tmp_path: Path) -> None:
    script = "import os, sys; print(sorted(set(os.environ) - {'LC_CTYPE'}), os.getcwd(), repr(sys.stdin.read()))"
    _, lines = await run(script, tmp_path)
    assert lines == [f"['PATH'] {tmp_path} ''"]


async def test_a_command_that_does_not_exist_is_an_outcome(tmp_path: Path) -> None:
    outcome = await run_command(["/no/such"], folder=tmp_path, environment={}, limit=1, show=print)
    assert outcome.exit_code is None
    assert "/no/such cannot be started" in outcome.message


LIMIT = 600
"""Seconds, which nobody waits for: they pass when a script is where a test wants it."""
FAMILY = "import subprocess, sys; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"

DAEMON = """
import os, sys, time
def daemon(ignore):
    ready, done = os.pipe()
    if os.fork():
        os.read(ready, 1)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    if ignore:
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    os.write(done, b".")
    time.sleep(60)
    os._exit(0)
"""


async def test_a_timeout_ends_the_whole_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, [child] = await run_late(FAMILY, tmp_path, monkeypatch)
    assert outcome.exit_code is None
    assert outcome.message == f"timed out after {LIMIT} s, stopped; its last output:\n{child}"
    assert not is_running(int(child))


async def test_a_timeout_ends_what_left_the_group_and_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, [child] = await run_late(DAEMON + "daemon(False)\ntime.sleep(60)", tmp_path, monkeypatch)
    assert outcome.exit_code is None
    assert not is_running(int(child))


async def test_a_success_ends_what_is_left_in_the_background_too_whatever_it_holds_open(tmp_path: Path) -> None:
    outcome, lines = await run(DAEMON + "daemon(False)", tmp_path)
    assert outcome.is_success
    assert not is_running(int(lines[0]))
    assert lines[1].startswith("ended 1 process that the step had left in the background: python")


async def test_what_ignores_a_request_is_made_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LEFTOVER_GRACE_SECONDS", 0.2)
    outcome, lines = await run(DAEMON + "daemon(True)", tmp_path)
    assert outcome.is_success
    assert not is_running(int(lines[0]))


async def test_what_ends_by_itself_after_its_parent_is_let(tmp_path: Path) -> None:
    script = "import subprocess; subprocess.Popen(['sh', '-c', 'sleep 0.1; echo end'])"
    assert await run(script, tmp_path) == (Outcome(0, "end"), ["end"])


async def test_stopped_processes_are_ended_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = FAMILY.replace("p.wait()", "import os; os.kill(p.pid, 19); os.kill(os.getpid(), 19)")
    outcome, [child] = await run_late(script, tmp_path, monkeypatch, "T")
    assert outcome.exit_code is None
    assert not is_running(int(child))


HOPPING = """
import os, sys, time
end = time.monotonic() + 20
if os.fork():
    time.sleep(60)
while time.monotonic() < end:
    time.sleep(0.02)
    if os.fork():
        os._exit(0)
    {}
"""


@pytest.mark.parametrize("leaves", ["", "os.setsid()"])
async def test_a_process_that_is_always_another_one_is_caught(tmp_path: Path, leaves: str) -> None:
    family = processes.Family()
    outcome, _ = await run(HOPPING.format(leaves), tmp_path, limit=1)
    assert outcome.message == "timed out after 1 s, stopped"
    assert family.find() == []


async def test_children_step_back_behind_the_runner(tmp_path: Path) -> None:
    script = "import subprocess, time; time.sleep(0.8)\nsubprocess.run(['sh', '-c', 'cat /proc/self/oom_score_adj; exec nice'])"
    outcome, lines = await run(script, tmp_path)
    assert outcome.is_success
    assert lines == ["1000", str(min(19, os.getpriority(os.PRIO_PROCESS, 0) + processes.NICENESS))]


async def test_a_full_disk_is_told_before_it_is_full(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    script = (
        "import time\nfile = open('work/big', 'wb')\n"
        "for _ in range(1000): file.write(b'x' * 100_000); file.flush(); time.sleep(0.01)"
    )
    outcome, _ = await run(script, tmp_path, limits=Limits(folders=((work, 3 * 2**20),)))
    assert outcome.message == f"{work} holds more than the 3 MiB that a runner may store there, stopped"


async def test_so_are_too_many_files(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / str(number)).touch()
    outcome, _ = await run("import time; time.sleep(60)", tmp_path, limits=Limits(folders=((tmp_path, 2**30),), files=20))
    assert outcome.message == f"{tmp_path} holds more than the 20 files that a runner may store there, stopped"


async def test_a_cancelled_command_leaves_no_process(tmp_path: Path) -> None:
    said: asyncio.Queue[str] = asyncio.Queue()
    task = asyncio.create_task(
        run_command([sys.executable, "-c", FAMILY], folder=tmp_path, environment=ENVIRONMENT, limit=30, show=said.put_nowait)
    )
    child = await asyncio.wait_for(said.get(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(int(child))


LOOK = """
import ctypes, os, subprocess
from nestor.apps.runner import processes
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65532), os.setuid(65532)
    ctypes.CDLL(None).prctl(processes.PR_SET_DUMPABLE, 1, 0, 0, 0)
for prepare in (bool, processes.hide):
    prepare()
    print(subprocess.run(["readlink", f"/proc/{os.getpid()}/fd/0"], capture_output=True).returncode)
"""


def test_a_hidden_process_keeps_its_files_from_its_children_of_the_same_user() -> None:
    result = subprocess.run(
        [sys.executable, "-c", LOOK],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stdout.split() == ["0", "1"]

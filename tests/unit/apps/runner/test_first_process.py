"""The runner as process 1, as in its pod: a pid namespace of its own, which not every machine lets tests make."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]

RUN = """
import asyncio, os, sys
from pathlib import Path
from nestor.apps.runner import processes
from nestor.apps.runner.command import run_command

SCRIPT = '''
import os, time
end = time.monotonic() + 60
os.fork()
while time.monotonic() < end:
    os.setsid() if os.getpid() != os.getsid(0) else None
    if os.fork():
        os._exit(0)
'''

async def main():
    outcome = await run_command(
        [sys.executable, "-c", SCRIPT], folder=Path("/"), environment={}, limit=1, show=print,
    )
    print(os.getpid(), outcome.exit_code, [process for process in processes.read_all() if process.pid != 1])

asyncio.run(main())
"""


def can_unshare() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARE, "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_unshare(), reason="pid namespaces may not be made here")
def test_nothing_outlives_an_attempt_however_fast_it_forks(tmp_path: Path) -> None:
    result = subprocess.run(
        [*UNSHARE, sys.executable, "-c", RUN],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stdout.splitlines()[-1:] == ["1 0 []"], result.stderr

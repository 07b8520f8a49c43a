"""Runs the programs that build things, and says clearly what went wrong when one fails."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

TAIL_LINES = 25


class BuildError(RuntimeError):
    """Something could not be built; the message says what and what to do, it is for the person who waits."""


def run(
    command: Sequence[str], log: Path, *, cwd: Path | None = None, env: Mapping[str, str] | None = None, umask: int = -1,
    heard: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Run a command with its output in a file, each line also given to `heard`; on failure raise `BuildError` with its end."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        output.write(f"$ {' '.join(command)}\n")
        output.flush()
        try:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE if heard else output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                cwd=cwd, env={**os.environ, **(env or {})}, umask=umask, text=True,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise BuildError(f"'{command[0]}' is not installed") from error
        with process:
            for line in process.stdout or ():
                output.write(line)
                if heard:
                    heard(line)
    if process.returncode != 0:
        raise BuildError(f"'{command[0]}' failed with exit code {process.returncode}; the end of {log}:\n{tail(log)}")


def capture(command: Sequence[str], *, env: Mapping[str, str] | None = None) -> str:
    """Output of a short command."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})})
    except FileNotFoundError as error:
        raise BuildError(f"'{command[0]}' is not installed") from error
    if result.returncode != 0:
        raise BuildError(f"'{' '.join(command)}' failed: {result.stderr.strip()}")
    return result.stdout.strip()


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, indented."""
    return "\n".join(f"  {line}" for line in log.read_text(errors="replace").splitlines()[-lines:])

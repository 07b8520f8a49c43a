"""`custom` steps: the script as a file that is run by its own `#!` line."""

from __future__ import annotations

from pathlib import Path

from nestor.apps.runner.errors import StepError

RUN_BY_THEMSELVES = (b"#!", b"\x7fELF")
DEFAULT_SHELL = "/bin/sh"
KNOWN_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin")


def write(script: bytes, file: Path) -> list[str]:
    """Write the script to `file`; returns the command. Raises `StepError` when its `#!` names what is not there."""
    file.write_bytes(script)
    file.chmod(0o700)
    if not script.startswith(RUN_BY_THEMSELVES):
        return [DEFAULT_SHELL, str(file)]
    if script.startswith(b"#!"):
        _check_interpreter(script)
    return [str(file)]


def _check_interpreter(script: bytes) -> None:
    """The system would only say that the script, which is there, does not exist."""
    words = script.partition(b"\n")[0][2:].decode(errors="replace").split()
    if not words:
        raise StepError("the script's `#!` line names no program")
    interpreter = Path(words[0])
    if not interpreter.is_file():
        elsewhere = [Path(folder, interpreter.name) for folder in KNOWN_FOLDERS if Path(folder, interpreter.name).is_file()]
        hint = f"; there is {elsewhere[0]}" if elsewhere else ""
        raise StepError(f"the script's `#!` line names {interpreter}, which the runner's image does not have{hint}")

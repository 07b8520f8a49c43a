"""The components' logs, for people: the end of one, without the noise."""

from pathlib import Path

TAIL_BYTES = 65_536


def tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log, indented; a note when there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        text = ""
    last = [line[:500] for line in text.splitlines() if line.strip()][-lines:]
    if not last:
        return f"({path} is empty)"
    return "\n".join([f"{path}:", *(f"  {line}" for line in last)])

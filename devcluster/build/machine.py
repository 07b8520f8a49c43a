"""What a machine must have before anything is built on it."""

import re
import shutil
from pathlib import Path

from devcluster.build import commands
from devcluster.build.commands import BuildError

GIGABYTE = 10**9
RESERVE_GIGABYTES = 2.0
"""Left free on top of what a build needs, for everything else on the machine."""


def check_go(go_mod: str) -> None:
    """Raises when Go is missing or older than the modules want."""
    needed = re.search(r"^go (\d+)\.(\d+)", go_mod, re.MULTILINE)
    wanted = (int(needed[1]), int(needed[2])) if needed else (1, 26)
    if shutil.which("go") is None:
        raise BuildError(f"Go {wanted[0]}.{wanted[1]} or later is needed to build the embedded cluster; 'go' is not installed")
    found = go_version(commands.capture(["go", "version"]))
    if found < wanted:
        raise BuildError(f"Go {wanted[0]}.{wanted[1]} or later is needed, this is Go {found[0]}.{found[1]}")


def go_version(text: str) -> tuple[int, int]:
    """Major and minor version in the output of `go version`."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    if not found:
        raise BuildError(f"'go version' says '{text}', which holds no version")
    return int(found[1]), int(found[2])


def check_disk(gigabytes: float, purpose: str, place: Path | None = None) -> None:
    """Raises when less than this is free, with what there is: a build that fills the disk fails late and unclearly."""
    where = place or Path.home()
    while not where.exists():
        where = where.parent
    free = shutil.disk_usage(where).free / GIGABYTE
    if free < gigabytes + RESERVE_GIGABYTES:
        raise BuildError(
            f"{gigabytes + RESERVE_GIGABYTES:.1f} GB must be free at {where} {purpose} ({gigabytes:.1f} GB and a reserve), "
            f"there are {free:.1f} GB"
        )

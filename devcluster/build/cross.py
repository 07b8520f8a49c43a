"""The programs of Nestor's image for other processors: `python -m devcluster.build.cross arm64` builds kubectl and helm.

The rest of the image is Python, whose packages have wheels for both, and Debian. Public builds take all of it from images that
are there for both; here, there is no machine that could run an image for the other one.
"""

import argparse
import struct
import sys
from pathlib import Path

from devcluster.build import cache, commands, gobuild
from devcluster.build.cache import Cache
from devcluster.build.components import COMPONENTS, Component
from devcluster.progress import Console, Progress

MACHINES = {"amd64": 62, "arm64": 183}
"""By Go's name: `e_machine` of a program's ELF header."""
PROGRAMS = ("kubectl", "helm")


def ensure_programs(cache: Cache, progress: Progress, machine: str, names: tuple[str, ...] = PROGRAMS) -> dict[str, Path]:
    """Build what is missing; the programs by name."""
    found = {}
    for name in names:
        component = next(item for item in COMPONENTS if name in item.programs)
        place = _place(cache, component, machine) / name
        if not place.exists():
            with progress.stage(f"Build {name} for {machine}"):
                gobuild.build_program(cache, component, name, place, machine)
        check(place, machine)
        found[name] = place
    return found


def _place(cache: Cache, component: Component, machine: str) -> Path:
    return cache.root / machine / gobuild.folder(cache, component).name


def read_machine(program: Path) -> str:
    """For which processor a program is, by its ELF header. Raises `BuildError` for what is no 64-bit little-endian program."""
    with program.open("rb") as file:
        head = file.read(20)
    if head[:6] != b"\x7fELF\x02\x01":
        raise commands.BuildError(f"{program} is no 64-bit little-endian ELF program")
    number = struct.unpack_from("<H", head, 18)[0]
    return next((name for name, value in MACHINES.items() if value == number), f"machine {number}")


def check(program: Path, machine: str) -> None:
    """Raises `BuildError` if a program is for another processor."""
    if (found := read_machine(program)) != machine:
        raise commands.BuildError(f"{program} is for {found}, not for {machine}")


def main() -> int:
    """Print where the programs are."""
    parser = argparse.ArgumentParser(prog="python -m devcluster.build.cross", description=__doc__)
    parser.add_argument("machine", choices=sorted(MACHINES))
    try:
        for name, place in ensure_programs(cache.default(), Console(), parser.parse_args().machine).items():
            print(f"{name}\t{place}")
    except commands.BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

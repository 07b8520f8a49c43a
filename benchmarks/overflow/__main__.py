"""`python -m benchmarks.overflow [NAME…]`: measure, print, and fail if a goal is missed."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from benchmarks.overflow.containers import containers
from benchmarks.overflow.goals import report
from benchmarks.overflow.measures import MEASURES
from benchmarks.overflow.site import plane

CONTAINERS = "containers"
"""Only on demand: it starts the embedded cluster."""


async def run(chosen: Sequence[str]) -> int:
    """All in one run, each with an API server or a cluster of its own. Returns how many goals were missed."""
    missed = 0
    for name in chosen:
        if name == CONTAINERS:
            missed += report(await containers())
            continue
        async with plane() as (made, api):
            missed += report(await MEASURES[name](made, api))
    return missed


def main() -> int:
    """Read the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks.overflow", description="Measure overflowed pods.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(MEASURES)}; all of them without any; or {CONTAINERS}"
    )
    found = parser.parse_args().names
    if unknown := set(found) - {*MEASURES, CONTAINERS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    missed = asyncio.run(run(found or list(MEASURES)))
    print(f"goals missed: {missed}" if missed else "all goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks.nested [NAME…]`: measure, print, and fail if a goal is missed."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from benchmarks.jobs.measure import jobs
from benchmarks.nested.measures import MEASURES
from benchmarks.nested.site import site
from benchmarks.nested.starts import starts
from benchmarks.overflow.goals import report

STARTS, JOBS = "starts", "jobs"


async def run(chosen: Sequence[str]) -> int:
    """Each with API servers and a syncer of its own, jobs in the embedded cluster. Returns how many goals were missed."""
    missed = 0
    for name in chosen:
        if name == STARTS:
            missed += report(starts())
            continue
        if name == JOBS:
            await jobs()
            continue
        async with site() as made:
            missed += report(await MEASURES[name](made))
    return missed


def main() -> int:
    """Read the command line. Returns the exit code."""
    names = [STARTS, *MEASURES, JOBS]
    parser = argparse.ArgumentParser(prog="benchmarks.nested", description="Measure pods in nested clusters.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all of them without any")
    found = parser.parse_args().names
    if unknown := set(found) - set(names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    missed = asyncio.run(run(found or names))
    print(f"goals missed: {missed}" if missed else "all goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

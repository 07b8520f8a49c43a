"""`python -m benchmarks.overflow [NAME…]`: measure, and print."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from benchmarks.overflow.measures import MEASURES
from benchmarks.overflow.site import plane


async def run(chosen: Sequence[str]) -> None:
    """All in one run, each with an API server of its own."""
    for name in chosen:
        async with plane() as (made, api):
            await MEASURES[name](made, api)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.overflow", description="Measure overflowed pods.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MEASURES)}; all of them without any")
    found = parser.parse_args().names
    if unknown := set(found) - MEASURES.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    asyncio.run(run(found or list(MEASURES)))


if __name__ == "__main__":
    main()

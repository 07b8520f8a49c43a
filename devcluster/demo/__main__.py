"""`python -m devcluster.demo up|overflow|down`."""

import argparse
import asyncio
import sys

from devcluster.build import cache
from devcluster.demo import overflow, show, teardown
from devcluster.demo.tools import DemoError
from devcluster.progress import Console


def main(arguments: list[str] | None = None) -> int:
    """Run it; 0 only when the page was fetched (`up`), pods ran everywhere (`overflow`), or nothing is left (`down`)."""
    parser = argparse.ArgumentParser(prog="python -m devcluster.demo", description=__doc__)
    parser.add_argument("command", choices=["up", "overflow", "down"])
    command = parser.parse_args(arguments).command
    progress = Console(sys.stdout, times=cache.times())
    try:
        if command == "down":
            return teardown.run(progress)
        with progress.stage("make demo" if command == "up" else "make demo-overflow"):
            if code := asyncio.run(overflow.run(progress) if command == "overflow" else show.run(progress)):
                raise SystemExit(code)
        return 0
    except (DemoError, RuntimeError) as error:
        progress.note(f"\n{error}")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())

"""`python -m devcluster.build image|binaries|images|test`: build, or run the Go tests, without starting a cluster."""

from __future__ import annotations

import argparse
import sys

from devcluster import build
from devcluster.progress import Console


def main() -> int:
    """Build what is asked for; print image references with their archives."""
    parser = argparse.ArgumentParser(prog="python -m devcluster.build", description=__doc__)
    parser.add_argument(
        "what",
        choices=["image", "binaries", "images", "test"],
        help="the Nestor image, the programs, all images, or the programs' tests",
    )
    what = parser.parse_args().what
    progress = Console()
    try:
        if what in {"binaries", "test"}:
            (build.ensure_binaries if what == "binaries" else build.run_tests)(progress)
            return 0
        for reference, archive in [build.ensure_image(progress)] if what == "image" else build.ensure_images(progress):
            print(f"{reference}\t{archive}")
    except build.BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

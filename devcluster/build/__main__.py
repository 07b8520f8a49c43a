"""`python -m devcluster.build image|binaries|images|argocd|test`: build, or run the Go tests, without starting a cluster."""

from __future__ import annotations

import argparse
import sys

from devcluster import build
from devcluster.build import argocd, cache
from devcluster.progress import Console


def build_parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    parser = argparse.ArgumentParser(prog="python -m devcluster.build", description=__doc__)
    parser.add_argument(
        "what",
        choices=["image", "binaries", "images", "argocd", "test"],
        help="the Nestor image, the programs, all images, those of Argo CD, or the programs' tests",
    )
    return parser


def main() -> int:
    """Build what is asked for; print image references with their archives."""
    what = build_parser().parse_args().what
    progress = Console()
    try:
        if what in {"binaries", "test"}:
            (build.ensure_binaries if what == "binaries" else build.run_tests)(progress)
            return 0
        if what == "argocd":
            images = argocd.ensure_images(cache.default(), progress)
        else:
            images = [build.ensure_image(progress)] if what == "image" else build.ensure_images(progress)
        for reference, archive in images:
            print(f"{reference}\t{archive}")
    except build.BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

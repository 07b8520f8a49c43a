"""`python -m devcluster.build WHAT…`: build, or run the Go tests, without starting a cluster."""

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
        nargs="+",
        choices=["image", "binaries", "images", "argocd", "test", "extras", *build.EXTRAS],
        help="the Nestor image; the programs or all images of a cluster with Nestor; the images of Argo CD; the programs' tests; "
        "what only some tests and examples need, or parts of it",
    )
    return parser


def main() -> int:
    """Build what is asked for, in order; print image references with their archives."""
    progress = Console(times=cache.times())
    try:
        for what in build_parser().parse_args().what:
            for reference, archive in _build(what, progress):
                print(f"{reference}\t{archive}")
    except build.BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _build(what: str, progress: Console) -> build.Images:
    match what:
        case "binaries":
            build.ensure_binaries(progress)
        case "test":
            build.run_tests(progress)
        case "image":
            return [build.ensure_image(progress)]
        case "images":
            return build.ensure_images(progress)
        case "argocd":
            return argocd.ensure_images(cache.default(), progress)
        case "extras":
            return build.ensure(progress, *build.EXTRAS)
        case name:
            return build.ensure(progress, name)
    return []


if __name__ == "__main__":
    sys.exit(main())

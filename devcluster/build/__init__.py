"""Builds everything that the embedded cluster runs: programs from Go modules and Debian packages, and images.

Nothing here starts or knows a cluster; `devcluster.cluster` does. Whatever is there already, by the key of its inputs, is not
built again, and two processes may call this at the same time.
"""

from __future__ import annotations

import time
from pathlib import Path

from devcluster.build import assembled, cache, debian, dockerfiles, gobuild, keys, oci, references, registry
from devcluster.build.cache import Cache
from devcluster.build.commands import BuildError
from devcluster.progress import Progress

__all__ = ["BuildError", "ensure_binaries", "ensure_image", "ensure_images", "push_images", "run_tests"]


KEEP_SECONDS = 600


def ensure_binaries(progress: Progress) -> None:
    """Have every program in `$NESTOR_CACHE/bin`."""
    at = cache.default()
    with at.lock("build"):
        debian.ensure_tools(at, progress)
        debian.ensure_unpacked(at, progress)
        gobuild.ensure_components(at, progress)


def run_tests(progress: Progress) -> None:
    """Run the Go tests of the programs; a failure is a `BuildError` with the end of what they printed."""
    gobuild.run_tests(cache.default(), progress)


def ensure_image(progress: Progress) -> tuple[str, Path]:
    """Have the Nestor image alone; its reference and OCI archive."""
    ensure_binaries(progress)
    at = cache.default()
    with at.lock("images"):
        return dockerfiles.ensure_nestor(at, progress)


def ensure_images(progress: Progress) -> list[tuple[str, Path]]:
    """Have every image; references and OCI archives, those first that the cluster needs first."""
    ensure_binaries(progress)
    at = cache.default()
    with at.lock("images"):
        images = _ensure_assembled(at, progress)
        images.append(dockerfiles.ensure_core(at, progress))
        images.append(dockerfiles.ensure_nestor(at, progress))
        images.append(dockerfiles.ensure_python(at, progress))
        images += dockerfiles.ensure_examples(at, progress)
        _forget_old(at, {archive for _, archive in images})
    return images


def push_images(address: str, progress: Progress) -> list[str]:
    """Have every image in the registry at `host:port` (plain HTTP); the references of those that were not there yet."""
    images = ensure_images(progress)
    pushed = []
    target = registry.Registry(address)
    with progress.stage("Push the images") as stage:
        for reference, archive in images:
            stage.detail = reference
            if target.push(archive, references.parse(reference)):
                pushed.append(reference)
        stage.detail = f"{len(pushed)} of {len(images)} were new"
    return pushed


def _ensure_assembled(at: Cache, progress: Progress) -> list[tuple[str, Path]]:
    images = []
    for describe in assembled.ASSEMBLED:
        image = describe(at)
        archive = at.images / f"{describe.__name__}-{keys.key(oci.fingerprint(image))}.tar"
        if not archive.exists():
            with progress.stage(f"Assemble {image.reference}"):
                oci.write(image, archive)
        images.append((image.reference, archive))
    return images


def _forget_old(at: Cache, current: set[Path]) -> None:
    """Archives are large and quickly made again; besides the current ones only the youngest stay: another process, of another
    checkout perhaps, may be about to push them."""
    for archive in current:
        archive.touch()
    for archive in at.images.glob("*.tar"):
        if archive not in current and archive.stat().st_mtime < time.time() - KEEP_SECONDS:
            archive.unlink()

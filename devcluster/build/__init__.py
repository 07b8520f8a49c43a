"""Builds what the embedded cluster runs: programs from Go modules and Debian packages, and images; the rest when it is asked for.

Nothing here starts or knows a cluster; `devcluster.cluster` does. Whatever is there already, by the key of its inputs, is not
built again, and two processes may call this at the same time.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from devcluster.build import (
    assembled,
    cache,
    components,
    debian,
    dockerfiles,
    gobuild,
    keys,
    mpi,
    oci,
    references,
    registry,
    wheels,
)
from devcluster.build.cache import Cache
from devcluster.build.commands import BuildError
from devcluster.build.components import Component
from devcluster.progress import Progress

__all__ = [
    "EXTRAS",
    "BuildError",
    "Images",
    "ensure",
    "ensure_binaries",
    "ensure_image",
    "ensure_images",
    "push_images",
    "run_tests",
]

Images = list[tuple[str, Path]]
"""References and OCI archives."""

KEEP_SECONDS = 600


def _prepare(progress: Progress) -> None:
    """Have every program, and what of the images needs none: while the compiler works, these mostly wait for downloads."""
    at = cache.default()
    with at.lock("build"):
        debian.ensure_tools(at, progress)
    with ThreadPoolExecutor(1) as pool:
        images = pool.submit(_prepare_images, at, progress)
        ensure_binaries(progress)
        images.result()


def _prepare_images(at: Cache, progress: Progress) -> None:
    with at.lock("images"):
        dockerfiles.ensure_core(at, progress)
        dockerfiles.prepare_nestor(at, progress)


def ensure_binaries(progress: Progress) -> None:
    """Have every program that a cluster runs in `$NESTOR_CACHE/bin`."""
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


def ensure_images(progress: Progress, *extras: str) -> Images:
    """Have the images of a cluster with Nestor and hello-world in it, and of these `EXTRAS`, those first that it needs first."""
    _prepare(progress)
    at = cache.default()
    with at.lock("images"):
        images = [_assemble(at, describe, progress) for describe in assembled.ASSEMBLED]
        images.append(dockerfiles.ensure_core(at, progress))
        images.append(dockerfiles.ensure_nestor(at, progress))
        images.append(dockerfiles.ensure_example(at, progress, dockerfiles.HELLO))
    images += ensure(progress, *extras)
    _forget_old(at, {archive for _, archive in images})
    return images


def ensure(progress: Progress, *extras: str) -> Images:
    """Have what only some tests and examples need, by names of `EXTRAS`; the images among it. Raises `BuildError`."""
    if unknown := set(extras) - set(EXTRAS):
        raise BuildError(f"there is no {', '.join(sorted(unknown))}, only {', '.join(EXTRAS)}")
    return [image for name in extras for image in EXTRAS[name](cache.default(), progress)]


def push_images(address: str, progress: Progress, *extras: str) -> list[str]:
    """Have the images in the registry at `host:port` (plain HTTP); the references of those that were not there yet."""
    images = ensure_images(progress, *extras)
    pushed = []
    target = registry.Registry(address)
    with progress.stage("Push the images") as stage:
        for reference, archive in images:
            stage.detail = reference
            if target.push(archive, references.parse(reference)):
                pushed.append(reference)
        stage.detail = f"{len(pushed)} of {len(images)} were new"
    return pushed


def _assemble(at: Cache, describe: Callable[[Cache], oci.Image], progress: Progress) -> tuple[str, Path]:
    image = describe(at)
    archive = at.images / f"{describe.__name__}-{keys.key(oci.fingerprint(image))}.tar"
    if not archive.exists():
        with progress.stage(f"Assemble {image.reference}"):
            oci.write(image, archive)
    return image.reference, archive


def _ensure_examples(at: Cache, progress: Progress) -> Images:
    with at.lock("images"):
        return [dockerfiles.ensure_example(at, progress, folder) for folder in dockerfiles.example_folders()]


def _ensure_python(at: Cache, progress: Progress) -> Images:
    with at.lock("images"):
        return [dockerfiles.ensure_python(at, progress)]


def _ensure_redis(at: Cache, progress: Progress) -> Images:
    with at.lock("build"):
        debian.ensure_packages(at, debian.REDIS, progress)
    with at.lock("images"):
        return [_assemble(at, assembled.redis, progress)]


def _program(component: Component, *describe: Callable[[Cache], oci.Image]) -> Callable[[Cache, Progress], Images]:
    def build(at: Cache, progress: Progress) -> Images:
        with at.lock("build"):
            gobuild.ensure_components(at, progress, (component,))
        with at.lock("images"):
            return [_assemble(at, each, progress) for each in describe]

    return build


EXTRAS: dict[str, Callable[[Cache, Progress], Images]] = {
    "examples": _ensure_examples,
    "python": _ensure_python,
    "redis": _ensure_redis,
    "volumes": _program(components.VOLUMES),
    "helm3": _program(components.HELM3),
    "kueue": _program(components.QUEUES, assembled.kueue),
    "jobset": _program(components.SETS, assembled.jobset),
    "scheduler-plugins": _program(components.SECOND_SCHEDULER),
    "openmpi": mpi.ensure_image,
    "snakemake": wheels.ensure_snakemake,
    "device-plugin": _program(components.DEVICE_PLUGIN, assembled.device_plugin),
    "metrics-server": _program(components.METRICS, assembled.metrics_server),
}
"""What a cluster with Nestor and hello-world in it can do without."""


def _forget_old(at: Cache, current: set[Path]) -> None:
    """Archives are large and quickly made again; of each image, only the current one and the youngest stay: another process, of
    another checkout perhaps, may be about to push them."""
    for archive in current:
        archive.touch()
        for other in at.images.glob(f"{archive.stem[: -keys.LENGTH]}{'[0-9a-f]' * keys.LENGTH}.tar"):
            if other not in current and other.stat().st_mtime < time.time() - KEEP_SECONDS:
                other.unlink()

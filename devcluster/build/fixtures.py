"""What images of test fixtures have in common: a Debian that some are made on, and an archive of each."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.build import base, keys, machine, oci
from devcluster.build.cache import Cache
from devcluster.build.oci import Image
from devcluster.progress import Progress

KEEP_SECONDS = 3600
"""Older archives are kept so long: another checkout may be about to push them."""


@dataclass(frozen=True)
class System:
    """A Debian. `of`: whose images are made on it; `log`: the name of its log file."""

    packages: Sequence[str]
    gigabytes: float
    """Free disk space that the images need while they are made."""
    of: str
    log: str


def ensure_system(cache: Cache, folder: Path, system: System, progress: Progress) -> Path:
    """It as a tar in this folder. Raises `BuildError`."""
    tar = folder / f"system-{keys.key(base.SUITE, *system.packages, *base.LEFT_OUT)}.tar"
    if not tar.exists():
        machine.check_disk(system.gigabytes, f"to make the images of {system.of}", cache.root)
        with progress.stage(f"Make a Debian for the images of {system.of}"):
            folder.mkdir(parents=True, exist_ok=True)
            fresh = tar.with_name(f".new-{tar.name}")
            base.make_system(fresh, "essential", system.packages, cache.log / system.log)
            fresh.replace(tar)
    return tar


def ensure_archive(folder: Path, name: str, image: Image, progress: Progress) -> Path:
    """The image as an archive in this folder, by a name of its own; older ones of that name go."""
    tars = [str(layer.tar) for layer in image.layers if layer.tar]
    archive = folder / f"{name}-{keys.key(oci.fingerprint(image), *tars)}.tar"
    if not archive.exists():
        with progress.stage(f"Assemble {image.reference}"):
            oci.write(image, archive)
        for other in folder.glob(f"{name}-{'[0-9a-f]' * keys.LENGTH}.tar"):
            if other != archive and other.stat().st_mtime < time.time() - KEEP_SECONDS:
                other.unlink()
    return archive

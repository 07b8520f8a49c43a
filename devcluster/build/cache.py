"""Where built things are kept: outside the checkout, so that only the first run pays."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
"""The checkout that this module belongs to."""


@dataclass(frozen=True)
class Cache:
    """The part of the cache directory that the build owns."""

    root: Path

    @cached_property
    def bin(self) -> Path:
        """Links to the current binaries; `bin/cni` holds the CNI plugins."""
        return self.root / "bin"

    @cached_property
    def go(self) -> Path:
        """`<component>-<key>/`: binaries built from Go modules."""
        return self.root / "go"

    @cached_property
    def deb(self) -> Path:
        """`<package>/`: Debian packages, unpacked and not installed."""
        return self.root / "deb"

    @cached_property
    def images(self) -> Path:
        """OCI archives."""
        return self.root / "images"

    @cached_property
    def wheels(self) -> Path:
        """`<key>/`: the Python packages that go into the Nestor image."""
        return self.root / "wheels"

    @cached_property
    def buildah(self) -> Path:
        """buildah's own storage: its layers make the next image build short."""
        return self.root / "buildah"

    @cached_property
    def conformance(self) -> Path:
        """For Kubernetes' conformance tests: OCI archives of their images, and results."""
        return self.root / "conformance"

    @cached_property
    def argocd(self) -> Path:
        """For the tests with Argo CD: OCI archives of its images."""
        return self.root / "argocd"

    @cached_property
    def prometheus(self) -> Path:
        """For the tests with Prometheus: the OCI archive of its image."""
        return self.root / "prometheus"

    @cached_property
    def mpi(self) -> Path:
        """For the test with Open MPI: the OCI archive of its image."""
        return self.root / "mpi"

    @cached_property
    def log(self) -> Path:
        """Output of the commands that the build runs."""
        return self.root / "log"

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Only one process at a time builds the same kind of thing; the others wait and then find it built."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def link(place: Path, target: Path) -> None:
    """Point a link somewhere, in one step: whoever runs the program meanwhile finds the old one or the new one."""
    if place.is_symlink() and place.readlink() == target:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(f".{place.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(place)


def root() -> Path:
    """`NESTOR_CACHE`, or `nestor` below the user's cache directory; the one place that knows."""
    if explicit := os.environ.get("NESTOR_CACHE"):
        return Path(explicit).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "nestor"


def times() -> Path:
    """The file that keeps how long builds took."""
    return root() / "times.json"


def default() -> Cache:
    """The cache of this user."""
    return Cache(root())

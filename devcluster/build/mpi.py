"""Debian's Open MPI with Python and OpenSSH, as an image for its test. Made only when asked for."""

from pathlib import Path

from devcluster.build import fixtures
from devcluster.build.cache import Cache
from devcluster.build.fixtures import System
from devcluster.build.oci import Entry, Image, Layer
from devcluster.progress import Progress

REFERENCE = "registry.nestor.localhost/openmpi:1"
SYSTEM = System(
    ("openmpi-bin", "openssh-client", "openssh-server", "python3-mpi4py"), gigabytes=1.5, of="Open MPI", log="mmdebstrap-mpi.log"
)


def ensure_image(cache: Cache, progress: Progress) -> list[tuple[str, Path]]:
    """Reference and archive. Raises `BuildError`."""
    with cache.lock("images"):
        layers = [Layer(tar=fixtures.ensure_system(cache, cache.mpi, SYSTEM, progress)), Layer([Entry("run/sshd", mode=0o755)])]
        image = Image(REFERENCE, layers, command=["bash"])
        return [(REFERENCE, fixtures.ensure_archive(cache.mpi, "openmpi", image, progress))]

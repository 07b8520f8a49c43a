"""Debian's Prometheus: its image for the tests of metrics, and promtool. Fetched only when asked for, and never installed.

Debian's build has no discovery by Kubernetes' API. Targets are found by DNS instead, from headless Services.
"""

from pathlib import Path

from devcluster.build import assembled, debian, fixtures
from devcluster.build.cache import Cache
from devcluster.build.oci import Entry, Image, Layer
from devcluster.progress import Progress

REFERENCE = "registry.nestor.localhost/prometheus:1"
_PROGRAMS = Path("prometheus/usr/bin")


def ensure_promtool(cache: Cache, progress: Progress) -> Path:
    """The program that checks rules. Raises `BuildError`."""
    with cache.lock("build"):
        debian.ensure_packages(cache, debian.PROMETHEUS, progress)
    return cache.deb / _PROGRAMS / "promtool"


def ensure_image(cache: Cache, progress: Progress) -> tuple[str, Path]:
    """Reference and archive of the image. Its configuration is expected where Debian has it. Raises `BuildError`."""
    program = ensure_promtool(cache, progress).with_name("prometheus")
    entries = [Entry("usr/bin/prometheus", program), *assembled.list_package(cache.deb / "libc6"), assembled.TMP]
    image = Image(REFERENCE, [Layer([*entries, assembled.USERS, assembled.GROUPS])], ["/usr/bin/prometheus"], user="65534")
    with cache.lock("images"):
        return REFERENCE, fixtures.ensure_archive(cache.prometheus, "prometheus", image, progress)

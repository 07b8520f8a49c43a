"""Debian packages: a few tools are installed, the rest is only unpacked into the cache, so that no service is ever started."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devcluster.build import commands
from devcluster.build.cache import Cache, link
from devcluster.build.commands import BuildError
from devcluster.progress import Progress

TOOLS = {
    "buildah": "buildah",
    "mmdebstrap": "mmdebstrap",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "nft": "nftables",
}
"""Command -> package. All of them are programs to call, none brings a service."""
C_TOOLS = {"gcc": "gcc", "/usr/lib/x86_64-linux-gnu/libc.a": "libc6-dev"}
"""For the one program with C in it (sqlite)."""
SQLITE = "libsqlite3-dev"
"""The library for it: compiled already, to be linked statically."""
BROWSER = {"chromium": "chromium", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf": "fonts-dejavu-core"}
"""Only for the tests of web pages."""


@dataclass(frozen=True)
class Unpacked:
    """A package whose files are used from the cache."""

    package: str
    links: dict[str, str] = field(default_factory=dict)
    """Name below `bin` -> path in the package; a name that ends in `/` takes every file of a folder."""


UNPACKED = (
    Unpacked("runc", {"runc": "usr/sbin/runc"}),
    Unpacked("containernetworking-plugins", {"cni/": "usr/lib/cni"}),
    Unpacked("docker-registry", {"registry": "usr/bin/docker-registry"}),
    Unpacked("busybox-static"),
    Unpacked(SQLITE),
)
REDIS = (
    "redis-server", "redis-tools", "libatomic1", "libc6", "libcap2", "libgcc-s1", "libgcrypt20", "libgpg-error0",
    "libjemalloc2", "liblz4-1", "liblzf1", "liblzma5", "libssl3", "libstdc++6", "libsystemd0", "libzstd1",
)  # fmt: skip
"""Redis (the server is a link to a program of redis-tools) and every library that it loads."""
PROMETHEUS = ("libc6", "prometheus")
"""Prometheus, promtool and the only library that they load. Only for the tests of metrics."""


def ensure_tools(cache: Cache, progress: Progress) -> None:
    """Install the tools that are missing."""
    _ensure({**TOOLS, **C_TOOLS}, cache, progress)


def ensure_browser(cache: Cache, progress: Progress) -> None:
    """Install the browser in which the tests look at pages, if it is missing."""
    _ensure(BROWSER, cache, progress)


def _ensure(wanted: dict[str, str], cache: Cache, progress: Progress) -> None:
    search = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = sorted(
        {package for tool, package in wanted.items() if shutil.which(tool, path=search) is None and not _is_file(tool)}
    )
    if not missing:
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise BuildError(f"please install: {', '.join(missing)} (names of Debian packages); only root on Debian can have it done")
    with progress.stage(f"Install {', '.join(missing)}"):
        update(cache)
        command = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
        commands.run(command, cache.log / "apt-install.log", env={"DEBIAN_FRONTEND": "noninteractive"})


def ensure_unpacked(cache: Cache, progress: Progress) -> None:
    """Have the unpacked packages in the cache and their programs in `bin`."""
    ensure_packages(cache, [entry.package for entry in UNPACKED], progress)
    for entry in UNPACKED:
        for name, target in entry.links.items():
            _link(cache, name, cache.deb / entry.package / target)


def ensure_packages(cache: Cache, packages: Sequence[str], progress: Progress) -> None:
    """Have the files of packages below `deb`."""
    if missing := [package for package in packages if not (cache.deb / package).exists()]:
        with progress.stage(f"Download {len(missing)} Debian packages"):
            update(cache)
            _download(cache, missing)


def update(cache: Cache) -> None:
    """Bring apt's package lists up to date; old lists name files that are gone."""
    commands.run(["apt-get", "update"], cache.log / "apt-update.log")


def _is_file(tool: str) -> bool:
    return tool.startswith("/") and Path(tool).exists()


def _download(cache: Cache, packages: Sequence[str]) -> None:
    """Download together, unpack one by one; each appears only when it is whole."""
    cache.deb.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=cache.deb) as temporary:
        # apt would drop its rights for the download, and could then not write into this user's cache.
        command = ["apt-get", "download", "-o", f"APT::Sandbox::User={'root' if os.geteuid() == 0 else ''}", *packages]
        commands.run(command, cache.log / "apt-download.log", cwd=Path(temporary))
        for package in packages:
            archive = next(Path(temporary).glob(f"{package}_*.deb"))
            unpacked = Path(temporary) / package
            commands.run(["dpkg-deb", "--extract", str(archive), str(unpacked)], cache.log / "dpkg-deb.log", umask=0o022)
            unpacked.rename(cache.deb / package)


def _link(cache: Cache, name: str, target: Path) -> None:
    if name.endswith("/"):
        for file in target.iterdir():
            link(cache.bin / name / file.name, file)
    else:
        link(cache.bin / name, target)

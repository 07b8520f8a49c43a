"""The two images that the Nestor image is made from where no registry can be reached: Debian itself, and kubectl with helm."""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devcluster.build import commands, keys
from devcluster.build.buildah import Buildah
from devcluster.build.cache import Cache
from devcluster.build.oci import Entry, Image, Layer
from devcluster.progress import Progress

SUITE = "bookworm"
"""Debian 12: its Python is 3.11, like the public base's."""
PACKAGES = ("python3", "ca-certificates")
LEFT_OUT = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*")
KEY = keys.key(SUITE, *PACKAGES, *LEFT_OUT)
"""Of what the base consists of."""
DISK_GIGABYTES = 2.5
"""Base, layers and archive of the Nestor image, and what is temporary."""


def ensure_base(cache: Cache, buildah: Buildah, progress: Progress) -> str:
    """Name of the Debian image with Python in buildah's storage."""
    name = f"localhost/nestor-base:{KEY}"
    if not buildah.has(name):
        with progress.stage("Make a Debian base image"), tempfile.TemporaryDirectory() as temporary:
            tar = Path(temporary) / "base.tar"
            make_system(tar, "minbase", PACKAGES, cache.log / "mmdebstrap.log")
            buildah.load(Image(name, [Layer(tar=tar)], command=["bash"]), Path(temporary))
    return name


def ensure_tools_image(cache: Cache, buildah: Buildah, progress: Progress) -> str:
    """Name of an image with kubectl and helm where the public images have them."""
    kubectl, helm = ((cache.bin / name).resolve() for name in ("kubectl", "helm"))
    name = f"localhost/nestor-tools:{keys.key(str(kubectl.parent.name), str(helm.parent.name))}"
    if not buildah.has(name):
        with progress.stage("Make an image of kubectl and helm"), tempfile.TemporaryDirectory() as temporary:
            layers = [Layer([Entry("bin/kubectl", kubectl)]), Layer([Entry("usr/bin/helm", helm)])]
            buildah.load(Image(name, layers), Path(temporary))
    return name


def make_system(tar: Path, variant: str, packages: Sequence[str], log: Path) -> None:
    """Write a Debian with these packages as a tar; `variant` is mmdebstrap's, and says what is there besides them."""
    options = [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    options += ["--dpkgopt=path-include=/usr/share/doc/*/copyright", '--aptopt=APT::Sandbox::User "root"']
    sources = [str(file) for file in apt_sources(Path("/etc/apt"))]
    command = ["mmdebstrap", f"--variant={variant}", f"--include={','.join(packages)}", *options, SUITE, str(tar), *sources]
    commands.run(command, log)


def apt_sources(apt: Path) -> list[Path]:
    """The machine's own package sources for the suite, so that its mirror is used; none: mmdebstrap's default is."""
    candidates = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    suite = re.compile(rf"^(?!\s*#).*(?<![\w-]){SUITE}(?![\w-])", re.MULTILINE)
    return [file for file in candidates if file.is_file() and suite.search(file.read_text())]

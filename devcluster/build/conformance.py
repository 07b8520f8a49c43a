"""What Kubernetes' own conformance tests need: their program, and the images of their pods under the official names.

Built only when asked for. The images hold the suite's own programs, and Debian's instead of Alpine's or the upstream projects'.
"""

import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from devcluster.build import assembled, debian, fixtures, gobuild
from devcluster.build.cache import REPOSITORY, Cache
from devcluster.build.components import CONFORMANCE, KUBERNETES
from devcluster.build.fixtures import System
from devcluster.build.oci import Entry, Image, Layer
from devcluster.progress import Progress

E2E = "registry.k8s.io/e2e-test-images"
PACKAGES = ("bash", "bind9-dnsutils", "curl", "iperf", "iproute2", "netcat-openbsd", "nginx", "procps", "socat", "wget")
"""Debian's, for the shell commands of the tests, and for the image of nginx."""
SHELL = "bash-static"
SYSTEM = System(PACKAGES, gigabytes=1.5, of="the conformance tests", log="mmdebstrap-conformance.log")
NGINX = REPOSITORY / "devcluster" / "images" / "nginx" / "nginx.conf"
IMAGE_USER = "user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n"
IMAGE_GROUPS = "user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n"


@dataclass(frozen=True)
class Parts:
    """What the images are made of, in the cache."""

    cache: Cache
    system: Path
    """A Debian with the packages, as a tar."""
    images: Path
    """The suite's own sources of its images."""

    @cached_property
    def agnhost(self) -> list[Entry]:
        """The program that most pods of the tests run."""
        return [Entry("agnhost", self.cache.bin / "agnhost"), Entry("agnhost-2", link="agnhost")]

    def read(self, name: str) -> str:
        """A file of the Debian."""
        with tarfile.open(self.system) as tar:
            file = tar.extractfile(f"./{name}")
            return file.read().decode() if file else ""


def agnhost(parts: Parts) -> Image:
    """The image of most tests; one user in it is known to the tests, and so are the keys of a web server."""
    keys_of_porter = [
        Entry(name, parts.images / "agnhost" / "porter" / name, mode=0o644) for name in ("localhost.crt", "localhost.key")
    ]
    users = [
        Entry("etc/passwd", content=(parts.read("etc/passwd") + IMAGE_USER).encode(), mode=0o644),
        Entry("etc/group", content=(parts.read("etc/group") + IMAGE_GROUPS).encode(), mode=0o644),
    ]
    layers = [Layer(tar=parts.system), Layer([*parts.agnhost, *keys_of_porter, *users, Entry("uploads", mode=0o777)])]
    return Image(f"{E2E}/agnhost:2.63.0", layers, ["/agnhost"], ["pause"])


def nginx(parts: Parts) -> Image:
    """Debian's nginx with the folders of the upstream image."""
    page = Entry("usr/share/nginx/html/index.html", content=b"<title>Welcome to nginx!</title>\n", mode=0o644)
    settings = Entry("etc/nginx/nginx.conf", NGINX, mode=0o644)
    return Image(
        f"{E2E}/nginx:1.15-4", [Layer(tar=parts.system), Layer([page, settings])], command=["nginx", "-g", "daemon off;"]
    )


def busybox(parts: Parts) -> Image:
    """The busybox of the cluster's other tests, but its shell hands on environment variables of any name."""
    bash = parts.cache.deb / SHELL / "bin" / "bash-static"
    shell = Layer([Entry("bin/bash", bash), Entry("bin/sh", parts.cache.bin / "conformance-sh")])
    return Image(f"{E2E}/busybox:1.37.0-1", [*assembled.busybox(parts.cache).layers, shell], command=["sh"])


def kitten(parts: Parts) -> Image:
    """A web page with a picture."""
    return _pet(parts, "kitten")


def nautilus(parts: Parts) -> Image:
    """Another one."""
    return _pet(parts, "nautilus")


def nonroot(parts: Parts) -> Image:
    """Its user is not root."""
    return Image(f"{E2E}/nonroot:1.5", assembled.busybox(parts.cache).layers, command=["sh"], user="1234")


def nonewprivs(parts: Parts) -> Image:
    """A program that becomes root if it may."""
    program = Layer([Entry("usr/local/bin/nnp", parts.cache.bin / "nnp", mode=0o4755)])
    return Image(f"{E2E}/nonewprivs:1.4", [*assembled.busybox(parts.cache).layers, program], command=["nnp"])


def etcd(parts: Parts) -> Image:
    """The etcd that is part of the cluster's program."""
    return Image("registry.k8s.io/etcd:3.6.8-0", [Layer([Entry("usr/local/bin/etcd", parts.cache.bin / "kube")])])


def sample_apiserver(parts: Parts) -> Image:
    """An API server that is aggregated."""
    program = Layer([Entry("sample-apiserver", parts.cache.bin / "sample-apiserver"), assembled.TMP])
    return Image(f"{E2E}/sample-apiserver:1.29.2", [program], ["/sample-apiserver"])


def pause(parts: Parts) -> Image:
    """The pause of the cluster's own pods."""
    return assembled.pause(parts.cache)


IMAGES: tuple[tuple[Callable[[Parts], Image], tuple[str, ...]], ...] = (
    (agnhost, (f"{E2E}/agnhost:2.63.0", f"{E2E}/agnhost:2.55", f"{E2E}/glibc-dns-testing:2.0.0")),
    (busybox, (f"{E2E}/busybox:1.37.0-1",)),
    (pause, ("registry.k8s.io/pause:3.10.2",)),
    (nginx, (f"{E2E}/nginx:1.15-4", f"{E2E}/nginx:1.27-0")),
    (kitten, (f"{E2E}/kitten:1.8",)),
    (nautilus, (f"{E2E}/nautilus:1.8",)),
    (nonroot, (f"{E2E}/nonroot:1.5",)),
    (nonewprivs, (f"{E2E}/nonewprivs:1.4",)),
    (etcd, ("registry.k8s.io/etcd:3.6.8-0",)),
    (sample_apiserver, (f"{E2E}/sample-apiserver:1.29.2",)),
)
"""Each image, and the official names that it stands in for."""


def ensure_programs(cache: Cache, progress: Progress) -> None:
    """Have the suite and its helpers in the cache's `bin`."""
    with cache.lock("build"):
        gobuild.ensure_components(cache, progress, (CONFORMANCE,))


def ensure_images(cache: Cache, progress: Progress) -> list[tuple[str, Path]]:
    """Official name and archive of every image that can be had."""
    ensure_programs(cache, progress)
    with cache.lock("images"):
        sources = gobuild.module_folder(CONFORMANCE, KUBERNETES) / "test" / "images"
        debian.ensure_packages(cache, [SHELL], progress)
        parts = Parts(cache, fixtures.ensure_system(cache, cache.conformance, SYSTEM, progress), sources)
        return [(name, _ensure_archive(parts, describe, progress)) for describe, names in IMAGES for name in names]


def _ensure_archive(parts: Parts, describe: Callable[[Parts], Image], progress: Progress) -> Path:
    return fixtures.ensure_archive(parts.cache.conformance / "images", describe.__name__, describe(parts), progress)


def _pet(parts: Parts, name: str) -> Image:
    html = parts.images / name / "html"
    files = [Entry(file, html / file, mode=0o644) for file in (f"{name}.jpg", "data.json")]
    # By this file, and the words "Alpine Linux" in it, the suite's test of image volumes knows that it reads this image.
    release = Entry("etc/os-release", content=b'NAME="None: a stand-in for an image of Alpine Linux"\n', mode=0o644)
    return Image(f"{E2E}/{name}:1.8", [Layer([*parts.agnhost, *files, release, assembled.TMP])], ["/agnhost"], ["test-webserver"])

"""Argo CD from its Go module, and stand-ins for the images that its manifests name. Built only when asked for.

The program is Argo CD's own, of one version, without its web pages, which are made with yarn. Around it, the image has Debian's
git and gpg; that of Redis has Debian's, and that of Dex, which runs only where somebody configures it, has nothing but busybox.
"""

from pathlib import Path

from devcluster.build import assembled, debian, fixtures, gobuild
from devcluster.build.cache import Cache
from devcluster.build.components import ARGO_CD, ARGOCD, required_version
from devcluster.build.fixtures import System
from devcluster.build.oci import Entry, Image, Layer
from devcluster.progress import Progress

DEX = "ghcr.io/dexidp/dex:v2.43.0"
REDIS = "public.ecr.aws/docker/library/redis:8.2.2-alpine"
PACKAGES = ("ca-certificates", "git", "gpg", "gpg-agent", "tini")
SYSTEM = System(PACKAGES, gigabytes=1.0, of="Argo CD", log="mmdebstrap-argocd.log")
USER = 999
COMMANDS = (
    "application-controller", "applicationset-controller", "cmp-server", "commit-server", "dex", "k8s-auth", "notifications",
    "repo-server", "server",
)  # fmt: skip


def version() -> str:
    """Of Argo CD, such as `v3.2.6`."""
    return required_version((gobuild.MODULES / ARGOCD.module / "go.mod").read_text(), ARGO_CD)


def find_manifest() -> Path:
    """Its install manifest, as it is published with this version. Raises `BuildError`."""
    return gobuild.module_folder(ARGOCD, ARGO_CD) / "manifests" / "install.yaml"


def ensure_images(cache: Cache, progress: Progress) -> list[tuple[str, Path]]:
    """Reference and archive of every image that the manifest names."""
    with cache.lock("argocd"):
        gobuild.ensure_components(cache, progress, (ARGOCD,))
    with cache.lock("build"):
        debian.ensure_packages(cache, list(debian.REDIS), progress)
    with cache.lock("images"):
        redis = assembled.redis(cache)
        images = [
            _build_image(cache, fixtures.ensure_system(cache, cache.argocd, SYSTEM, progress)),
            Image(REDIS, redis.layers, redis.entrypoint, redis.command, working_directory=redis.working_directory),
            Image(DEX, assembled.busybox(cache).layers, command=["sh"]),
        ]
        return [(image.reference, fixtures.ensure_archive(cache.argocd, _name(image), image, progress)) for image in images]


def _build_image(cache: Cache, system: Path) -> Image:
    """As upstream's Dockerfile makes it, as far as its commands and folders go."""
    local, scripts = "usr/local/bin", gobuild.module_folder(ARGOCD, ARGO_CD)
    entries = [
        Entry(f"{local}/argocd", cache.bin / "argocd"),
        *(Entry(f"{local}/argocd-{name}", link="/usr/local/bin/argocd") for name in COMMANDS),
        Entry(f"{local}/helm", cache.bin / "helm"),
        Entry(f"{local}/entrypoint.sh", scripts / "entrypoint.sh"),
        *(Entry(f"{local}/{name}", scripts / "hack" / name) for name in ("gpg-wrapper.sh", "git-verify-wrapper.sh")),
        Entry("home/argocd", mode=0o770, owner=USER),
        Entry("app/config/tls"),
        Entry("app/config/ssh"),
        Entry("app/config/gpg/source"),
        Entry("app/config/gpg/keys", mode=0o700, owner=USER),
    ]
    user = f"argocd:x:{USER}:{USER}::/home/argocd:/bin/sh\n"
    users = Entry("etc/passwd", content=b"root:x:0:0:root:/root:/bin/sh\n" + user.encode(), mode=0o644)
    return Image(
        f"quay.io/argoproj/argocd:{version()}",
        [Layer(tar=system), Layer([*entries, users])],
        ["/usr/bin/tini", "--"],
        environment={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "USER": "argocd"},
        labels={
            "org.opencontainers.image.description": "Argo CD, built from its Go module, without its web pages: a test fixture"
        },
        working_directory="/home/argocd",
        user=str(USER),
    )


def _name(image: Image) -> str:
    return image.reference.rpartition("/")[2].partition(":")[0]

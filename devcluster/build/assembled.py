"""The images that are put together from files of the cache: everything but what has a Dockerfile."""

from collections.abc import Callable
from pathlib import Path

from devcluster.build import commands, debian
from devcluster.build.cache import REPOSITORY, Cache
from devcluster.build.oci import Entry, Image, Layer

PAUSE = "registry.k8s.io/pause:3.10.1"
COREDNS = "docker.io/coredns/coredns:1.15.0"
BUSYBOX = "docker.io/library/busybox:1.35"
REDIS = "docker.io/library/redis:7.0"
DEVICE_PLUGIN = "registry.nestor.localhost/device-plugin:1"
METRICS_SERVER = "registry.nestor.localhost/metrics-server:v0.9.0"
JOBSET = "registry.nestor.localhost/jobset:v0.10.1"
KUEUE = "registry.nestor.localhost/kueue:v0.12.3"
K3S_STAND_IN = "registry.nestor.localhost/k3s-stand-in:v1.36.3-k3s1"

TMP = Entry("tmp", mode=0o1777)
USERS = Entry("etc/passwd", content=b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n", mode=0o644)
GROUPS = Entry("etc/group", content=b"root:x:0:\nnogroup:x:65534:\n", mode=0o644)
REDIS_SCRIPT = REPOSITORY / "devcluster" / "images" / "redis" / "docker-entrypoint.sh"


def pause(cache: Cache) -> Image:
    """Holds a pod's namespaces."""
    return Image(PAUSE, [Layer([Entry("pause", cache.bin / "pause")])], entrypoint=["/pause"])


def coredns(cache: Cache) -> Image:
    """DNS of the embedded cluster and of nested ones."""
    return Image(COREDNS, [Layer([Entry("coredns", cache.bin / "coredns")])], entrypoint=["/coredns"])


def busybox(cache: Cache) -> Image:
    """Debian's static busybox with every applet linked, as the public image has them."""
    return Image(BUSYBOX, [Layer([*_busybox(cache), TMP, USERS, GROUPS, Entry("root", mode=0o700)])], command=["sh"])


def redis(cache: Cache) -> Image:
    """Debian's redis with its libraries, and the entry point's behavior of the public image."""
    entries = [entry for package in debian.REDIS for entry in list_package(cache.deb / package)]
    script = Entry("usr/local/bin/docker-entrypoint.sh", REDIS_SCRIPT)
    system = Layer([*entries, *_busybox(cache), TMP, USERS, GROUPS, script, Entry("data", mode=0o777)])
    return Image(REDIS, [system], ["docker-entrypoint.sh"], ["redis-server"], working_directory="/data")


def k3s_stand_in(cache: Cache) -> Image:
    """Not K3s: see devcluster/go/kube/README.md."""
    return Image(
        K3S_STAND_IN,
        # Like K3s's image, with busybox.
        [
            Layer([*_busybox(cache), Entry("bin/kine", cache.bin / "kine"), TMP, USERS, GROUPS]),
            Layer([Entry("bin/k3s", cache.bin / "k3s")]),
        ],
        entrypoint=["/bin/k3s"],
        labels={
            "org.opencontainers.image.title": "K3s stand-in",
            "org.opencontainers.image.description": "NOT K3s: Kubernetes components behind K3s' command line, a test fixture",
        },
    )


def device_plugin(cache: Cache) -> Image:
    """Gives a node GPUs that do not exist, for tests."""
    return Image(DEVICE_PLUGIN, [Layer([Entry("device-plugin", cache.bin / "device-plugin")])], entrypoint=["/device-plugin"])


def metrics_server(cache: Cache) -> Image:
    """Gives the embedded cluster a metrics API, for tests. Its public image has the same entry point."""
    entries = [Entry("metrics-server", cache.bin / "metrics-server"), TMP]
    return Image(METRICS_SERVER, [Layer(entries)], entrypoint=["/metrics-server"])


def jobset(cache: Cache) -> Image:
    """The controller of JobSets."""
    return _manager(JOBSET, cache.bin / "jobset")


def kueue(cache: Cache) -> Image:
    """Kueue's controller."""
    return _manager(KUEUE, cache.bin / "kueue")


def _manager(reference: str, program: Path) -> Image:
    """A controller where its chart looks for it."""
    return Image(reference, [Layer([Entry("manager", program), TMP])], entrypoint=["/manager"], user="65534")


ASSEMBLED: tuple[Callable[[Cache], Image], ...] = (pause, coredns, busybox, k3s_stand_in)
"""What a cluster with Nestor in it needs."""


def _busybox(cache: Cache) -> list[Entry]:
    binary = cache.deb / "busybox-static" / "bin" / "busybox"
    applets = commands.capture([str(binary), "--list"]).split()
    links = [Entry(f"bin/{applet}", link="/bin/busybox") for applet in applets if applet != "busybox"]
    # Scripts begin with `#!/usr/bin/env`.
    return [Entry("bin/busybox", binary), *links, Entry("usr/bin/env", link="/bin/busybox")]


def list_package(root: Path) -> list[Entry]:
    """Programs and libraries of an unpacked package, without documentation."""
    entries = []
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if not name.startswith(("bin/", "lib/", "lib64/", "usr/bin/", "usr/lib/")):
            continue
        if path.is_symlink():
            entries.append(Entry(name, link=str(path.readlink())))
        elif path.is_file():
            entries.append(Entry(name, path, mode=path.stat().st_mode & 0o777))
    return entries

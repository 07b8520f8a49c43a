"""The machine as it was before the cluster: settings that a node needs otherwise are put back by `down`, and files that were
there already are not blamed on us."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

SYSCTLS = Path("/proc/sys")

# Too few for a node: every pod's kubelet watcher, shim, coredns and K3s takes instances, all counted for one user (root).
AT_LEAST = {"fs/inotify/max_user_instances": 8192, "fs/inotify/max_user_watches": 524_288}

# The kubelet sets these by itself when it may; they are the whole machine's, so they are only remembered here.
CHANGED_BY_KUBELET = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)

# Where node software writes when nobody stops it; the cluster's mounts do (see `mounts`).
PLACES = (
    "/var/lib/kubelet",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/log/pods",
    "/var/log/containers",
    "/run/containerd",
    "/run/cni",
    "/run/nri",
    "/run/netns",
    "/run/xtables.lock",
    "/opt/containerd",
    "/etc/cni/net.d/10-bridge.conflist",
)


@dataclass
class Memory:
    """The machine before the cluster."""

    settings: dict[str, str]
    places: list[str]
    restored: bool = False
    """Whether the settings were put back, so that the next cluster has to look again."""


def prepare(file: Path, root: Path = SYSCTLS) -> None:
    """Remember the machine in `file` (unless a crashed cluster did and put nothing back), then raise what is too low."""
    memory = load(file)
    if memory is None or memory.restored:
        present = [place for place in PLACES if Path(place).exists()]
        _save(file, Memory(read([*AT_LEAST, *CHANGED_BY_KUBELET], root), present))
    for name, value in read(AT_LEAST, root).items():
        if int(value) < AT_LEAST[name]:
            (root / name).write_text(str(AT_LEAST[name]))


def restore(file: Path, root: Path = SYSCTLS) -> None:
    """Put back the remembered settings; nothing to do when there are none, or they were put back already."""
    memory = load(file)
    if memory is None or memory.restored:
        return
    for name in changed(file, root):
        (root / name).write_text(memory.settings[name])
    memory.restored = True
    _save(file, memory)


def changed(file: Path, root: Path = SYSCTLS) -> list[str]:
    """The remembered settings that are not what they were."""
    memory = load(file)
    if memory is None:
        return []
    return [name for name, value in read(memory.settings, root).items() if value != memory.settings[name]]


def new_places(file: Path) -> list[str]:
    """Those of `PLACES` that are there now and were not before."""
    memory = load(file)
    before = memory.places if memory else []
    return [place for place in PLACES if Path(place).exists() and place not in before]


def read(names: Iterable[str], root: Path = SYSCTLS) -> dict[str, str]:
    """The current values of those settings that this kernel has."""
    return {name: (root / name).read_text().strip() for name in names if (root / name).exists()}


def load(file: Path) -> Memory | None:
    """What `prepare` remembered."""
    return Memory(**json.loads(file.read_text())) if file.exists() else None


def _save(file: Path, memory: Memory) -> None:
    file.write_text(json.dumps(asdict(memory), indent=1))

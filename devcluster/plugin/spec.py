"""From a pod to what its containers are started with. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path, PurePosixPath

from devcluster.plugin.refusals import Refused, volume_type
from nestor.api.objects import Object
from nestor.api.quantities import parse_quantity

MESSAGE_PATH = "/dev/termination-log"
LARGEST = 2**53
MOST_SHARES = 2**18
"""Kernels take no more; runc calls it an error."""


@dataclass(frozen=True)
class Folders:
    """Where a pod's files are on the machine."""

    home: Path

    @property
    def volumes(self) -> Path:
        """A folder for each volume."""
        return self.home / "volumes"

    @property
    def etc(self) -> Path:
        """The pod's `hosts` and `resolv.conf`."""
        return self.home / "etc"

    @property
    def logs(self) -> Path:
        """A file for each run of a container."""
        return self.home / "logs"

    def message(self, container: str) -> Path:
        """What a container says about its end."""
        return self.home / "messages" / container


@dataclass(frozen=True)
class Mount:
    """A place of the machine that a container sees."""

    source: Path
    target: str
    is_read_only: bool


@dataclass(frozen=True)
class ContainerSpec:
    """What a container is started with."""

    image: str
    command: list[str]
    """Empty: the image's own."""
    args: list[str]
    env: dict[str, str]
    cwd: str
    mounts: list[Mount]
    memory: int
    """Bytes; 0: no limit."""
    cpus: float
    """Processors; 0: no limit."""
    shares: int
    """Weight among others when processors are short; 1024 for each requested one."""
    user: str
    """`uid` or `uid:gid`; empty: the image's own."""
    is_read_only: bool
    """Whether the root file system is."""


def build(pod: Object, container: Object, folders: Folders, extra_env: Mapping[str, str]) -> ContainerSpec:
    """What to start a container with. Raises `Refused` for a quantity or a path that cannot be."""
    env = _environment(container, extra_env)
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    security = {**(pod["spec"].get("securityContext") or {}), **(container.get("securityContext") or {})}
    cpu_request = quantity(requests.get("cpu") or limits.get("cpu"))
    return ContainerSpec(
        image=full_reference(container["image"]),
        command=list(container.get("command") or []),
        args=list(container.get("args") or []),
        env=env,
        cwd=container.get("workingDir") or "",
        mounts=_mounts(pod, container, folders),
        memory=int(quantity(limits.get("memory"))),
        cpus=float(quantity(limits.get("cpu"))),
        shares=min(max(2, int(cpu_request * 1024)), MOST_SHARES),
        user=":".join(str(security[name]) for name in ("runAsUser", "runAsGroup") if security.get(name) is not None)
        if security.get("runAsUser") is not None
        else "",
        is_read_only=bool(security.get("readOnlyRootFilesystem")),
    )


def _environment(container: Object, extra: Mapping[str, str]) -> dict[str, str]:
    """What is written `$(NAME)` stays so, here and in commands: the protocol wants it resolved before it is sent."""
    return {**extra, **{variable["name"]: variable.get("value") or "" for variable in container.get("env") or []}}


def full_reference(image: str) -> str:
    """An image's full name, as `docker.io/library/busybox:1.35` for `busybox:1.35`."""
    first, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif not ("." in first or ":" in first or first == "localhost"):
        image = f"docker.io/{image}"
    return image if ":" in image.rpartition("/")[2] or "@" in image else f"{image}:latest"


def _mounts(pod: Object, container: Object, folders: Folders) -> list[Mount]:
    kinds = {volume["name"]: volume_type(volume) for volume in pod["spec"].get("volumes") or []}
    found = [Mount(folders.etc / name, f"/etc/{name}", False) for name in ("hosts", "resolv.conf")]
    found.append(Mount(folders.message(container["name"]), container.get("terminationMessagePath") or MESSAGE_PATH, False))
    for mount in container.get("volumeMounts") or []:
        if mount["name"] not in kinds:
            raise Refused(f"container '{container['name']}' mounts '{mount['name']}', which is no volume of the pod")
        source = folders.volumes / mount["name"] / safe_path(mount.get("subPath") or "")
        is_read_only = bool(mount.get("readOnly")) or kinds[mount["name"]] != "emptyDir"
        found.append(Mount(source, mount["mountPath"], is_read_only))
    return found


def safe_path(text: str) -> str:
    """A path below a folder. Raises `Refused` for one that leads out of it."""
    if text.startswith("/") or ".." in PurePosixPath(text).parts:
        raise Refused(f"the path '{text}' leads out of its volume")
    return text


def quantity(text: object) -> Decimal:
    """A Kubernetes quantity. Raises `Refused` for what is none, and for one that no machine has."""
    try:
        found = parse_quantity(str(text or 0))
    except (ValueError, ArithmeticError) as error:
        raise Refused(f"'{text}' is not a quantity") from error
    if not 0 <= found < LARGEST:
        raise Refused(f"'{text}' is not a possible quantity")
    return found

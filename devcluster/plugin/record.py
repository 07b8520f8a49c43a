"""What the backend knows of a pod, kept in a file per pod so that a restart loses nothing."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nestor.api.objects import Object

KEPT_RUNS = 2
"""The current run and the one before: more is asked of no kubelet, either."""


@dataclass
class Run:
    """One process of a container, from start to end."""

    id: str
    pid: int = 0
    started: str = ""
    finished: str = ""
    """Empty while it runs."""
    code: int = 0
    reason: str = ""
    message: str = ""


@dataclass
class Container:
    """One container of a pod, with its last runs."""

    name: str
    is_init: bool = False
    runs: list[Run] = field(default_factory=list)
    restarts: int = 0
    image_id: str = ""
    waiting: str = ""
    """Why it does not run, when that is more than its turn not having come."""
    message: str = ""
    not_before: float = 0
    """When it may be tried again, in seconds since 1970."""
    failures: int = 0
    """Failed pulls and runs in a row; they make the next wait longer."""

    @property
    def last(self) -> Run | None:
        """The current run, or the last one."""
        return self.runs[-1] if self.runs else None

    @property
    def is_running(self) -> bool:
        """Whether it has been started and not been seen to end."""
        return self.last is not None and not self.last.finished

    def begin(self, run: Run) -> list[Run]:
        """Note a new run; the runs that are forgotten for it."""
        self.restarts += bool(self.runs)
        runs = [*self.runs, run]
        self.runs = runs[-KEPT_RUNS:]
        self.waiting = self.message = ""
        return runs[:-KEPT_RUNS]


@dataclass
class Pod:
    """A pod that was accepted."""

    uid: str
    jid: str
    pod: Object
    data: Object
    """Its files: `configMaps`, `secrets`, `projectedvolumemaps`, each object by its name."""
    containers: list[Container]
    devices: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """Accelerators by container and type."""
    is_admitted: bool = False
    """Whether there was room for it."""
    is_deleted: bool = False
    failure: str = ""
    """Why it cannot be run at all."""

    def container(self, name: str) -> Container | None:
        """The container of that name, init or not."""
        return next((container for container in self.containers if container.name == name), None)

    @property
    def restart_policy(self) -> str:
        """When containers are started again."""
        return str(self.pod["spec"].get("restartPolicy") or "Always")


def new(pod: Object, data: Object, jid: str) -> Pod:
    """A pod of which nothing has been started yet."""
    spec = pod["spec"]
    containers = [Container(item["name"], is_init=True) for item in spec.get("initContainers") or []]
    containers += [Container(item["name"]) for item in spec["containers"]]
    return Pod(pod["metadata"]["uid"], jid, pod, data, containers)


def save(record: Pod, file: Path) -> None:
    """Write it so that a reader sees all of it or none. It holds Secrets, so only its owner may read it."""
    temporary = file.with_suffix(".new")
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(asdict(record)))
    temporary.replace(file)


def load(file: Path) -> Pod:
    """Read it back."""
    content = json.loads(file.read_text())
    containers = [Container(**{**item, "runs": [Run(**run) for run in item["runs"]]}) for item in content.pop("containers")]
    return Pod(containers=containers, **content)

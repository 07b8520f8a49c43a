"""The jobs that users make here, and what they do with them."""

import itertools
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from nestor.api import labels
from nestor.api.objects import Object
from nestor.kube import Api, ApiError, Conflict, kinds
from tests.chaos.model import DEADLINE_SECONDS, ENDING, Expected, Sort
from tests.chaos.story import Story, insist
from tests.e2e.conftest import BUSYBOX, dump, inline_job

MOST_AT_A_TIME, MOST = 5, 8
"""Jobs that run, by their class, and that there are."""
CLASS = "chaos"
SORTS: tuple[Sort, ...] = ("web", "web", "kept", "kept", "batch", "away", "away", "short", "wrong")
_TARGET = {"service_name": "web", "service_port": 8080, "service_namespace": "default"}


def build(name: str, namespace: str, sort: Sort) -> list[Object]:
    """A job's documents."""
    if sort in ENDING:
        documents = inline_job(name, namespace, {"sum.yaml": dump(_build_sum())})
        documents[-1]["spec"]["successPolicy"] = {"targets": [{"kind": "Job", "name": "sum"}]}
    elif sort == "wrong":
        documents = inline_job(name, namespace, {"bad.yaml": "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: x}\n"})
    else:
        objects = _build_web(name, is_kept=sort == "kept")
        documents = inline_job(name, namespace, {"web.yaml": dump(*objects)}, targets=[_TARGET])
    if sort == "short":
        documents[-1]["spec"]["activeDeadlineSeconds"] = DEADLINE_SECONDS
    documents[-1]["spec"]["className"] = CLASS
    if sort != "away":
        documents[-1]["spec"]["placement"] = {"overflow": {"mode": "Never"}}
    return documents


def _build_web(name: str, *, is_kept: bool) -> list[Object]:
    """A page that says whose it is and, if it is kept, what its first pod has written to its volume."""
    write = "cp /proc/sys/kernel/random/uuid /data/new && mv /data/new /data/mark"
    mark = f"[ -s /data/mark ] || {{ {write}; }}; said=$(cat /data/mark);" if is_kept else "said=;"
    serve = f"mkdir /tmp/w; {mark} echo {name} $said > /tmp/w/index.html; exec httpd -f -p 8080 -h /tmp/w"
    container: Object = {"name": "main", "image": BUSYBOX, "command": ["sh", "-ec", serve]}
    container["readinessProbe"] = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 2}
    spec: Object = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    meta = {"name": "web", "namespace": "default"}
    made: list[Object] = []
    if is_kept:
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "web"}}]
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}}
        made = [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": claim}]
    selected = {"matchLabels": {"app": "web"}}
    pods = {"replicas": 1 if is_kept else 2, "strategy": {"type": "Recreate" if is_kept else "RollingUpdate"}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    service = {"selector": {"app": "web"}, "ports": [{"port": 8080}]}
    return [
        *made,
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": service},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {**pods, "selector": selected, "template": template},
        },
    ]


def _build_sum() -> Object:
    container = {"name": "main", "image": BUSYBOX, "command": ["sleep", "5"]}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 2, "backoffLimit": 20, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum", "namespace": "default"}, "spec": spec}


class Users:
    """They act on jobs of one namespace. `known`: those that nobody has deleted."""

    def __init__(self, api: Api, namespace: str, random: Random, story: Story) -> None:
        self._api, self._namespace, self._random, self._story = api, namespace, random, story
        self._numbers = itertools.count(1)
        self.known: dict[str, Expected] = {}

    async def act(self) -> None:
        """One act, at random among those that are possible."""
        acts: list[Callable[[], Awaitable[None]]] = [self._create] * 4 if len(self.known) < MOST else [self._delete]
        if self.known:
            acts += [self._delete, self._toggle, self._toggle, self._rerun]
        await self._random.choice(acts)()

    async def _create(self) -> None:
        sort = self._random.choice(SORTS)
        name = f"{sort}-{next(self._numbers)}"
        config_map, job = build(name, self._namespace, sort)
        await insist(lambda: self._api.apply(kinds.CONFIG_MAP, config_map))
        self._story.tell(f"users create {name}")
        await insist(lambda: self._make(job))
        made = await insist(lambda: self._api.get(kinds.NESTED_APP_JOB, name, self._namespace))
        self.known[name] = Expected(sort, made["metadata"]["uid"])

    async def _make(self, job: Object) -> None:
        try:
            await self._api.create(kinds.NESTED_APP_JOB, job)
        except Conflict:
            return  # the answer to the first request was lost

    async def _delete(self) -> None:
        name = self._random.choice(list(self.known))
        self._story.tell(f"users delete {name}")
        del self.known[name]
        await insist(lambda: self._api.delete(kinds.NESTED_APP_JOB, name, self._namespace))

    async def _toggle(self) -> None:
        """Suspend or resume: the API server refuses it of what has ended."""
        name = self._random.choice(list(self.known))
        wanted = not self.known[name].is_suspended
        self._story.tell(f"users {'suspend' if wanted else 'resume'} {name}")
        if await self._patch(name, {"spec": {"suspend": wanted}}):
            self.known[name].is_suspended = wanted

    async def _rerun(self) -> None:
        # A rerun of a job that has failed starts over without its volumes.
        names = [name for name, expected in self.known.items() if expected.sort != "kept"]
        if not names:
            return
        name = self._random.choice(names)
        self._story.tell(f"users rerun {name}")
        await self._patch(name, {"metadata": {"annotations": {labels.RERUN: str(next(self._numbers))}}})

    async def _patch(self, name: str, body: dict[str, Any]) -> bool:
        try:
            await insist(lambda: self._api.patch(kinds.NESTED_APP_JOB, name, self._namespace, body))
        except ApiError as error:
            self._story.tell(f"refused: {error}")
            return False
        return True

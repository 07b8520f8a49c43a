"""Jobs and classes, and the queues that look after them."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from nestor.api import conditions, labels
from nestor.api.nestedclass import NestedClassSpec
from nestor.operator.admission.identity import Denial, Refused, identify
from nestor.operator.guests.queue.queues import Queue
from nestor.operator.world.ownership import find_home
from tests.unit.operator.builders import Object, build_job, build_policy

OLD, MIDDLE, YOUNG = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))


def job(uid: str, created: str = OLD, *, is_placed: bool = False, refused: str = "", **spec: Any) -> Object:
    """A job of the namespace, as another pass has left it."""
    made = build_job(uid, spec.pop("namespace", "team-a"), **spec)
    made["metadata"] |= {"uid": uid, "creationTimestamp": created}
    status: Object = {"timings": {"admitted": created}} if is_placed else {}
    if refused:
        status["conditions"] = [{"type": conditions.ADMITTED, "status": "False", "reason": refused}]
    return made | {"status": status}


def end(of: Object, reason: str = conditions.COMPLETED, **status: Any) -> Object:
    said = {"type": conditions.SUCCEEDED, "status": "True" if reason == conditions.COMPLETED else "False", "reason": reason}
    return of | {"status": of["status"] | {"completionTime": YOUNG, "conditions": [said]} | status}


def deleted(of: Object, *finalizers: str) -> Object:
    """The job while it is being deleted, by default until we have removed what it has."""
    return of | {"metadata": of["metadata"] | {"deletionTimestamp": YOUNG, "finalizers": finalizers or (labels.FINALIZER,)}}


class Town:
    """An operator's queues, with jobs that appear, change and go."""

    def __init__(self, *jobs: Object, **policy: Any) -> None:
        self.jobs: dict[tuple[str, str], Object] = {}
        self.classes: dict[str, NestedClassSpec] = {"default": build_policy(**policy)}
        self.default = "default"
        self.woken: list[str] = []
        self.busy: set[str] = set()
        """UIDs of the jobs that have pods on the host."""
        self.restart()
        for item in jobs:
            self.put(item)

    def restart(self) -> None:
        """Another process, which knows only what the API server says."""
        nothing, pods = SimpleNamespace(get=lambda *_: None), SimpleNamespace(all=self._list_pods)
        cache = SimpleNamespace(jobs=self, classes=self, clusters=nothing, find=nothing.get, pods_by_namespace=pods)
        wake = lambda kind, name, namespace: self.woken.append(name)  # noqa: E731
        self.queues = Queue(cast(Any, SimpleNamespace(cache=cache, classes=self, wake=wake)))

    def on_change(self, _: object) -> None:
        """Whoever changes something here says so."""

    def all(self) -> dict[str, NestedClassSpec]:
        return self.classes

    def _list_pods(self, namespace: str) -> list[Object]:
        homes = [find_home(item) for item in self.jobs.values() if item["metadata"]["uid"] in self.busy]
        return [{"metadata": home.metadata("x", component=labels.COMPONENT_APP)} for home in homes if home.namespace == namespace]

    def get(self, name: str, namespace: str) -> Object | None:
        return self.jobs.get((namespace, name))

    def __iter__(self) -> Iterator[Object]:
        return iter(self.jobs.values())

    def set_class(self, **policy: Any) -> None:
        self.classes["default"] = build_policy(**policy)
        self.queues.note_class("default")

    def put(self, item: Object) -> None:
        """The job appears or changes."""
        self.jobs[item["metadata"]["namespace"], item["metadata"]["name"]] = item
        self.queues.note(item)

    def drop(self, uid: str, namespace: str = "team-a") -> None:
        self.queues.note(self.jobs.pop((namespace, uid)))

    def see(self, uid: str, *, is_busy: bool) -> None:
        """The job's pods come or go: it is looked at, though it has not changed."""
        (self.busy.add if is_busy else self.busy.discard)(uid)
        self.queues.note(self.jobs["team-a", uid])
        self.queues.flush()

    def ask(self, uid: str, namespace: str = "team-a") -> Denial | None:
        """A pass over the job: None if it may run."""
        try:
            return self.queues.ask(identify(self.jobs[namespace, uid], self.classes, self.default))
        except Refused as refused:
            return refused.denial

    def run(self, uid: str, namespace: str = "team-a") -> Denial | None:
        """The same, and the status that follows."""
        refused = self.ask(uid, namespace)
        item = self.jobs[namespace, uid]
        status = item["status"] | ({"queue": refused.queue} if refused else {"timings": {"admitted": YOUNG}})
        if refused:
            others = [said for said in status.get("conditions") or () if said["type"] != conditions.ADMITTED]
            status["conditions"] = [*others, {"type": conditions.ADMITTED, "status": "False", "reason": refused.reason}]
        else:
            is_over, passing = status.get("completionTime"), ("queue", "conditions", "suspendTime")
            status = status if is_over else {key: value for key, value in status.items() if key not in passing}
            status |= {"suspendTime": YOUNG} if item["spec"].get("suspend") else {}
        self.put(item | {"status": status})
        return refused

    def pass_all(self) -> None:
        """Passes over all that were woken, until nobody is."""
        while self.woken:
            woken, self.woken = self.woken, []
            for name in dict.fromkeys(woken):
                for namespace, known in list(self.jobs):
                    if known == name:
                        self.run(name, namespace)

    def running(self) -> list[str]:
        return [item["metadata"]["uid"] for item in self.jobs.values() if (item["status"].get("timings") or {}).get("admitted")]

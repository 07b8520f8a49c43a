"""An operator's reconcilers before an API server in memory."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

from nestor.api import conditions, labels, names
from nestor.cluster.shape import Host
from nestor.kube import Api, Change, Kind, kinds
from nestor.operator.job.reconcile import JobReconciler
from nestor.operator.settings import Settings
from nestor.operator.world.context import Cache, Context, Result
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import IMAGES, Object, build_job, build_policy

HOME = names.job_namespace("hello", "team-a", "1234")
"""Of its job."""


class Scene:
    """Both, and a class that is `Privileged` until a test says otherwise."""

    def __init__(self) -> None:
        self.api = MemoryApi()
        api = cast(Api, self.api)
        settings = Settings(namespace="nestor-system", image="nestor:1", k3s_versions=IMAGES)
        self.context = Context.create(api, settings, Cache(api), Host(()))
        self._version = 0
        self.set_class("Privileged")

    @cached_property
    def reconciler(self) -> JobReconciler:
        """Of this process."""
        return JobReconciler(self.context)

    def restart(self) -> None:
        """Have another process, which finds the same caches and remembers nothing else."""
        old = self.context
        vars(self).pop("reconciler", None)
        self.context = Context.create(old.api, old.settings, old.cache, old.host)

    def set_class(self, level: str, namespace: Object | None = None, **spec: Any) -> None:
        """Have the class say that, as an admin would."""
        self._version += 1
        meta = {"name": "default", "uid": "c", "resourceVersion": str(self._version)}
        body = build_policy(namespace={"podSecurity": level} | (namespace or {}), **spec).model_dump(
            by_alias=True, exclude_none=True
        )
        self.context.cache.classes.put({"metadata": meta, "spec": body})

    def drop_class(self) -> None:
        """Have no class any more."""
        for item in list(self.context.cache.classes):
            self.hide(kinds.NESTED_CLASS, item)

    def add_job(self, **spec: Any) -> Object:
        job = build_job()
        job["metadata"]["finalizers"] = [labels.FINALIZER]
        job["spec"] |= spec
        return self.change(kinds.NESTED_APP_JOB, job)

    @classmethod
    async def started(cls, **spec: Any) -> Scene:
        """A job after its first pass."""
        made = cls()
        made.add_job(**spec)
        await made.run()
        return made

    async def run(self, name: str = "hello") -> Result:
        """A pass over the job."""
        return await self.reconciler.reconcile("team-a", name)

    def look(self, kind: Kind, name: str, namespace: str = HOME) -> Object:
        """Empty where there is none."""
        return self.api.look(kind, name, namespace) or {}

    def show_home(self) -> None:
        """Have the informer know the job's namespace."""
        self.show(kinds.NAMESPACE, self.look(kinds.NAMESPACE, HOME, ""))

    @property
    def job(self) -> Object:
        """As the API server has it."""
        return self.api.look(kinds.NESTED_APP_JOB, "hello", "team-a") or {}

    def settle(self, **changes: Any) -> Object:
        """Have the informer know the job as it is, with those changes."""
        return self.change(kinds.NESTED_APP_JOB, self.job | changes)

    def edit(self, **spec: Any) -> None:
        self.settle(spec=self.job["spec"] | spec)

    def record(self, **status: Any) -> None:
        self.settle(status=self.job["status"] | status)

    def said(self, kind: str, name: str = "hello") -> tuple[str, str, str]:
        """Status, reason and message of a condition of a job."""
        found = conditions.find(self.look(kinds.NESTED_APP_JOB, name, "team-a")["status"]["conditions"], kind) or {}
        return found.get("status", ""), found.get("reason", ""), found.get("message", "")

    def change(self, kind: Kind, body: Object) -> Object:
        """Have one of our resources like this, and known to be so."""
        made = self.api.put(kind, body)
        self.context.cache.informers[kind].put(made)
        return made

    def show(self, kind: Kind, body: Object) -> Object:
        """Have a child like this, and known to the informer."""
        made = self.api.put(kind, body)
        key = made["metadata"].get("namespace", ""), made["metadata"]["name"]
        informer = self.context.cache.informers[kind]
        informer.store[key] = made
        for handler in informer.handlers:
            handler(Change(key, None, made))
        return made

    def hide(self, kind: Kind, body: Object) -> None:
        """Have a child gone for the informer, which may know it."""
        key = body["metadata"].get("namespace", ""), body["metadata"]["name"]
        self.context.cache.informers[kind]._set(key, None)

    def level(self, name: str, namespace: str) -> str | None:
        """What a cluster's status says that its pods may be."""
        found = self.api.look(kinds.NESTED_CLUSTER, name, namespace) or {}
        policy: Object = found.get("status", {}).get("policy", {})
        return policy.get("podSecurity")

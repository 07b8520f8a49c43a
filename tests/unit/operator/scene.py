"""An operator's reconcilers before an API server in memory."""

from __future__ import annotations

from typing import Any, cast

from nestor.api import labels
from nestor.cluster.shape import Host
from nestor.kube import Api, Change, Kind, kinds
from nestor.operator.settings import Settings
from nestor.operator.world.context import Cache, Context
from tests.fakes.api import MemoryApi
from tests.unit.operator.builders import IMAGES, Object, build_job, build_policy


class Scene:
    """Both, and a class that is `Privileged` until a test says otherwise."""

    def __init__(self) -> None:
        self.api = MemoryApi()
        api = cast(Api, self.api)
        settings = Settings(namespace="nestor-system", image="nestor:1", k3s_versions=IMAGES)
        self.context = Context.create(api, settings, Cache(api), Host(()))
        self._version = 0
        self.set_class("Privileged")

    def restart(self) -> None:
        """Have another process, which finds the same caches and remembers nothing else."""
        old = self.context
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

"""How long a deletion may take, counted from when this process saw it, and what is reported, once."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import pytest

from nestor.api import labels, names
from nestor.api.objects import Object
from nestor.cluster.shape import Host
from nestor.kube import Api, ApiError, Conflict, Forbidden, Kind, kinds
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.deletion.finalize import LEFT_SECONDS, NAMED, POLL_SECONDS, Finalizer
from nestor.operator.deletion.sweep import SLOW_SECONDS, Sweeper
from nestor.operator.guests.argocd import ArgoCD
from nestor.operator.guests.retained import Retain
from nestor.operator.job.reconcile import JobReconciler
from nestor.operator.settings import Settings
from nestor.operator.world.context import Cache, Context, Result

LONG_AGO = "2026-01-01T00:00:00Z"
WHERE = names.job_namespace("hello", "team-a", "1234")


class FakeApi:
    """Remembers what it was asked; deletes nothing."""

    def __init__(self, job: Object | None = None) -> None:
        self.job = job
        self.deleted: list[tuple[Kind, str, int | None]] = []
        self.events: list[str] = []
        self.posted: list[Object] = []
        self.conflicts = 0
        self.is_freed = False
        self.found: dict[Kind, Object] = {}

    async def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        return self.job if kind == kinds.NESTED_APP_JOB else self.found.get(kind)

    async def list(self, kind: Kind, *_: Any, **__: Any) -> list[Object]:
        return [self.found[kind]] if kind in self.found else []

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", *, uid: str = "", grace_seconds: int | None = None
    ) -> bool:
        self.deleted.append((kind, name, grace_seconds))
        return True

    async def delete_all(self, kind: Kind, namespace: str) -> None:
        self.deleted.append((kind, "", None))

    async def apply(self, kind: Kind, body: Object, *, subresource: str | None = None) -> Object:
        return body

    async def patch(self, kind: Kind, name: str, namespace: str, patch: Object) -> Object:
        if self.conflicts:
            self.conflicts -= 1
            raise Conflict(409, "Conflict", "changed meanwhile")
        self.is_freed = True
        return patch

    async def create(self, kind: Kind, body: Object) -> Object:
        self.events.append(body["reason"])
        self.posted.append(body)
        return body


def build_job(uid: str = "1234", **meta: Any) -> Object:
    """A job, of which nothing can be made."""
    own = {"name": "hello", "namespace": "team-a", "uid": uid, "resourceVersion": "1", "finalizers": [labels.FINALIZER]}
    return {"metadata": own | meta, "spec": {}}


def build_context(api: FakeApi, *, is_terminating: bool = False) -> Context:
    """An operator's knowledge: the job's namespace, with one pod that does not end."""
    world = Cache(cast(Api, api))
    own = labels.of_job("hello", "team-a", "1234")
    gone = {"deletionTimestamp": LONG_AGO} if is_terminating else {}
    namespace = {"metadata": {"name": WHERE, "uid": "ns", "labels": own} | gone}
    world.informers[kinds.NAMESPACE].store["", WHERE] = namespace
    pod = {"metadata": {"name": "app", "namespace": WHERE, "uid": "pod", "labels": {labels.COMPONENT: "app"}}, "spec": {}}
    world.informers[kinds.POD]._set((WHERE, "app"), pod)
    return Context.create(cast(Api, api), Settings(image="x"), world, Host(()))


def limit(context: Context, force: float, give_up: float) -> None:
    context.settings = replace(context.settings, force_after_seconds=force, give_up_after_seconds=give_up)


def build_finalizer(context: Context) -> Finalizer:
    """With the guests that have a say when a job goes."""
    return Finalizer(context, [Retain(context), ArgoCD(context)], CopiedInputs(context.applier, "nestor-system"))


async def finalize(finalizer: Finalizer, job: Object) -> None:
    """One pass that is not the last."""
    assert (await finalizer.finalize(job)).retry_after == POLL_SECONDS


async def test_a_deletion_of_long_ago_is_tried_before_it_is_forced_and_forced_before_it_is_given_up() -> None:
    api, job = FakeApi(), build_job(deletionTimestamp=LONG_AGO)
    context = build_context(api)
    finalizer = build_finalizer(context)
    await finalize(finalizer, job)
    assert (kinds.POD, "app", 10) in api.deleted
    assert api.events == []
    limit(context, force=0, give_up=300)
    await finalize(finalizer, job)
    await finalize(finalizer, job)
    assert (kinds.POD, "app", 0) in api.deleted
    assert api.events == ["PodForceDeleted"]
    limit(context, force=0, give_up=0)
    assert await finalizer.finalize(job) == Result()
    assert api.is_freed
    assert api.events == ["PodForceDeleted", "NamespaceLeftBehind"]


async def test_whoever_takes_our_finalizer_off_and_keeps_the_job_by_another_keeps_nothing_of_it() -> None:
    """Users may write finalizers of their jobs: what such a job has would run on, outside all limits."""
    api, job = FakeApi(), build_job(deletionTimestamp=LONG_AGO, finalizers=["example.com/stay"])
    context = build_context(api)
    finalizer = build_finalizer(context)
    await finalize(finalizer, job)
    assert (kinds.POD, "app", 10) in api.deleted
    context.cache.informers[kinds.NAMESPACE].store.clear()
    assert await finalizer.finalize(job) == Result()
    assert not api.is_freed, "the other finalizer is not ours to remove"


def send_out(context: Context, *, node: str = "hpc") -> None:
    """Have the pod on the virtual node `hpc`, or on one that is none."""
    marks = {labels.BACKEND: "site"}
    context.cache.informers[kinds.NODE].store["", "hpc"] = {"metadata": {"name": "hpc", "uid": "of-hpc", "labels": marks}}
    (pod,) = context.cache.pods_by_namespace.all(WHERE)
    context.cache.informers[kinds.POD]._set(
        (WHERE, "app"), {"metadata": pod["metadata"] | {"resourceVersion": "2"}, "spec": {"nodeName": node}}
    )


async def test_pods_at_a_backend_are_forced_last_and_named_on_the_job_and_on_the_node() -> None:
    """A backend may take longer than nodes of the cluster: once the host pod is gone, nobody sees it to the end."""
    api, job = FakeApi(), build_job(deletionTimestamp=LONG_AGO)
    context = build_context(api)
    send_out(context)
    finalizer = build_finalizer(context)
    limit(context, force=0, give_up=300)
    await finalize(finalizer, job)
    assert (kinds.POD, "app", 10) in api.deleted
    assert (kinds.POD, "app", 0) not in api.deleted
    assert (kinds.NAMESPACE, WHERE, None) in api.deleted
    assert api.events == []
    limit(context, force=0, give_up=0)
    await finalize(finalizer, job)
    await finalize(finalizer, job)
    assert (kinds.POD, "app", 0) in api.deleted
    assert [(item["reason"], item["involvedObject"]["kind"], item["involvedObject"]["name"]) for item in api.posted] == [
        ("PodForceDeleted", "Node", "hpc"),
        ("PodForceDeleted", "NestedAppJob", "hello"),
    ]
    for item in api.posted:
        for part in ("backend 'site'", "node 'hpc'", WHERE, "app (UID pod)"):
            assert part in item["message"]
    # Now that it is gone, its namespace has time to go as well.
    context.cache.informers[kinds.POD]._set((WHERE, "app"), None)
    await finalize(finalizer, job)
    assert "NamespaceLeftBehind" not in api.events
    finalizer.deletions["1234"].since -= 3600
    assert await finalizer.finalize(job) == Result()
    assert api.events[-1] == "NamespaceLeftBehind"


async def test_a_node_that_is_no_backends_gets_no_more_time() -> None:
    api = FakeApi()
    context = build_context(api)
    send_out(context, node="worker-1")
    limit(context, force=0, give_up=300)
    await finalize(build_finalizer(context), build_job(deletionTimestamp=LONG_AGO))
    assert (kinds.POD, "app", 0) in api.deleted
    assert [item["involvedObject"]["kind"] for item in api.posted] == ["NestedAppJob"]


async def test_what_is_swept_without_its_job_is_named_on_the_node() -> None:
    api = FakeApi()
    context = build_context(api)
    send_out(context)
    limit(context, force=0, give_up=0)
    finalizer = build_finalizer(context)
    sweeper = Sweeper(context, finalizer)
    for _ in range(2):
        await sweeper.sweep("team-a", "hello")
    assert [(item["involvedObject"]["kind"], item["reason"]) for item in api.posted] == [("Node", "PodForceDeleted")]
    del context.cache.informers[kinds.NAMESPACE].store["", WHERE]
    await sweeper.sweep("team-a", "hello")
    assert finalizer.deletions == {}


async def test_however_many_are_left_each_is_named_in_full() -> None:
    api = FakeApi()
    context = build_context(api)
    send_out(context)
    meta = {"namespace": "n" * 63}
    pods: list[Object] = [
        {"metadata": meta | {"name": f"{index:063}", "uid": f"{index:036}"}, "spec": {"nodeName": "hpc"}} for index in range(20)
    ]
    await build_finalizer(context)._tell_left(pods, None)
    assert len(api.posted) == -(-20 // NAMED)
    said = " ".join(item["message"] for item in api.posted)
    assert all(f"{index:063} (UID {index:036})" in said for index in range(20))


async def test_the_time_goes_on_after_a_conflict_and_starts_anew_for_a_successor() -> None:
    api, job = FakeApi(), build_job(deletionTimestamp=LONG_AGO)
    api.conflicts = 1
    context = build_context(api)
    finalizer = build_finalizer(context)
    limit(context, force=0, give_up=0)
    with pytest.raises(Conflict):
        await finalizer.finalize(job)
    await finalizer.finalize(job)
    assert api.events == ["NamespaceLeftBehind"]
    assert finalizer.deletions == {}


def build_secret(uid: str | None) -> Object:
    """A Secret with the name of the job's kubeconfig, made for the job of that UID or by a user."""
    marks = {labels.JOB_UID: uid} if uid else {}
    return {"metadata": {"name": "hello-kubeconfig", "namespace": "team-a", "uid": "secret", "labels": marks}}


@pytest.mark.parametrize("uid", ["5678", None], ids=["another job's", "nobody's"])
@pytest.mark.parametrize("is_cached", [True, False])
async def test_what_only_has_the_names_of_the_jobs_objects_is_not_touched(uid: str | None, is_cached: bool) -> None:
    api, job = FakeApi(), build_job(deletionTimestamp=LONG_AGO)
    context = build_context(api)
    store = context.cache.informers[kinds.NAMESPACE].store
    marks = labels.of_job("hello", "team-a", uid) if uid else {}
    namespace = {"metadata": {"name": WHERE, "uid": "ns", "labels": marks}}
    del store["", WHERE]
    if is_cached:
        store["", WHERE] = namespace
    api.found = {kinds.NAMESPACE: namespace, kinds.SECRET: build_secret(uid)}
    assert await build_finalizer(context).finalize(job) == Result()
    assert api.is_freed
    # The one object outside of both namespaces is named after the job's UID, and goes even if the collector is slow.
    assert [(kind, name) for kind, name, _ in api.deleted] == [(kinds.CLUSTER_ROLE_BINDING, WHERE)]


async def test_the_jobs_own_namespace_and_kubeconfig_go() -> None:
    api, job = FakeApi(), build_job(deletionTimestamp=LONG_AGO)
    context = build_context(api)
    api.found = {kinds.SECRET: build_secret("1234")}
    context.cache.informers[kinds.POD]._set((WHERE, "app"), None)
    await finalize(build_finalizer(context), job)
    gone = [(kind, name) for kind, name, _ in api.deleted]
    assert (kinds.SECRET, "hello-kubeconfig") in gone
    assert gone[-3:] == [(kinds.NAMESPACE, WHERE), (kinds.PERSISTENT_VOLUME_CLAIM, ""), (kinds.SERVICE, "")]


@pytest.mark.parametrize("successor", [None, build_job("5678")], ids=["no job", "made again"])
async def test_a_namespace_without_its_job_is_swept_and_that_is_said_once(
    successor: Object | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    api = FakeApi(successor)
    context = build_context(api)
    if successor:
        context.cache.jobs.put(successor)
    reconciler = JobReconciler(context)
    for _ in range(3):
        assert await reconciler.reconcile("team-a", "hello") == Result(POLL_SECONDS)
    assert (kinds.POD, "app", 10) in api.deleted
    assert [record.message for record in caplog.records if "no longer exists" in record.message] == [
        f"deleting namespace {WHERE}: its job team-a/hello no longer exists"
    ]


@pytest.mark.parametrize("held_by", [None, kinds.POD, kinds.SERVICE, kinds.PERSISTENT_VOLUME_CLAIM], ids=str)
async def test_a_job_is_gone_when_only_the_shell_of_its_namespace_is_left(held_by: Kind | None) -> None:
    api, job = FakeApi(), build_job(deletionTimestamp=LONG_AGO)
    context = build_context(api, is_terminating=True)
    context.cache.informers[kinds.POD]._set((WHERE, "app"), None)
    api.found = {held_by: {"metadata": {"name": "held"}}} if held_by else {}
    result = await build_finalizer(context).finalize(job)
    assert (result, api.is_freed) == ((Result(POLL_SECONDS), False) if held_by else (Result(), True))


async def test_a_shell_that_its_controller_does_not_get_rid_of_is_named_once() -> None:
    api = FakeApi()
    context = build_context(api, is_terminating=True)
    context.cache.informers[kinds.POD]._set((WHERE, "app"), None)
    limit(context, force=0, give_up=-LEFT_SECONDS)
    reconciler = JobReconciler(context)
    for _ in range(2):
        await reconciler.reconcile("team-a", "hello")
    assert api.events == ["NamespaceLeftBehind"]


async def test_a_namespace_on_its_way_out_is_looked_at_now_and_then() -> None:
    context = build_context(FakeApi(), is_terminating=True)
    assert await JobReconciler(context).reconcile("team-a", "hello") == Result(SLOW_SECONDS)


async def test_the_namespace_of_a_job_that_is_there_is_not_swept() -> None:
    api = FakeApi(build_job())
    assert (await JobReconciler(build_context(api)).reconcile("team-a", "hello")).retry_after is not None
    assert not api.deleted


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "a policy says no"), ApiError(503, "ServiceUnavailable", "later")])
async def test_what_argo_cd_may_not_be_told_keeps_no_job_from_stopping(error: ApiError, monkeypatch: pytest.MonkeyPatch) -> None:
    api, job = FakeApi(), build_job(deletionTimestamp=LONG_AGO) | {"status": {"argoCDNamespace": "argocd"}}
    context = build_context(api)
    finalizer = build_finalizer(context)

    async def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(ArgoCD, "_delete", fail)
    if error.is_transient:
        with pytest.raises(ApiError):
            await finalizer.finalize(job)
        return
    for _ in range(2):
        await finalize(finalizer, job)
    assert (kinds.POD, "app", 10) in api.deleted
    assert api.events == ["ArgoCDNotTold"]
    assert "a policy says no" in api.posted[0]["message"]

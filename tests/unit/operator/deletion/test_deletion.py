"""How long a deletion may take, counted from when this process saw it, and what is reported, once."""

import logging
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.api.objects import Object
from nestor.kube import ApiError, Conflict, Forbidden, Kind, kinds
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.deletion.finalize import LEFT_SECONDS, POLL_SECONDS, Finalizer
from nestor.operator.deletion.sweep import SLOW_SECONDS, Sweeper
from nestor.operator.guests import argocd
from nestor.operator.guests.retained.keeper import Retain
from nestor.operator.job.reconcile import JobReconciler
from nestor.operator.world.context import Result
from nestor.operator.world.ownership import NAMED
from tests.unit.operator.scene import HOME, Scene

GOING: Object = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def build_job(uid: str = "1234", **meta: Any) -> Object:
    own = {"name": "hello", "namespace": "team-a", "uid": uid, "finalizers": [labels.FINALIZER]}
    return {"metadata": own | meta, "spec": {}}


class World(Scene):
    """A job's namespace, with one pod that does not end. What is deleted is noted, and stays."""

    def __init__(self, job: Object | None = None, *, is_terminating: bool = False) -> None:
        super().__init__()
        self.drop_class()
        self.deleted: list[tuple[Kind, str, int | None]] = []
        vars(self.api).update(delete=self._delete, delete_all=self._delete_all)
        self.show_namespace(labels.of_job("hello", "team-a", "1234"), **GOING if is_terminating else {})
        self.show_pod()
        if job:
            self.api.put(kinds.NESTED_APP_JOB, job)
        inputs = CopiedInputs(self.context.applier, "nestor-system")
        self.finalizer = Finalizer(self.context, [Retain(self.context), argocd.ArgoCD(self.context)], inputs)

    async def _delete(self, kind: Kind, name: str, *_: Any, grace_seconds: int | None = None, **__: Any) -> bool:
        self.deleted.append((kind, name, grace_seconds))
        return True

    async def _delete_all(self, kind: Kind, _: str) -> None:
        self.deleted.append((kind, "", None))

    def show_namespace(self, marks: dict[str, str], **meta: Any) -> None:
        self.show(kinds.NAMESPACE, {"metadata": {"name": HOME, "uid": "ns", "labels": marks} | meta})

    def show_pod(self, **spec: Any) -> None:
        own = {labels.COMPONENT: labels.COMPONENT_APP}
        pod = self.api.put(kinds.POD, {"metadata": {"name": "app", "namespace": HOME, "uid": "pod", "labels": own}, "spec": spec})
        self.context.cache.informers[kinds.POD]._set((HOME, "app"), pod)

    def send_out(self, node: str = "hpc") -> None:
        """Have the pod on the virtual node `hpc`, or on one that is none."""
        self.show(kinds.NODE, {"metadata": {"name": "hpc", "labels": {labels.BACKEND: "site"}}})
        self.show_pod(nodeName=node)

    def drop_pod(self) -> None:
        """Have the pod ended."""
        self.hide(kinds.POD, self.look(kinds.POD, "app"))
        self.api.drop(kinds.POD, "app", HOME)

    def forget_namespace(self) -> None:
        """Have the cache know of none."""
        self.hide(kinds.NAMESPACE, {"metadata": {"name": HOME}})

    def limit(self, force: float, give_up: float) -> None:
        self.context.settings = self.context.settings.model_copy(update={"force_after": force, "give_up_after": give_up})

    async def finalize(self) -> Result:
        return await self.finalizer.finalize(self.job)

    async def go_on(self) -> None:
        """One pass that is not the last."""
        assert (await self.finalize()).retry_after == POLL_SECONDS

    @property
    def is_freed(self) -> bool:
        return not self.job["metadata"]["finalizers"]

    @property
    def posted(self) -> list[Object]:
        return self.api.every("events")

    @property
    def events(self) -> list[str]:
        return [item["reason"] for item in self.posted]


async def test_a_deletion_of_long_ago_is_tried_before_it_is_forced_and_forced_before_it_is_given_up() -> None:
    world = World(build_job(**GOING))
    await world.go_on()
    assert (kinds.POD, "app", 10) in world.deleted
    assert world.events == []
    world.limit(force=0, give_up=300)
    await world.go_on()
    await world.go_on()
    assert (kinds.POD, "app", 0) in world.deleted
    assert world.events == ["PodForceDeleted"]
    world.limit(force=0, give_up=0)
    assert await world.finalize() == Result()
    assert world.is_freed
    assert world.events == ["PodForceDeleted", "NamespaceLeftBehind"]


async def test_whoever_takes_our_finalizer_off_and_keeps_the_job_by_another_keeps_nothing_of_it() -> None:
    """Users may write finalizers of their jobs: what such a job has would run on, outside all limits."""
    world = World(build_job(finalizers=["example.com/stay"], **GOING))
    await world.go_on()
    assert (kinds.POD, "app", 10) in world.deleted
    world.forget_namespace()
    world.api.drop(kinds.NAMESPACE, HOME)
    assert await world.finalize() == Result()
    assert world.job["metadata"]["finalizers"] == ["example.com/stay"], "it is not ours to remove"


async def test_pods_at_a_backend_are_forced_last_and_named_on_the_job_and_on_the_node() -> None:
    """A backend may take longer than nodes of the cluster: once the host pod is gone, nobody sees it to the end."""
    world = World(build_job(**GOING))
    world.send_out()
    world.limit(force=0, give_up=300)
    await world.go_on()
    assert (kinds.POD, "app", 10) in world.deleted
    assert (kinds.POD, "app", 0) not in world.deleted
    assert (kinds.NAMESPACE, HOME, None) in world.deleted
    assert world.events == []
    world.limit(force=0, give_up=0)
    await world.go_on()
    await world.go_on()
    assert (kinds.POD, "app", 0) in world.deleted
    assert [(item["reason"], item["involvedObject"]["kind"], item["involvedObject"]["name"]) for item in world.posted] == [
        ("PodForceDeleted", "Node", "hpc"),
        ("PodForceDeleted", "NestedAppJob", "hello"),
    ]
    for item in world.posted:
        for part in ("backend 'site'", "node 'hpc'", HOME, "app (pod)"):
            assert part in item["message"]
    # Now that it is gone, its namespace has time to go as well.
    world.drop_pod()
    await world.go_on()
    assert "NamespaceLeftBehind" not in world.events
    world.finalizer.deletions["1234"].since -= 3600
    assert await world.finalize() == Result()
    assert world.events[-1] == "NamespaceLeftBehind"


async def test_a_node_that_is_no_backends_gets_no_more_time() -> None:
    world = World(build_job(**GOING))
    world.send_out("worker-1")
    world.limit(force=0, give_up=300)
    await world.go_on()
    assert (kinds.POD, "app", 0) in world.deleted
    assert [item["involvedObject"]["kind"] for item in world.posted] == ["NestedAppJob"]


async def test_what_is_swept_without_its_job_is_named_on_the_node() -> None:
    world = World()
    world.send_out()
    world.limit(force=0, give_up=0)
    sweeper = Sweeper(world.context, world.finalizer)
    for _ in range(2):
        await sweeper.sweep("team-a", "hello")
    assert [(item["involvedObject"]["kind"], item["reason"]) for item in world.posted] == [("Node", "PodForceDeleted")]
    world.forget_namespace()
    await sweeper.sweep("team-a", "hello")
    assert world.finalizer.deletions == {}


async def test_however_many_are_left_each_is_named_in_full() -> None:
    world = World()
    world.send_out()
    meta = {"namespace": "n" * 63}
    pods: list[Object] = [
        {"metadata": meta | {"name": f"{index:063}", "uid": f"{index:036}"}, "spec": {"nodeName": "hpc"}} for index in range(20)
    ]
    await world.finalizer._tell_left(pods, None)
    assert len(world.posted) == -(-20 // NAMED)
    said = " ".join(item["message"] for item in world.posted)
    assert all(f"{index:063} ({index:036})" in said for index in range(20))


async def test_the_time_goes_on_after_a_conflict_and_starts_anew_for_a_successor() -> None:
    world, conflicts = World(build_job(**GOING)), [Conflict(409, "Conflict", "changed meanwhile")]
    world.api.refusal = lambda _, body: conflicts.pop() if conflicts and "finalizers" in body["metadata"] else None
    world.limit(force=0, give_up=0)
    with pytest.raises(Conflict):
        await world.finalize()
    await world.finalize()
    assert world.events == ["NamespaceLeftBehind"]
    assert world.finalizer.deletions == {}


def build_secret(uid: str | None) -> Object:
    """A Secret with the name of the job's kubeconfig, made for the job of that UID or by a user."""
    marks = {labels.JOB_UID: uid} if uid else {}
    return {"metadata": {"name": "hello-kubeconfig", "namespace": "team-a", "labels": marks}}


@pytest.mark.parametrize("uid", ["5678", None], ids=["another job's", "nobody's"])
@pytest.mark.parametrize("is_cached", [True, False])
async def test_what_only_has_the_names_of_the_jobs_objects_is_not_touched(uid: str | None, is_cached: bool) -> None:
    world = World(build_job(**GOING))
    world.show_namespace(labels.of_job("hello", "team-a", uid) if uid else {})
    if not is_cached:
        world.forget_namespace()
    world.api.put(kinds.SECRET, build_secret(uid))
    assert await world.finalize() == Result()
    assert world.is_freed
    # The one object outside of both namespaces is named after the job's UID, and goes even if the collector is slow.
    assert [(kind, name) for kind, name, _ in world.deleted] == [(kinds.CLUSTER_ROLE_BINDING, HOME)]


async def test_the_jobs_own_namespace_and_kubeconfig_go() -> None:
    world = World(build_job(**GOING))
    world.api.put(kinds.SECRET, build_secret("1234"))
    world.drop_pod()
    await world.go_on()
    gone = [(kind, name) for kind, name, _ in world.deleted]
    assert (kinds.SECRET, "hello-kubeconfig") in gone
    assert gone[-3:] == [(kinds.NAMESPACE, HOME), (kinds.PERSISTENT_VOLUME_CLAIM, ""), (kinds.SERVICE, "")]


@pytest.mark.parametrize("successor", [None, build_job("5678")], ids=["no job", "made again"])
async def test_a_namespace_without_its_job_is_swept_and_that_is_said_once(
    successor: Object | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    world = World(successor)
    if successor:
        world.context.cache.jobs.put(world.job)
    reconciler = JobReconciler(world.context)
    for _ in range(3):
        assert await reconciler.reconcile("team-a", "hello") == Result(POLL_SECONDS)
    assert (kinds.POD, "app", 10) in world.deleted
    assert [record.message for record in caplog.records if "no longer exists" in record.message] == [
        f"deleting namespace {HOME}: its job team-a/hello no longer exists"
    ]


@pytest.mark.parametrize("held_by", [None, kinds.POD, kinds.SERVICE, kinds.PERSISTENT_VOLUME_CLAIM], ids=str)
async def test_a_job_is_gone_when_only_the_shell_of_its_namespace_is_left(held_by: Kind | None) -> None:
    told = {"status": {"conditions": [{"type": conditions.READY, "status": "False", "reason": conditions.TERMINATING}]}}
    world = World(build_job(**GOING) | told, is_terminating=True)
    world.drop_pod()
    if held_by:
        world.api.put(held_by, {"metadata": {"name": "held", "namespace": HOME}})
    result = await world.finalize()
    assert (result, world.is_freed) == ((Result(POLL_SECONDS), False) if held_by else (Result(), True))


async def test_a_shell_that_its_controller_does_not_get_rid_of_is_looked_at_now_and_then_and_named_once() -> None:
    world = World(is_terminating=True)
    world.drop_pod()
    world.limit(force=0, give_up=-LEFT_SECONDS)
    reconciler = JobReconciler(world.context)
    for _ in range(2):
        assert await reconciler.reconcile("team-a", "hello") == Result(SLOW_SECONDS)
    assert world.events == ["NamespaceLeftBehind"]


async def test_the_namespace_of_a_job_that_is_there_is_not_swept() -> None:
    world = World(build_job())
    assert (await JobReconciler(world.context).reconcile("team-a", "hello")).retry_after is not None
    assert not world.deleted


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "a policy says no"), ApiError(503, "ServiceUnavailable", "later")])
async def test_what_argo_cd_may_not_be_told_keeps_no_job_from_stopping(error: ApiError, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(build_job(**GOING) | {"status": {"argoCDNamespace": "argocd"}})

    async def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(argocd, "delete_secret", fail)
    if error.is_transient:
        with pytest.raises(ApiError):
            await world.finalize()
        return
    for _ in range(2):
        await world.go_on()
    assert (kinds.POD, "app", 10) in world.deleted
    assert world.events == ["ArgoCDNotTold"]
    assert "a policy says no" in world.posted[0]["message"]

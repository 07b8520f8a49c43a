"""What is in no namespace goes with its cluster, whoever has removed the cluster's finalizer."""

from __future__ import annotations

import pytest

from nestor import names
from nestor.kube import ApiError, Kind, kinds
from nestor.operator.clusters.bindings import keep_bindings
from nestor.operator.clusters.reconcile import ClusterReconciler
from nestor.operator.job.reconcile import JobReconciler
from tests.unit.operator.builders import Object
from tests.unit.operator.scene import Scene

NAME = names.nodes_binding("team-a", "own", "own")


@pytest.fixture
async def scene() -> Scene:
    """A user's cluster that is made."""
    made = Scene()
    made.add_cluster()
    await ClusterReconciler(made.context).reconcile("team-a", "own")
    assert made.api.look(kinds.CLUSTER_ROLE_BINDING, NAME)
    return made


def lose_cluster(scene: Scene) -> Object:
    """Have the cluster gone, as when its user removes the finalizer and deletes it."""
    gone = scene.api.look(kinds.NESTED_CLUSTER, "own", "team-a") or {}
    scene.api.drop(kinds.NESTED_CLUSTER, "own", "team-a")
    scene.context.cache.clusters.drop(gone)
    return gone


async def test_the_binding_of_a_cluster_that_is_gone_goes(scene: Scene) -> None:
    lose_cluster(scene)
    await keep_bindings(scene.context, delays=[0])
    assert scene.api.look(kinds.CLUSTER_ROLE_BINDING, NAME) is None


async def test_the_binding_of_an_earlier_cluster_with_this_name_goes(scene: Scene) -> None:
    again = lose_cluster(scene)
    again["metadata"]["uid"] = "again"
    scene.change(kinds.NESTED_CLUSTER, again)
    its = scene.api.look(kinds.CLUSTER_ROLE_BINDING, NAME) or {}
    its["metadata"]["name"] = names.nodes_binding("team-a", "own", "again")
    scene.api.put(kinds.CLUSTER_ROLE_BINDING, its)
    await keep_bindings(scene.context, delays=[0])
    assert scene.api.look(kinds.CLUSTER_ROLE_BINDING, NAME) is None
    assert scene.api.look(kinds.CLUSTER_ROLE_BINDING, its["metadata"]["name"])


async def test_those_of_clusters_and_jobs_that_are_there_stay_also_where_the_cache_lags_behind(scene: Scene) -> None:
    scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    for item in list(scene.context.cache.clusters):
        scene.context.cache.clusters.drop(item)
    home = names.job_namespace("hello", "team-a", "1234")
    await keep_bindings(scene.context, delays=[0])
    assert scene.api.look(kinds.CLUSTER_ROLE_BINDING, NAME)
    assert scene.api.look(kinds.CLUSTER_ROLE_BINDING, home)


async def test_one_to_another_role_is_none_of_ours(scene: Scene) -> None:
    theirs = scene.api.look(kinds.CLUSTER_ROLE_BINDING, NAME) or {}
    theirs["metadata"]["name"] = "theirs"
    scene.api.put(kinds.CLUSTER_ROLE_BINDING, theirs | {"roleRef": {"name": "view"}})
    lose_cluster(scene)
    await keep_bindings(scene.context, delays=[0])
    assert scene.api.look(kinds.CLUSTER_ROLE_BINDING, "theirs")


async def test_an_api_server_that_does_not_answer_is_asked_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_cluster(scene)
    answers, ask = [ApiError(503, "ServiceUnavailable", "not now")], scene.api.list

    async def answer(kind: Kind, namespace: str | None = None, **options: str) -> list[Object]:
        if answers:
            raise answers.pop()
        return await ask(kind, namespace, **options)

    monkeypatch.setattr(scene.api, "list", answer)
    await keep_bindings(scene.context, delays=[0, 0])
    assert scene.api.look(kinds.CLUSTER_ROLE_BINDING, NAME) is None

"""The keys of a running cluster are renewed whatever else keeps its job from being maintained."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from nestor import names
from nestor.api import conditions
from nestor.cluster.provision import ForeignObject, Provisioner
from nestor.kube import Forbidden, Invalid, kinds
from nestor.operator.admission.copied_inputs import CopiedInputs
from nestor.operator.admission.identity import Refused
from nestor.operator.clusters.reconcile import ClusterReconciler
from nestor.operator.job.reconcile import JobReconciler
from tests.unit.operator.scene import Scene

HOME = names.job_namespace("hello", "team-a", "1234")


def lose_keys(scene: Scene, cluster: str, home: str) -> Callable[[], set[str]]:
    """Take away what expires, and let the operator remember nothing; returns a look at what is there again."""
    where = {f"{cluster}-access": home, f"{cluster}-kubeconfig": "team-a"}
    for name, namespace in where.items():
        scene.api.drop(kinds.SECRET, name, namespace)
    scene.context.provisioner = Provisioner(scene.context.applier)
    return lambda: {name for name, namespace in where.items() if scene.api.look(kinds.SECRET, name, namespace)}


@pytest.mark.parametrize(
    "error",
    [
        Refused(conditions.PULL_SECRET_NOT_FOUND, "no Secret"),
        ForeignObject("Secret 'x' is not ours"),
        Forbidden(403, "Forbidden", "exceeded quota"),
        Invalid(422, "Invalid", "field is immutable"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_job_that_is_refused_keeps_its_keys(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    look = lose_keys(scene, "hello", HOME)

    async def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(CopiedInputs, "ensure_pull_secret", fail)
    with contextlib.suppress(type(error)):
        await JobReconciler(scene.context).reconcile("team-a", "hello")
    assert look() == {"hello-access", "hello-kubeconfig"}


async def test_a_job_without_its_class_keeps_its_keys() -> None:
    scene = Scene()
    scene.add_job()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    look = lose_keys(scene, "hello", HOME)
    scene.drop_class()
    await JobReconciler(scene.context).reconcile("team-a", "hello")
    assert look() == {"hello-access", "hello-kubeconfig"}


async def test_a_users_cluster_without_its_class_keeps_its_keys() -> None:
    scene = Scene()
    scene.add_cluster()
    await ClusterReconciler(scene.context).reconcile("team-a", "own")
    look = lose_keys(scene, "own", "team-a")
    scene.drop_class()
    await ClusterReconciler(scene.context).reconcile("team-a", "own")
    assert look() == {"own-access", "own-kubeconfig"}


async def test_a_refused_cluster_that_was_never_made_gets_none() -> None:
    scene = Scene()
    scene.add_cluster()
    scene.drop_class()
    await ClusterReconciler(scene.context).reconcile("team-a", "own")
    assert scene.api.look(kinds.SECRET, "own-access", "team-a") is None

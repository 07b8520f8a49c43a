"""Until when a job that was stopped still uses what it has."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from nestor.api import labels, names, times
from nestor.kube import kinds
from nestor.operator.lifecycle.suspend import CONFIRM_SECONDS, find_progress, is_quiet, stop
from nestor.operator.world.ownership import find_home
from tests.unit.operator.builders import Object
from tests.unit.operator.scene import Scene

HOME = names.job_namespace("hello", "team-a", "1234")
APP, RUNNER, SERVER = labels.COMPONENT_APP, labels.COMPONENT_RUNNER, labels.COMPONENT_SERVER
SOON, LATE = 1, CONFIRM_SECONDS + 1


def ago(seconds: float) -> str:
    return times.write(times.now() - datetime.timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("cluster", "pods", "seconds", "found"),
    [
        ({"suspended": True}, {}, SOON, True),
        ({"suspended": True}, {"a": (APP, "Running")}, SOON, False),
        ({"suspended": True}, {"a": (APP, "Pending")}, LATE, False),
        ({"suspended": True}, {"a": (RUNNER, "Running")}, SOON, False),
        ({"suspended": True}, {"a": (APP, "Succeeded"), "b": (RUNNER, "Failed")}, SOON, True),
        ({"suspended": True}, {"a": (SERVER, "Running")}, SOON, True),
        # Its syncer is silent: it could still be about to make pods, but not for ever.
        ({}, {}, SOON, False),
        ({}, {}, LATE, True),
        ({}, {"a": (APP, "Running")}, LATE, False),
        # No cluster any more, or none yet: a namespace that is being deleted loses it before its pods.
        (None, {"a": (APP, "Running")}, SOON, False),
        (None, {}, SOON, True),
    ],
)
@pytest.mark.parametrize("field", ["suspendTime", "completionTime"])
def test_a_job_is_quiet_when_its_pods_are_gone(
    field: str, cluster: Object | None, pods: dict[str, tuple[str, str]], seconds: float, found: bool
) -> None:
    scene = Scene()
    job = scene.add_job()
    job["status"] = {field: ago(seconds)}
    if cluster is not None:
        meta = {"name": "hello", "namespace": HOME, "uid": "c"}
        scene.change(kinds.NESTED_CLUSTER, {"metadata": meta, "spec": {"className": "default"}, "status": cluster})
    for name, (component, phase) in pods.items():
        own = {labels.CLUSTER: "hello", labels.COMPONENT: component}
        scene.show(kinds.POD, {"metadata": {"name": name, "namespace": HOME, "labels": own}, "status": {"phase": phase}})
    assert is_quiet(scene.context.cache, job) is found


ENDS: Object = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 10**9}


@pytest.mark.parametrize(
    ("meta", "own", "is_overdue", "graces"),
    [
        (ENDS, 10**9, True, [30]),
        (ENDS, 10**9, False, []),
        (ENDS | {"deletionGracePeriodSeconds": 30}, 10**9, True, []),
        ({}, 10**9, True, [30]),
        ({}, 5, True, [5]),
    ],
)
async def test_pods_that_have_had_their_time_get_half_a_minute_more(
    meta: Object, own: int, is_overdue: bool, graces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their grace period is: it is their user who writes it."""
    scene, asked = Scene(), list[int | None]()
    home = find_home(scene.add_job())

    async def delete(*_: Any, grace_seconds: int | None = None, **__: Any) -> bool:
        asked.append(grace_seconds)
        return True

    monkeypatch.setattr(scene.api, "delete", delete)
    marks = {labels.CLUSTER: "hello", labels.COMPONENT: APP}
    pod = {"metadata": {"name": "web", "namespace": HOME, "uid": "p", "labels": marks} | meta, "status": {"phase": "Running"}}
    scene.show(kinds.POD, pod | {"spec": {"terminationGracePeriodSeconds": own}})
    progress = find_progress(scene.context.cache, home)
    assert (progress.pods, progress.ending) == (1, 1 if meta else 0)
    await stop(scene.context, home, None, is_applied=True, is_overdue=is_overdue)
    assert asked == graces

"""Until when a job that was stopped still uses what it has."""

from __future__ import annotations

import datetime

import pytest

from nestor import names, times
from nestor.api import labels
from nestor.kube import kinds
from nestor.operator.lifecycle.suspend import CONFIRM_SECONDS, is_quiet
from tests.unit.operator.builders import Object
from tests.unit.operator.scene import Scene

HOME = names.job_namespace("hello", "team-a", "1234")
APP, RUNNER, SERVER = labels.COMPONENT_APP, labels.COMPONENT_RUNNER, labels.COMPONENT_SERVER
SOON, LATE = 1, CONFIRM_SECONDS + 1


def ago(seconds: float) -> str:
    """A time before now."""
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

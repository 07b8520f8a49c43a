"""What follows from the statuses of a pod's containers."""

from __future__ import annotations

import pytest

from nestor.api.objects import Object
from nestor.pods.translate.container_status import build_placeholder, find_phase, has_run

WAITING: Object = {"state": {"waiting": {}}}
AGAIN: Object = {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 1}}}
RUNNING: Object = {"state": {"running": {}}}


def ended(code: int) -> Object:
    return {"state": {"terminated": {"exitCode": code}}}


@pytest.mark.parametrize(
    ("policy", "init", "main", "phase"),
    [
        ("Always", [], [WAITING], "Pending"),
        ("Always", [], [RUNNING, WAITING], "Pending"),
        ("Always", [], [RUNNING, AGAIN], "Running"),
        ("Always", [], [ended(0), ended(1)], "Running"),
        ("Always", [ended(1)], [WAITING], "Pending"),
        ("OnFailure", [], [ended(0), ended(1)], "Running"),
        ("OnFailure", [], [ended(0), ended(0)], "Succeeded"),
        ("OnFailure", [ended(1)], [WAITING], "Pending"),
        ("Never", [], [ended(0), ended(1)], "Failed"),
        ("Never", [], [RUNNING, ended(1)], "Running"),
        ("Never", [], [ended(0)], "Succeeded"),
        ("Never", [RUNNING], [WAITING], "Pending"),
        ("Never", [ended(0)], [RUNNING], "Running"),
        # Whatever the others say: no init container of such a pod is tried again.
        ("Never", [WAITING, ended(1)], [WAITING], "Failed"),
    ],
)
def test_phase_follows_from_the_containers(policy: str, init: list[Object], main: list[Object], phase: str) -> None:
    named = [item | {"name": f"i{index}"} for index, item in enumerate(init)]
    assert find_phase({"initContainers": []}, named, main, policy) == phase


@pytest.mark.parametrize("state", [WAITING, RUNNING, ended(1)])
def test_sidecars_do_not_count(state: Object) -> None:
    spec = {"initContainers": [{"name": "side", "restartPolicy": "Always"}]}
    assert find_phase(spec, [state | {"name": "side"}], [RUNNING], "Never") == "Running"


def test_of_a_container_that_nobody_tells_about_nothing_is_claimed() -> None:
    found = build_placeholder({"name": "app", "image": "example/app:1"})
    assert (found["name"], found["image"], found["ready"]) == ("app", "example/app:1", False)
    assert not has_run(found)

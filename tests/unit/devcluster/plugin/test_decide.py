"""What is started next."""

import pytest

from devcluster.plugin import decide
from devcluster.plugin.decide import Step
from devcluster.plugin.record import Container, Pod
from tests.unit.devcluster.plugin.pods import ended, known, running

NOW = 1000.0
CASES: dict[str, tuple[Pod, Step]] = {
    "new": (known(Container("a"), Container("b")), Step(("a", "b"))),
    "under way": (known(running("a"), Container("b")), Step(("b",))),
    "first the init containers": (known(Container("i", True), Container("a")), Step(("i",))),
    "one after the other": (known(running("i", is_init=True), Container("j", True), Container("a")), Step()),
    "the second one": (known(ended("i", is_init=True), Container("j", True), Container("a")), Step(("j",))),
    "then the others": (known(ended("i", is_init=True), Container("a")), Step(("a",))),
    "a failed init container is the end of a pod": (
        known(ended("i", 1, is_init=True), Container("a"), restartPolicy="Never"),
        Step(is_finished=True),
    ),
    "or is tried again": (known(ended("i", 1, is_init=True), Container("a"), restartPolicy="OnFailure"), Step(("i",))),
    "an init container that succeeded is not": (known(ended("i", is_init=True), running("a"), restartPolicy="Always"), Step()),
    "Never": (known(ended("a", 1), restartPolicy="Never"), Step(is_finished=True)),
    "Never, one runs": (known(ended("a", 1), running("b"), restartPolicy="Never"), Step()),
    "OnFailure succeeded": (known(ended("a"), restartPolicy="OnFailure"), Step(is_finished=True)),
    "OnFailure failed": (known(ended("a", 1), restartPolicy="OnFailure"), Step(("a",))),
    "Always": (known(ended("a"), restartPolicy="Always"), Step(("a",))),
    "Always is the default": (known(ended("a")), Step(("a",))),
    "not yet": (known(ended("a", not_before=NOW + 3)), Step(wait=3)),
    "the earlier one counts": (known(ended("a", not_before=NOW + 3), ended("b", not_before=NOW + 2)), Step(wait=2)),
    "an image that was not there": (known(Container("a", not_before=NOW + 1), restartPolicy="Never"), Step(wait=1)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_done_next(case: str) -> None:
    pod, expected = CASES[case]
    assert decide.next_step(pod, NOW) == expected


def test_a_pod_that_cannot_be_run_is_finished() -> None:
    pod = known(Container("a"))
    pod.failure = "no network"
    assert decide.next_step(pod, NOW).is_finished


@pytest.mark.parametrize(("failures", "seconds"), [(1, 0.5), (2, 1), (3, 2), (20, 30)])
def test_each_wait_is_twice_the_last_one_up_to_a_limit(failures: int, seconds: float) -> None:
    assert decide.backoff(0.5, failures) == seconds

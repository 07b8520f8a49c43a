"""Who gets what of the plugin's resources."""

from __future__ import annotations

from typing import Any

import pytest

from devcluster.plugin import room
from devcluster.plugin.refusals import Refused
from devcluster.plugin.room import Room
from devcluster.plugin.switches import Resources
from nestor.api.objects import Object
from tests.unit.devcluster.plugin.pods import container, pod

OFFERED = Resources(cpu="2", memory="1Gi", pods="3", accelerators={"nvidia.com/gpu": 2})


def wanting(**limits: str) -> Object:
    return container(resources={"limits": {name.replace("__", "/").replace("_", "."): value for name, value in limits.items()}})


def gpus(count: int) -> Object:
    return wanting(nvidia_com__gpu=str(count))


def test_accelerators_are_given_by_number_and_come_back() -> None:
    given = Room()
    assert given.take("a", gpus(1), OFFERED) == {"main": {"nvidia.com/gpu": [0]}}
    assert given.take("b", gpus(1), OFFERED) == {"main": {"nvidia.com/gpu": [1]}}
    assert given.take("c", gpus(1), OFFERED) is None
    given.release("a")
    assert given.take("c", gpus(1), OFFERED) == {"main": {"nvidia.com/gpu": [0]}}


def test_what_a_pod_had_before_a_restart_is_not_given_to_others() -> None:
    given = Room()
    given.restore("a", gpus(1), {"main": {"nvidia.com/gpu": [0]}})
    assert given.take("b", gpus(1), OFFERED) == {"main": {"nvidia.com/gpu": [1]}}


@pytest.mark.parametrize(("limits", "fitting"), [({"cpu": "1"}, 2), ({"memory": "300Mi"}, 3), ({}, 3), ({"cpu": "1500m"}, 1)])
def test_as_many_pods_as_fit(limits: dict[str, str], fitting: int) -> None:
    given = Room()
    taken = [given.take(str(number), wanting(**limits), OFFERED) for number in range(5)]
    assert [found is not None for found in taken] == [True] * fitting + [False] * (5 - fitting)


NEVER: list[tuple[Object, str]] = [
    (gpus(3), "wants 3 of nvidia.com/gpu, this backend has 2"),
    (wanting(example_com__fpga="1"), "wants 1 of example.com/fpga, this backend has 0"),
    (wanting(cpu="3"), "wants 3 of cpu, this backend has 2"),
    (wanting(memory="2Gi"), "of memory, this backend has 1Gi"),
]


@pytest.mark.parametrize(("given", "words"), NEVER, ids=[words for _, words in NEVER])
def test_a_pod_that_never_fits_is_refused(given: Object, words: str) -> None:
    with pytest.raises(Refused, match=words):
        room.check(given, OFFERED)


def test_what_a_pod_requests() -> None:
    def part(**resources: Any) -> Object:
        return {"name": "x", "resources": resources}

    given = pod(
        containers=[part(requests={"cpu": "500m"}, limits={"cpu": "2"}), part(limits={"cpu": "1"})],
        initContainers=[part(requests={"cpu": "1"}), part(requests={"cpu": "4"})],
    )
    assert room.requested(given, "cpu") == 4
    given["spec"]["initContainers"] = []
    assert str(room.requested(given, "cpu")) == "1.500"

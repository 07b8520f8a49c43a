"""What quotas and nodes leave."""

from decimal import Decimal
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.syncer.copies.rows.nodes import find_left, limit


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> Object:
    return {"spec": {"hard": hard, **spec}, "status": {"used": used or {}}}


@pytest.mark.parametrize(
    ("quotas", "left"),
    [
        ([], {}),
        ([quota({"requests.cpu": "4"}, {"requests.cpu": "1500m"})], {"cpu": "2.5"}),
        ([quota({"cpu": "4", "limits.cpu": "3"})], {"cpu": "3"}),
        ([quota({"limits.memory": "1Gi"}, {"limits.memory": "2Gi"})], {"memory": "0"}),
        ([quota({"pods": "100", "count/pods": "10"}, {"count/pods": "4"})], {"pods": "6"}),
        ([quota({"requests.nvidia.com/gpu": "2"})], {"nvidia.com/gpu": "2"}),
        ([quota({"cpu": "4"}), quota({"cpu": "2"})], {"cpu": "2"}),
        ([quota({"cpu": "1"}, scopes=["BestEffort"]), quota({"cpu": "1"}, scopeSelector={"matchExpressions": []})], {}),
    ],
)
def test_what_quotas_leave(quotas: list[Object], left: dict[str, str]) -> None:
    assert find_left(quotas) == {key: Decimal(value) for key, value in left.items()}


@pytest.mark.parametrize(
    ("left", "used", "expected"),
    [
        ({}, {}, {"cpu": "8", "memory": "32Gi"}),
        ({"cpu": "3.5", "pods": "1"}, {"cpu": "0.25"}, {"cpu": "3750m", "memory": "32Gi"}),
        ({"cpu": "7.5"}, {"cpu": "1"}, {"cpu": "8", "memory": "32Gi"}),
        ({"memory": str(2**30)}, {}, {"cpu": "8", "memory": str(2**30)}),
        ({"memory": "0"}, {}, {"cpu": "8", "memory": "0"}),
    ],
)
def test_the_least_of_both(left: dict[str, str], used: dict[str, str], expected: dict[str, str]) -> None:
    amounts = [{key: Decimal(value) for key, value in item.items()} for item in (left, used)]
    assert limit({"cpu": "8", "memory": "32Gi"}, *amounts) == expected

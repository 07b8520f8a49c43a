"""The last act for a nested pod."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.syncer.pods.delete import PodDeleter
from tests.conformance.providers.memory import MemoryProvider
from tests.unit.syncer import fakes
from tests.unit.translate.builders import build_pod

Object = dict[str, Any]


class Syncer:
    """Writes no status."""

    async def lose(self, nested: Object, last: Object | None) -> None:
        """Nothing to write."""


@pytest.mark.parametrize(
    ("grace", "finalizers", "is_asked"),
    [
        (30, [], True),
        (30, ["batch.kubernetes.io/job-tracking"], True),
        (0, ["batch.kubernetes.io/job-tracking"], False),  # asked for already
        (0, [], True),  # the last request was cut off between its two steps: nobody else finishes it
    ],
)
async def test_a_nested_pod_is_let_go(grace: int, finalizers: list[str], is_asked: bool) -> None:
    nested, api = build_pod(nodeName="n"), fakes.FakeApi()
    nested["metadata"] |= {"deletionTimestamp": "t", "deletionGracePeriodSeconds": grace, "finalizers": finalizers}
    nested["status"] = {"phase": "Failed"}
    deleter = PodDeleter(fakes.context(nested=api), MemoryProvider(), Syncer())  # type: ignore[arg-type]
    await deleter.finish(nested, None)
    assert api.deleted == (["pods shop/web {'uid': 'pod-uid', 'grace_seconds': 0}"] if is_asked else [])

"""When a suspend is complete."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.syncer.suspend.evict import SuspendStatus
from tests.conformance.providers.memory import MemoryProvider
from tests.unit.pods.translate.builders import build_host_pod
from tests.unit.syncer import fakes

Object = dict[str, Any]

RUNNING, FINISHED = build_host_pod(status={"phase": "Running"}), build_host_pod(status={"phase": "Succeeded"})


def build(
    *, suspended: bool, cached: list[Object], there: list[Object], creating: bool = False
) -> tuple[SuspendStatus, MemoryProvider, Any]:
    """What is looked at, and the caches to change."""
    provider = MemoryProvider(*there)
    caches = fakes.context(is_suspended=suspended, host=lambda _: cached)
    return SuspendStatus(fakes.context(caches=caches), provider, lambda: creating), provider, caches


@pytest.mark.parametrize(
    ("suspended", "cached", "there", "creating", "is_complete"),
    [
        (True, [], [], False, True),
        (True, [FINISHED], [FINISHED], False, True),
        (True, [RUNNING], [], False, False),
        (True, [], [RUNNING], False, False),  # created a moment ago
        (True, [], [], True, False),
        (False, [], [], False, False),
    ],
)
async def test_when_it_is_complete(
    suspended: bool, cached: list[Object], there: list[Object], creating: bool, is_complete: bool
) -> None:
    suspend, _, _ = build(suspended=suspended, cached=cached, there=there, creating=creating)
    assert await suspend.is_complete() is is_complete
    assert suspend.is_undecided is (suspended and creating)


async def test_the_provider_is_asked_once_for_each_suspend() -> None:
    suspend, provider, caches = build(suspended=True, cached=[], there=[])
    assert await suspend.is_complete()
    assert await suspend.is_complete()
    assert len(provider.asked) == 1
    caches.is_suspended = False
    assert not await suspend.is_complete()
    caches.is_suspended = True
    assert await suspend.is_complete()
    assert len(provider.asked) == 2

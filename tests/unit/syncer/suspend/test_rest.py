"""When a suspended cluster is at rest."""

from __future__ import annotations

from typing import Any

import pytest

from nestor.syncer.suspend.rest import Rest
from tests.unit.syncer import fakes
from tests.unit.translate.builders import TARGET, build_host_pod

Object = dict[str, Any]

RUNNING, FINISHED = build_host_pod(status={"phase": "Running"}), build_host_pod(status={"phase": "Succeeded"})


def build(
    *, suspended: bool, cached: list[Object], there: list[Object], creating: bool = False
) -> tuple[Rest, fakes.FakeApi, Any]:
    """What is looked at, and the caches to change."""
    host = fakes.FakeApi(pods=there)
    caches = fakes.context(is_suspended=suspended, host_pods=cached)
    return Rest(fakes.context(host=host, caches=caches, target=TARGET), lambda: creating), host, caches


@pytest.mark.parametrize(
    ("suspended", "cached", "there", "creating", "is_reached"),
    [
        (True, [], [], False, True),
        (True, [FINISHED], [FINISHED], False, True),
        (True, [RUNNING], [], False, False),
        (True, [], [RUNNING], False, False),  # created a moment ago
        (True, [], [], True, False),
        (False, [], [], False, False),
    ],
)
async def test_when_it_is_reached(
    suspended: bool, cached: list[Object], there: list[Object], creating: bool, is_reached: bool
) -> None:
    rest, _, _ = build(suspended=suspended, cached=cached, there=there, creating=creating)
    assert await rest.is_reached() is is_reached
    assert rest.is_undecided is (suspended and creating)


async def test_the_host_is_asked_once_for_each_suspend() -> None:
    rest, host, caches = build(suspended=True, cached=[], there=[])
    assert await rest.is_reached()
    assert await rest.is_reached()
    assert len(host.asked) == 1
    caches.is_suspended = False
    assert not await rest.is_reached()
    caches.is_suspended = True
    assert await rest.is_reached()
    assert len(host.asked) == 2

"""What the kubelet hears of the syncer: a watch that went silent is a reason to restart it."""

import asyncio
import contextlib
import datetime
import json
import time
from collections.abc import AsyncIterator
from typing import cast

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from nestor.kube import Api, kinds
from nestor.kube.serving.pages import STALE_SECONDS
from nestor.syncer.process.health import Health, ServerHealth, serve
from nestor.syncer.view.caches import Caches
from tests.unit.pages import build_syncer
from tests.unit.pods.translate.builders import TARGET

API = cast(Api, None)


@pytest.fixture
def health() -> Health:
    """A syncer that works, and heard of all its watches just now."""
    health = Health(ServerHealth(datetime.timedelta(days=90)))
    health.caches = Caches(API, API, TARGET)
    for kind in (kinds.POD, kinds.SERVICE):
        health.caches.nested(kind)
        health.caches.host(kind)
    health.working = health.nested_ok = True
    return health


def silence(health: Health, index: int, seconds: float) -> None:
    """One watch was last heard from so long ago."""
    assert health.caches is not None
    list(health.caches)[index].last_contact = time.monotonic() - seconds


@pytest.fixture
async def url(health: Health, unused_tcp_port: int) -> AsyncIterator[str]:
    server = asyncio.create_task(serve(health, unused_tcp_port))
    url = f"http://127.0.0.1:{unused_tcp_port}"
    while await ask(f"{url}/healthz") == 0:
        assert not server.done()
    yield url
    server.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await server


async def ask(url: str) -> int:
    """The status of the answer; 0 while nobody listens."""
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status
    except aiohttp.ClientConnectionError:
        return 0


@pytest.mark.parametrize("index", range(5), ids=["host cluster", "host pods", "host Services", "nested pods", "nested Services"])
async def test_one_silent_watch_is_enough_to_be_unhealthy(health: Health, url: str, index: int) -> None:
    silence(health, index, STALE_SECONDS - 60)
    assert await ask(f"{url}/healthz") == 200
    silence(health, index, STALE_SECONDS + 1)
    assert await ask(f"{url}/healthz") == 503
    # Only a restart helps: it is no question of being ready.
    assert await ask(f"{url}/readyz") == 200
    silence(health, index, 0)
    assert await ask(f"{url}/healthz") == 200


async def test_the_page_of_caches_has_those_of_both_clusters_that_are_in_use(health: Health, url: str) -> None:
    assert health.caches is not None
    for kind in (kinds.NODE, kinds.VOLUME_SNAPSHOT):
        health.caches.host(kind)
    async with aiohttp.ClientSession() as session, session.get(f"{url}/debug/caches") as answer:
        page = json.loads(await answer.text())
    found = [(cache["server"], cache["resource"]) for cache in page["caches"]]
    # No node is wanted yet, and the class allows no snapshots.
    host = [("host", name) for name in ("nestedclusters", "pods", "services")]
    assert found == [*host, ("nested", "pods"), ("nested", "services")]
    assert page["busy"] == 0


async def test_a_syncer_that_still_waits_for_its_first_lists_is_healthy_and_not_ready(health: Health, url: str) -> None:
    health.working = False
    silence(health, 0, STALE_SECONDS + 1)
    assert await ask(f"{url}/healthz") == 200
    assert await ask(f"{url}/readyz") == 503
    health.working, health.nested_ok = True, False
    assert await ask(f"{url}/readyz") == 503


def test_a_watch_is_silent_for_longer_than_a_healthy_one_ever_is(health: Health) -> None:
    """Servers end watches after that time: a limit below it would restart syncers of quiet clusters."""
    assert health.caches is not None
    assert max(informer.watch_seconds for informer in health.caches) < STALE_SECONDS


async def test_the_page_has_lag_queues_requests_and_watches() -> None:
    health = build_syncer()
    families = {family.name: family for family in text_string_to_metric_families(health.metrics())}
    found = {
        (sample.name.removeprefix("nestor_syncer_"), *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families.values()
        for sample in family.samples
    }
    assert found.pop(("oldest_change_seconds", "pods")) > 0
    assert {key: value for key, value in found.items() if not key[0].startswith("process_")} == {
        ("ready",): 0,
        ("queue_length", "pods"): 1,
        ("lag_seconds_count", "pods"): 4,
        ("lag_seconds_sum", "pods"): 0.5,
        ("failures_total", "pods"): 2,
        ("postponed_total", "pods"): 1,
        ("watch_silence_seconds", "pods", "host"): 12.5,
        ("requests_total", "409", "PATCH", "nested"): 3,
        ("service_addresses_reserved_total",): 0,
        ("service_addresses_missed_total",): 0,
    }
    assert all(family.documentation for family in families.values())
    assert "apps" not in health.metrics()

"""What Prometheus reads from a syncer's page."""

from __future__ import annotations

import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families

from tests.unit.pages import build_syncer


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


def test_nobody_pays_for_the_client_library_who_does_not_ask() -> None:
    code = "import sys, nestor.syncer.main; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

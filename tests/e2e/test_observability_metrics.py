"""A real Prometheus reads the operator and a syncer while jobs run, and evaluates what the chart brings: dashboard and alerts."""

import contextlib
import json
import re
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from devcluster.cluster import settings
from nestor.api import conditions, labels
from nestor.api.contracts import syncer
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.e2e import prometheus as server
from tests.e2e.conftest import NOTHING, ROOT, apply, example, inline_job, open_cluster
from tests.e2e.overflow import remove_backend
from tests.e2e.prometheus import Prometheus
from tests.waiting import eventually, job_with

pytestmark = [pytest.mark.xdist_group("prometheus"), pytest.mark.long]
DASHBOARD = ROOT / "charts/nestor/monitoring/dashboard.json"
MAY_BE_EMPTY = {"Failed requests": "it shows nothing but failures, and there may be none"}
"""Panels without data for what the test does, and why."""
INTERVAL = "10m"
"""Instead of Grafana's `$__rate_interval`: all of the test."""


def list_metrics(process: str) -> set[str]:
    """Those that the documentation lists for a process: `operator` or `syncer`."""
    text = (ROOT / "docs/reference/metrics.md").read_text()
    table = text.partition(f"<!-- metrics of the {process} -->")[2].partition("<!-- end -->")[0]
    return set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


async def find_missing(prometheus: Prometheus, process: str) -> set[str]:
    """Those of them that Prometheus has never seen. Histograms and summaries have more than one name."""
    known = set(await prometheus.ask("label/__name__/values"))
    return {name for name in list_metrics(process) if not known & {name, f"{name}_count"}}


async def test_policies_let_prometheus_in_where_they_say_so_and_nowhere_else(
    api: Api, namespace: str, prometheus: Prometheus, tmp_path: Path
) -> None:
    stranger = await server.start(api, namespace)
    assert (await stranger.until_scraped("operator", "down"))["lastError"]
    await prometheus.until_scraped("operator", "up")

    job, _ = await open_cluster(api, "watched", namespace, tmp_path)
    home = job["status"]["namespace"]
    (pod,) = await api.list(kinds.POD, home, labels=labels.selector(component=labels.COMPONENT_SERVER))
    for found in (prometheus, stranger):
        await found.add_syncer(pod["status"]["podIP"])
        await found.until_scraped("syncer", "down")
    await api.create(kinds.NETWORK_POLICY, build_opening(home, prometheus.namespace))
    await prometheus.until_scraped("syncer", "up")
    assert await prometheus.query("nestor_syncer_ready") == [1]
    assert await prometheus.query('sum(nestor_syncer_requests_total{side="nested",code="200"}) > 0')
    assert await find_missing(prometheus, "syncer") == set()
    for target in ("operator", "syncer"):
        assert [item["health"] for item in await stranger.list_targets(target)] == ["down"]


def build_opening(home: str, namespace: str) -> Object:
    """An admin's policy: Prometheus may ask this job's syncer."""
    peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    ingress = [{"from": [peer], "ports": [{"protocol": "TCP", "port": syncer.HEALTH_PORT}]}]
    selected = {"matchLabels": {labels.COMPONENT: labels.COMPONENT_SERVER}}
    spec = {"podSelector": selected, "policyTypes": ["Ingress"], "ingress": ingress}
    return {"metadata": {"name": "prometheus", "namespace": home}, "spec": spec}


@contextlib.asynccontextmanager
async def lost_backend(api: Api) -> AsyncIterator[str]:
    """An OverflowBackend with nobody behind it."""
    name, kind = f"lost-{uuid.uuid4().hex[:6]}", kinds.OVERFLOW_BACKEND
    shape = {"name": "default", "capacity": {"cpu": "1", "memory": "1Gi"}}
    spec = {"type": "Interlink", "interlink": {"url": f"http://{settings.MACHINE_IP}:9"}, "shapes": [shape], "drainSeconds": 5}
    await api.create(kind, {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, "spec": spec})
    try:
        yield name
    finally:
        await remove_backend(api, name)


async def test_every_panel_and_every_alert_is_answered_while_jobs_run(api: Api, namespace: str, prometheus: Prometheus) -> None:
    short, held = (inline_job(name, namespace, {"nothing.yaml": NOTHING}) for name in ("short", "held"))
    short[-1]["spec"]["activeDeadlineSeconds"] = 1
    held[-1]["spec"]["className"] = "gold"
    async with lost_backend(api) as backend:
        for documents in (example("01-hello-world", "hello", namespace), short, held):
            await apply(api, documents)
        await job_with(api, "held", namespace, conditions.ADMITTED, "False", conditions.CLASS_NOT_FOUND)
        await job_with(api, "short", namespace, conditions.SUCCEEDED, "False", conditions.DEADLINE_EXCEEDED)
        await job_with(api, "hello", namespace, conditions.READY, "True")
        await until_panels_have_data(prometheus)
        await until_alerts_are_evaluated(prometheus, backend)
        assert await find_missing(prometheus, "operator") == set()


async def until_panels_have_data(prometheus: Prometheus) -> None:
    """Await a number from every query of every panel, but for those that may be empty. What was read last is seconds old."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert MAY_BE_EMPTY.keys() < {panel["title"] for panel in panels}
    empty: list[str] = []

    async def look() -> bool:
        empty.clear()
        for panel in panels:
            for target in panel["targets"]:
                values = await prometheus.query(target["expr"].replace("$__rate_interval", INTERVAL))
                if not values and panel["title"] not in MAY_BE_EMPTY:
                    empty.append(f"{panel['title']}: {target['expr']}")
        return not empty

    with contextlib.suppress(AssertionError):
        await eventually(look)
    assert empty == []


async def until_alerts_are_evaluated(prometheus: Prometheus, backend: str) -> None:
    """Await that Prometheus has evaluated all rules without error, and that one tells of the lost backend."""
    wanted = [rule["alert"] for group in yaml.safe_load(server.ALERTS.read_text())["groups"] for rule in group["rules"]]

    async def read() -> dict[str, Object]:
        (group,) = (await prometheus.ask("rules"))["groups"]
        found = {rule["name"]: rule for rule in group["rules"]}
        alerts = found["NestorBackendDown"]["alerts"]
        return found if backend in [alert["labels"]["backend"] for alert in alerts] else {}

    rules = await eventually(read)
    assert list(rules) == wanted
    assert {name: rule.get("lastError") for name, rule in rules.items() if rule["health"] != "ok"} == {}
    assert rules["NestorOperatorDown"]["state"] == "inactive"
    (alert,) = [item for item in rules["NestorBackendDown"]["alerts"] if item["labels"]["backend"] == backend]
    assert alert["state"] == "pending"
    assert alert["annotations"]["summary"] == f"Backend {backend} does not answer"

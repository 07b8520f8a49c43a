"""The chart's dashboard as a picture for the documentation: `NESTOR_PICTURES=docs/pictures`.

Grafana cannot be had here. So the panels are drawn from what Prometheus answers to their queries, over a run of several jobs.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nestor.kube import Api
from tests.charts import page
from tests.charts.panels import Panel, Series, Span
from tests.e2e import dashboard_scene
from tests.e2e.conftest import ROOT
from tests.e2e.prometheus import Prometheus

FILE = ROOT / "charts/nestor/monitoring/dashboard.json"
COLUMN, ROW, GAP = 50, 31, 6
"""Pixels of a column and a row of the dashboard's grid, and between panels."""
COLUMNS = 24
STEP = 5
INTERVAL = "30s"
"""Instead of Grafana's `$__rate_interval`."""
REMARK = (
    "Drawn by Nestor's tests from the queries of dashboard.json, as Prometheus answered them during a run of several jobs "
    f"(rates over {INTERVAL}). Grafana itself could not be run there."
)
Object = dict[str, Any]


def fill(expression: str, interval: str) -> str:
    """A panel's query, as Grafana sends it."""
    return expression.replace("$__rate_interval", interval)


async def take(api: Api, namespace: str, prometheus: Prometheus) -> None:
    """A picture of the dashboard over a run of jobs in this namespace, if somebody asked for pictures."""
    if not (folder := os.environ.get("NESTOR_PICTURES")):
        return
    start = time.time()
    await dashboard_scene.play(api, namespace)
    span = Span(start, time.time(), STEP)
    content = json.loads(await asyncio.to_thread(FILE.read_text))
    panels = [await _read(prometheus, panel, span) for panel in content["panels"]]
    picture = page.draw(content["title"], REMARK, panels, span, COLUMNS * COLUMN)
    (Path(folder) / "dashboard.svg").write_text(picture)


async def _read(prometheus: Prometheus, panel: Object, span: Span) -> Panel:
    found = [series for target in panel["targets"] for series in await _ask(prometheus, target, span)]
    place, defaults = panel["gridPos"], panel["fieldConfig"]["defaults"]
    return Panel(
        panel["title"],
        defaults["unit"],
        found,
        x=place["x"] * COLUMN + GAP / 2,
        y=place["y"] * ROW + GAP / 2,
        width=place["w"] * COLUMN - GAP,
        height=place["h"] * ROW - GAP,
        is_stacked="stacking" in defaults.get("custom", {}),
    )


async def _ask(prometheus: Prometheus, target: Object, span: Span) -> Sequence[Series]:
    times = {"start": f"{span.start:.3f}", "end": f"{span.end:.3f}", "step": f"{span.step}s"}
    answer = await prometheus.ask("query_range", query=fill(target["expr"], INTERVAL), **times)
    found = [
        Series(_name(target["legendFormat"], item["metric"]), [(float(at), float(value)) for at, value in item["values"]])
        for item in answer["result"]
    ]
    numbers = [Series(item.name, [point for point in item.points if not math.isnan(point[1])]) for item in found]
    return [item for item in numbers if item.points]


def _name(form: str, metric: dict[str, str]) -> str:
    """A line's name, as Grafana makes it of `legendFormat`, but for one that would be empty."""
    return re.sub(r"{{(\w+)}}", lambda found: metric.get(found[1], ""), form) or '""'

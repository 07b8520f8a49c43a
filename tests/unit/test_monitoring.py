"""What is made of the metrics: the page about them, the dashboard and the alerts name none that do not exist."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.unit.pages import build_operator, build_syncer, write_operators

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/observability.md"
DASHBOARD = json.loads((ROOT / "charts/nestor/monitoring/dashboard.json").read_text())
ALERTS = yaml.safe_load((ROOT / "charts/nestor/monitoring/alerts.yaml").read_text())
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
NAME = re.compile(r"\b(?:nestor|process)_\w+")
BEGIN, END = r"<!-- metrics of the (?:operator|syncer) -->\n\n", r"\n\n<!-- end -->"
UNITS = {"bool_yes_no", "bytes", "ops", "reqps", "s", "short"}
"""Of Grafana's units, those that are used."""


async def read_families() -> dict[str, list[Metric]]:
    """Of the operator and of the syncer."""
    texts = {"operator": write_operators(build_operator()), "syncer": build_syncer().metrics()}
    return {name: [item for item in text_string_to_metric_families(text)] for name, text in texts.items()}


def list_labels(family: Metric) -> set[str]:
    """Those that it has besides buckets' bounds."""
    return {label for sample in family.samples for label in sample.labels} - {"le"}


def find_tables(text: str) -> list[str]:
    """The tables between the marks."""
    return re.findall(rf"(?s){BEGIN}(.*?){END}", text)


def build_table(families: list[Metric]) -> str:
    """As in the page. A counter's name is that of its samples."""
    rows = ["| metric | type | labels | what it tells |", "|---|---|---|---|"]
    for family in families:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        if name.startswith("nestor_"):
            labels = ", ".join(f"`{label}`" for label in sorted(list_labels(family)))
            rows.append(f"| `{name}` | {family.type} | {labels} | {family.documentation} |")
    return "\n".join(rows)


async def test_the_page_lists_every_metric() -> None:
    tables = [build_table(families) for families in (await read_families()).values()]
    text = PAGE.read_text()
    if os.environ.get("NESTOR_REWRITE_GOLDEN"):
        left = iter(tables)
        text = re.sub(rf"(?s)({BEGIN}).*?({END})", lambda found: found[1] + next(left) + found[2], text)
        PAGE.write_text(text)
    assert find_tables(text) == tables


async def test_every_metric_says_what_it_is() -> None:
    for families in (await read_families()).values():
        for family in families:
            assert family.samples, family.name
            assert family.documentation.endswith("."), family.name


async def list_names() -> dict[str, set[str]]:
    """The operator's samples, each with its labels and those that Prometheus adds."""
    families = (await read_families())["operator"]
    return {sample.name: {*sample.labels, "instance", "pod"} for family in families for sample in family.samples}


async def check(expression: str) -> None:
    """Whether a query names what there is."""
    known = await list_names()
    found = re.findall(r"\b((?:nestor|process)_\w+)(?:\{([^}]*)\})?", expression)
    assert found, expression
    labels = set(re.findall(r"(?:by|on) \(([\w, ]*)\)", expression))
    for name, matchers in found:
        assert name in known, expression
        used = {*re.findall(r"(\w+)\s*[=!]~?", matchers), *(label for some in labels for label in some.split(", "))}
        assert used <= known[name], expression


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
async def test_a_panel_has_queries_a_unit_and_words(panel: dict[str, Any]) -> None:
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    assert panel["description"].endswith(".")
    for target in panel["targets"]:
        await check(target["expr"])
        known, used = await list_names(), set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        assert all(used <= known[name] for name in NAME.findall(target["expr"]))


def test_panels_lie_beside_each_other() -> None:
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
async def test_an_alert_has_a_query_and_says_what_to_do(rule: dict[str, Any]) -> None:
    await check(rule["expr"])
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description"}
    assert rule["annotations"]["description"].endswith(".")
    assert f"| `{rule['alert']}` |" in PAGE.read_text()

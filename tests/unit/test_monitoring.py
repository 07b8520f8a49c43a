"""What is made of the metrics: the page about them, the dashboard and the alerts name none that do not exist."""

import json
import os
import re
import tomllib
from pathlib import Path

import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.unit.pages import build_operator, build_syncer, write_operators

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/metrics.md"
GUIDE = ROOT / "docs/observability.md"
DASHBOARD = json.loads((ROOT / "charts/nestor/monitoring/dashboard.json").read_text())
ALERTS = yaml.safe_load((ROOT / "charts/nestor/monitoring/alerts.yaml").read_text())
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
BEGIN, END = r"<!-- metrics of the (?:operator|syncer) -->\n\n", r"\n\n<!-- end -->"
DOCS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Documentation"]
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


async def find_faults(expression: str) -> list[str]:
    """What a query names that is not there, of the operator's samples and the labels that Prometheus adds."""
    families = (await read_families())["operator"]
    known = {sample.name: {*sample.labels, "instance", "pod"} for family in families for sample in family.samples}
    found = re.findall(r"\b((?:nestor|process)_\w+)(?:\{([^}]*)\})?", expression)
    labels = {label for some in re.findall(r"(?:by|on) \(([\w, ]*)\)", expression) for label in some.split(", ")}
    used = [(name, {*re.findall(r"(\w+)\s*[=!]~?", matchers), *labels}) for name, matchers in found]
    wrong = [f"{expression}: {name} {sorted(some)}" for name, some in used if not some <= known.get(name, set())]
    return wrong if found else [f"{expression}: no metric"]


async def test_panels_have_queries_of_metrics_that_exist_a_unit_and_words() -> None:
    faults = []
    for panel in DASHBOARD["panels"]:
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        for target in panel["targets"]:
            shown = ", ".join(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            faults += await find_faults(f"{target['expr']} by ({shown})" if shown else target["expr"])
    assert not faults, "\n".join(faults)


async def test_alerts_have_queries_of_metrics_that_exist_and_say_what_to_do() -> None:
    faults = []
    for rule in RULES:
        faults += await find_faults(rule["expr"])
        assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]
        assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}, rule["alert"]
        assert rule["annotations"]["runbook_url"] == f"{DOCS}observability.html#alerts"
        assert rule["annotations"]["description"].endswith("."), rule["alert"]
        assert f"| `{rule['alert']}` |" in GUIDE.read_text()
    assert not faults, "\n".join(faults)

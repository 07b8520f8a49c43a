"""The chart's alerts, by Prometheus' own promtool: they are valid, and each fires when it should, and not before."""

import subprocess
from pathlib import Path

import pytest
import yaml

from devcluster import progress
from devcluster.build import cache, prometheus

ALERTS = Path(__file__).parents[3] / "charts/nestor/monitoring/alerts.yaml"
CASES = Path(__file__).with_name("alerts.yaml")


@pytest.fixture(scope="module")
def promtool() -> Path:
    """Debian's."""
    return prometheus.ensure_promtool(cache.default(), progress.Silent())


@pytest.mark.parametrize(
    ("arguments", "says"), [(("check", "rules", str(ALERTS)), "10 rules found"), (("test", "rules", str(CASES)), "SUCCESS")]
)
def test_promtool_accepts_the_alerts(promtool: Path, arguments: tuple[str, ...], says: str) -> None:
    done = subprocess.run([promtool, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert says in done.stdout


def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    names = {rule["alert"] for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]}
    cases = [case for test in yaml.safe_load(CASES.read_text())["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == names
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == names

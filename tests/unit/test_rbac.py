"""The operator's role says no more than its code asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

TEMPLATE = Path(__file__).parents[2] / "charts/nestor/templates/rbac.yaml"


def read_verbs(role: str) -> dict[str, set[str]]:
    """What a ClusterRole of the chart allows, by resource. Lines that helm fills in are none of its rules."""
    text = "\n".join(line for line in TEMPLATE.read_text().splitlines() if "{{" not in line)
    documents: list[dict[str, Any]] = list(yaml.safe_load_all(text))
    (found,) = [item for item in documents if item["kind"] == "ClusterRole" and item["metadata"]["name"] == role]
    verbs: dict[str, set[str]] = {}
    for rule in found["rules"]:
        for resource in rule["resources"]:
            verbs.setdefault(resource, set()).update(rule["verbs"])
    return verbs


@pytest.mark.parametrize(
    ("resource", "verbs"),
    [
        # Server-side apply takes `patch`, and `create` where there is nothing yet.
        ("nestedclusters", {"list", "watch", "create", "patch"}),
        ("clusterrolebindings", {"create", "patch", "delete"}),
        # Asked for by name, before anything of a user's own is taken over.
        ("rolebindings", {"get", "create", "patch", "delete"}),
    ],
)
def test_the_operator_may_do_what_it_does(resource: str, verbs: set[str]) -> None:
    assert read_verbs("nestor-operator")[resource] == verbs

"""What the chart's roles allow. The syncer's are held against its code by `tests/unit/syncer/test_parts.py`."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

TEMPLATE = Path(__file__).parents[2] / "charts/nestor/templates/rbac.yaml"


def read_verbs(role: str) -> dict[str, set[str]]:
    """What a ClusterRole of the chart allows on all objects, by resource and group: `pods/log`, `ingresses.networking.k8s.io`.

    Lines that helm fills in are none of its rules.
    """
    text = "\n".join(line for line in TEMPLATE.read_text().splitlines() if "{{" not in line)
    documents: list[dict[str, Any]] = list(yaml.safe_load_all(text))
    (found,) = [item for item in documents if item["kind"] == "ClusterRole" and item["metadata"]["name"] == role]
    verbs: dict[str, set[str]] = {}
    for rule in found["rules"]:
        names = [] if "resourceNames" in rule else product(rule["resources"], rule["apiGroups"])
        for resource, group in names:
            verbs.setdefault(f"{resource}.{group}" if group else resource, set()).update(rule["verbs"])
    return verbs


@pytest.mark.parametrize(
    ("resource", "verbs"),
    [
        # Server-side apply takes `patch`, and `create` where there is nothing yet.
        ("nestedclusters.nestor.dev", {"list", "watch", "create", "patch"}),
        ("clusterrolebindings.rbac.authorization.k8s.io", {"create", "patch", "delete"}),
        # Asked for by name, before anything of a user's own is taken over.
        ("rolebindings.rbac.authorization.k8s.io", {"get", "create", "patch", "delete"}),
    ],
)
def test_the_operator_may_do_what_it_does(resource: str, verbs: set[str]) -> None:
    assert read_verbs("nestor-operator")[resource] == verbs
